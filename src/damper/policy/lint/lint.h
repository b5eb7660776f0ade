#pragma once

#include <span>
#include <vector>

#include "damper/policy/file/policy_file.h"
#include "damper/policy/lint/finding.h"

namespace damper::policy {

// The linter: what is wrong, risky or good to know about routes that are valid.
//
// Why: the loader refuses policies that cannot be run. Many that can be run are unsafe: retries
// that the capacity does not allow, attempts that do not fit the deadline. Model: each rule
// (finding.h) is a function of the settings and the facts of a route, or of the layers that the
// routes' facts build. Nothing is assumed about facts that are not set. Routes are loaded from a
// file, imported, or filled in by a caller: name, place, settings and facts are enough; without
// origins and places a finding has the location of its route. Invariants:
//   (1) The default policy without facts has no findings.
//   (2) Findings come in the order of their places, then of the rules, and each has a fix.
//   (3) A finding that relies on a fact is not made without it.
[[nodiscard]] std::vector<Finding> lint(std::span<const Route> routes);

// A note that the loader made, as a finding.
[[nodiscard]] Finding finding_of(const config::Note& note);

// The same for all routes of the file, and its notes.
[[nodiscard]] std::vector<Finding> lint(const PolicyFile& file);

}  // namespace damper::policy
