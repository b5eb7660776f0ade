#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"

namespace damper::http {

// The name of a file: printable ASCII, at most 1024 bytes.
inline constexpr std::string_view kFileForms = "the name of a file";
[[nodiscard]] Expected<std::string> read_file_name(std::string_view text);

}  // namespace damper::http
