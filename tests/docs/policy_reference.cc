// Prints docs/guide/policy-reference.md: the table of the policy file's keys, from the schema that
// loads it. `build/dev/bin/policy_reference > docs/guide/policy-reference.md` brings it up to date.

#include <iostream>

#include "damper/policy/file/schema.h"

int main() {
  std::cout
      << "# Every key of the policy file\n\n"
         "Generated from the schema that loads the file; a test compares the two. The structure "
         "of\n"
         "the file and the purpose of its sections are in [policy.md](policy.md).\n\n"
         "Durations are written `250ms`, `2s`, `1.5m`; the units are ns, us, ms, s, m and h. A\n"
         "percentage is `10`, `10.5`, `\"10%\"` or Envoy's `{ value: 10.0 }`. A value out of its\n"
         "bounds is an error with its location; nothing is clamped.\n\n"
         "For completion and validation in an editor: `damper schema policy > "
         "policy.schema.json`.\n\n"
         "## The block itself\n\n"
      << damper::policy::block_schema().reference("##")
      << "\n## Other places and names\n\n"
         "Also accepted, for files that come from Envoy.\n\n| written | read as |\n|---|---|\n";
  for (const damper::config::Alias& alias : damper::policy::block_schema().aliases()) {
    std::cout << "| `" << alias.from << "` | `" << alias.to << "` |\n";
  }
  return 0;
}
