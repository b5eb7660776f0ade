#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace damper::text {

// Base64 (RFC 4648, section 4) with padding and without line breaks, as in etcd's JSON gateway.
[[nodiscard]] std::string to_base64(std::string_view bytes);
// nullopt when the text is not exactly what to_base64() writes: unused bits must be 0.
[[nodiscard]] std::optional<std::string> find_base64(std::string_view text);

}  // namespace damper::text
