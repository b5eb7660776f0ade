#ifndef DAMPER_BASE_TEXT_JSON_TEXT_H_
#define DAMPER_BASE_TEXT_JSON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "damper/base/text/utf8.h"

namespace damper::text {

inline constexpr std::size_t kLongestJsonText = 10'000;  // bytes; what is longer is cut off

// The text as a JSON string with its quotes, safe whatever it holds (observe/utf8.h).
[[nodiscard]] inline std::string json_text(std::string_view text,
                                           std::size_t most = kLongestJsonText) {
  std::string out = "\"";
  append_escaped(out, text, most);
  return out + '"';
}

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_JSON_TEXT_H_
