#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "damper/lab/runs/interval.h"

namespace damper::lab {

// The border of a map under one trigger: the highest load that is safe, and the lowest at which
// collapse is sure.
//
// Why: between the two, some runs collapse and some recover. A bisection on "fewer than half" with
// ten runs once called a load safe at which 44 % of 1,000 runs collapsed.
// Model: *safe* is P(collapse) < 5 %, *sure* is P(collapse) > 95 %, each by the whole interval. A
// load is judged by a sequential test: 20 runs, then twice as many, up to 640, until its interval
// lies on one side of the bound. Six looks at one sample are six chances of an error, so intervals
// are at 1 - 0.05 / 6 each (Bonferroni): 95 % over all looks. The search starts at the load that
// the sweep suggests, goes outwards while the test fails, then bisects until the next load, at
// which it does not hold, is within 1 %.
// Thread safety: values.

inline constexpr double kSafe = 0.05;
inline constexpr double kSure = 0.95;
// The normal quantile of 1 - 0.05 / 6 / 2: of the interval after each of six looks.
inline constexpr double kLooksZ = 2.638257273476751;

struct BorderEnd {
  double load = 0;
  Proportion collapsed{};  // of the runs at it; by its interval(kLooksZ) it is safe, or sure
  std::optional<double>
      next{};  // the nearest load at which that was not shown; none: the sweep's end
};

struct SureBorder {
  double trigger = 0;
  std::optional<BorderEnd> safe{};  // none: no swept load was shown to be safe
  std::optional<BorderEnd> sure{};
  std::int64_t runs = 0;   // that the search took
  bool cut_short = false;  // `most_runs` did not suffice, or it was stopped
};

// Plays `runs` more runs at the load, after the first `done`. Fewer in the result: it was stopped.
using CountCollapsed = std::function<Proportion(double load, int done, int runs)>;

// Searches the border. `loads` are ascending, `row` has the collapsed runs of the sweep at each.
//
// Invariants:
//   (1) Takes at most `most_runs` runs.
//   (2) `safe` and `sure` are shown by their intervals, if they are there.
//   (3) safe->load < sure->load, if both are there and P(collapse) does not fall with the load.
[[nodiscard]] SureBorder find_sure_border(std::span<const double> loads,
                                          std::span<const Proportion> row, int most_runs,
                                          const CountCollapsed& count);

}  // namespace damper::lab
