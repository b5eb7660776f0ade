#ifndef DAMPER_BASE_TEXT_BASE64_H_
#define DAMPER_BASE_TEXT_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

namespace damper::text {

// Base64 (RFC 4648, section 4), as etcd's gateway writes keys and values: with padding, without
// line breaks.
[[nodiscard]] std::string to_base64(std::string_view bytes);
// Nothing when it is not that, to the last bit: no text has two readings.
[[nodiscard]] std::optional<std::string> find_base64(std::string_view text);

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_BASE64_H_
