// Input: a request's target. Its path is made normal once: a second time changes nothing, and no
// part of it climbs, is empty, or becomes an authority. The query is unchanged.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/proxy/config/path_rules.h"
#include "damper/proxy/config/route_matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper::proxy;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string into;
  std::string again;
  for (const EscapedSlashes slashes : {EscapedSlashes::keep, EscapedSlashes::refuse}) {
    const PathRules rules{.normalize = true, .escaped_slashes = slashes};
    std::string_view once = text;
    if (!rules.try_apply(once, into)) {
      DAMPER_CHECK(once == text);
      continue;
    }
    std::string_view twice = once;
    DAMPER_CHECK(rules.try_apply(twice, again) && twice == once && once.size() <= text.size());
    if (!text.starts_with('/')) {
      DAMPER_CHECK(once == text);
      continue;
    }
    const std::string path = std::string(path_of(once)) + '/';
    DAMPER_CHECK(path.starts_with('/') && path.find("/../") == std::string::npos &&
                 path.find("/./") == std::string::npos);
    DAMPER_CHECK(path_of(once).find("//") == std::string_view::npos);
    DAMPER_CHECK(once.substr(path_of(once).size()) ==
                 std::string_view(text).substr(path_of(text).size()));
    if (slashes == EscapedSlashes::refuse && path.find(';') == std::string::npos) {
      DAMPER_CHECK(!has_parent_segment(path_of(once)));
    }
  }
  return 0;
}
