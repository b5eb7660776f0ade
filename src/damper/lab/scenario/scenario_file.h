#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/yaml_tree.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

inline constexpr std::size_t kMostVariants = 32;

// A scenario file is a scenario in YAML, with variants of it to compare.
//
// Model: the keys are those of scenario_schema.h. Each variant is put over the rest of the file
// (merged(), yaml_tree.h) but for its `policy`, which replaces the other one whole: a policy says
// all that it means. A variant changes services and clients that are there; it adds none.
// Invariants:
//   (1) What is loaded can be played: find_error() finds nothing in any of it.
//   (2) An error is one sentence, with its place, and what is accepted.
//   (3) There is a scenario for each variant, in the order of the file; one when there are none.

// The scenario of a tree without variants: each value within its bounds, and its parts not yet
// checked against each other (find_error in scenario.h). A fault without a length lasts to the end.
[[nodiscard]] Expected<Scenario, config::Error> read_scenario(const config::Tree& tree,
                                                              std::string_view file);

// The text's scenarios, or the first error. `file` is what errors call it.
[[nodiscard]] Expected<std::vector<Scenario>, config::Error> load_scenario(std::string_view text,
                                                                           std::string_view file);

// The same from a file, of which at most policy::kMostBytes + 1 bytes are read.
[[nodiscard]] Expected<std::vector<Scenario>, config::Error> load_scenario_file(
    const std::string& path);

}  // namespace damper::lab
