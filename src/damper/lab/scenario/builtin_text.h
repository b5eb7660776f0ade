#pragma once

#include <span>
#include <string_view>

namespace damper::lab {

// A file of scenarios/, as it was when the library was built.
struct BuiltinText {
  std::string_view name;
  std::string_view text;
};

// The built-in scenarios in the order in which people should meet them; the last one is the
// template. CMakeLists.txt makes its source.
[[nodiscard]] std::span<const BuiltinText> builtin_texts();

}  // namespace damper::lab
