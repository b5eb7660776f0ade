#pragma once

#include "damper/config/yaml_tree.h"

namespace damper::config {

// One tree put over another: what a variant says over what the scenario says.
//
// Model: of two maps, each key of the upper one takes the place of the same key of the lower one,
// and what is below it is merged in turn; a key with nothing after it takes the lower one's away.
// Anything else of the upper tree replaces the lower one whole: a list is never merged.
// Invariants:
//   (1) Every node keeps the place that it has in the file.
//   (2) Keys keep the order of the lower tree; new ones come after them.
//   (3) The result has no more nodes than both together.
// Cost: a copy of both; O(n log n) in the keys.
[[nodiscard]] Tree merged(const Tree& lower, const Tree& upper);

}  // namespace damper::config
