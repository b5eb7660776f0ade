#ifndef DAMPER_LAB_SCENARIO_SCENARIO_READ_H_
#define DAMPER_LAB_SCENARIO_SCENARIO_READ_H_

#include <string_view>

#include "damper/base/expected.h"
#include "damper/config/yaml_tree.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// The scenario that a tree says, without variants: each value within its bounds, and its parts not
// yet held against each other (find_error in scenario.h). A fault without a length lasts to the
// end. The first error in the order of the file.
[[nodiscard]] Expected<Scenario, config::Error> read_scenario(const config::Tree& tree,
                                                              std::string_view file);

}  // namespace damper::lab

#endif  // DAMPER_LAB_SCENARIO_SCENARIO_READ_H_
