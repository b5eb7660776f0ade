// Prints docs/guide/policy-reference.md: the table of the policy file's keys, from the schema that
// loads it. `build/dev/bin/policy_reference > docs/guide/policy-reference.md` brings it up to date.

#include <iostream>
#include <string>
#include <string_view>

#include "damper/policy/file/schema.h"

#include "markdown.h"

namespace {

using damper::docs::bounds;
using damper::docs::in_cell;
using damper::policy::Key;
using damper::policy::Section;
using damper::policy::Settings;

void print_keys(std::string_view section, const Settings& settings) {
  std::cout << "| key | default | accepted | |\n|---|---|---|---|\n";
  for (const Key& key : damper::policy::keys()) {
    if (damper::policy::parent(key.path) != section) continue;
    std::cout << "| `" << damper::policy::leaf(key.path) << "` | `" << in_cell(write(key, settings))
              << "` | " << in_cell(bounds(accepted(key))) << " | " << in_cell(key.doc) << " |\n";
  }
}

}  // namespace

int main() {
  Settings settings;
  for (const Section& section : damper::policy::sections()) {
    if (section.turn != nullptr) section.turn(settings, true);
  }
  std::cout
      << "# Every key of the policy file\n\n"
         "Printed from the schema that loads the file; a test compares the two. How the file is\n"
         "built, and what the parts do, is in [policy.md](policy.md).\n\n"
         "Durations are written `250ms`, `2s`, `1.5m`; the units are ns, us, ms, s, m and h. A\n"
         "percentage is `10`, `10.5`, `\"10%\"` or Envoy's `{ value: 10.0 }`. A value outside\n"
         "what is accepted is an error with its place; nothing is clamped.\n\n"
         "## The block itself\n\n";
  print_keys("", settings);
  const Settings fresh;
  for (const Section& section : damper::policy::sections()) {
    std::cout << "\n## " << section.path << "\n\n" << section.doc;
    if (section.turn != nullptr) {
      std::cout << (section.on(fresh) ? " On" : " Off")
                << " unless it is said; `on` alone turns it on with these defaults, `off` turns it "
                   "off.";
    }
    std::cout << "\n\n";
    print_keys(section.path, settings);
  }
  std::cout
      << "\n## Other places and names\n\n"
         "Accepted as well, for files that come from Envoy.\n\n| written | read as |\n|---|---|\n";
  for (const damper::policy::Moved& moved : damper::policy::moved()) {
    std::cout << "| `" << moved.from << "` | `" << moved.to << "` |\n";
  }
  return 0;
}
