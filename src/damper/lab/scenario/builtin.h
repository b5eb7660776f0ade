#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// A Builtin is a scenario that comes with the program: what people run first, what they copy, and
// the published results that the lab reproduces.
struct Builtin {
  std::string_view name;
  std::string about;      // one sentence
  std::string_view text;  // the whole file, comments included
};

// All of them, in the order in which people should meet them.
[[nodiscard]] std::span<const Builtin> builtins();

// Null when there is none of that name.
[[nodiscard]] const Builtin* find_builtin(std::string_view name);

// Its scenarios, one for each variant; an error when there is none of that name, with the one that
// was probably meant.
[[nodiscard]] Expected<std::vector<Scenario>, config::Error> load_builtin(std::string_view name);

// A small scenario with comments that runs, and is meant to be edited: `damper lab new`.
[[nodiscard]] std::string_view scenario_template();

// A file of scenarios/, as it was when the library was built.
struct BuiltinText {
  std::string_view name;
  std::string_view text;
};

// The built-in scenarios in the order in which people should meet them; the last one is the
// template. CMakeLists.txt makes its source.
[[nodiscard]] std::span<const BuiltinText> builtin_texts();

}  // namespace damper::lab
