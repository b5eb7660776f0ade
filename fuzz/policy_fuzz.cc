// Input: a policy file. No crash and no exception; an error is one line, a valid file is printed as
// one that loads as equal, and each finding of the linter is one line with a fix.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/policy/file/policy_file.h"
#include "damper/policy/lint/lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = damper::policy::load(text, "fuzz.yaml");
  if (!file) {
    const std::string error = to_string(file.error());
    DAMPER_CHECK(error.find('\n') == std::string::npos);
    DAMPER_CHECK(error.size() < 2000);
    return 0;
  }
  for (const damper::policy::Finding& finding : lint(*file)) {
    DAMPER_CHECK((finding.why + finding.fix).find('\n') == std::string::npos);
    DAMPER_CHECK(!finding.why.empty() && !finding.fix.empty());
    DAMPER_CHECK(finding.why.size() < 3000);
  }
  damper::policy::PolicyFile said = *file;  // As if the file had set every value.
  for (damper::policy::Route& route : said.routes) {
    std::fill(route.origins.begin(), route.origins.end(), damper::policy::Origin::route);
  }
  const std::string printed = print(said);
  const auto again = damper::policy::load(printed, "printed.yaml");
  DAMPER_CHECK(again);
  DAMPER_CHECK(print(*again) == printed);
  return 0;
}
