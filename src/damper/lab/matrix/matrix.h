#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/text/chart_text.h"
#include "damper/lab/matrix/defences.h"
#include "damper/lab/runs/interval.h"

namespace damper::lab {

// The harm matrix: every defence against every trouble, each with and without it.
//
// Why: a defence that is exact when a dependency is wholly down may become the outage itself when a
// failure is partial, slow or long. Nothing but a comparison with doing nothing shows that.
// Model: both runs of a comparison have the same seed, and so the same arrivals, service times and
// faults. Three rules hold in each cell:
//   goodput    at least 0.98 of the goodput without the defence
//   back       from 10 s after the trouble on, or from the same time as without the defence, 99 %
//              of the offered load succeeds again, until the end of the run
//   attempts   no more than without the defence, but for the budget of its retries or hedges
// A rule is broken if the mean over the seeds lies beyond the bound. The 95 % interval is for the
// reader: if it decided, a cell with few seeds or much noise could not be broken.
// For controllers, goodput is the share of their objects, over time, whose last run did not fail;
// attempts are runs.
struct HarmRule {
  Summary value{};  // of the ratio, or seconds for `back`
  bool broken = false;
};

struct HarmCell {
  std::size_t defence = 0;  // in HarmMatrix::defences
  std::size_t trouble = 0;
  HarmRule goodput{};
  HarmRule back{};
  HarmRule attempts{};
  std::string_view reason{};  // of a known harm; empty: none is known

  [[nodiscard]] bool holds() const noexcept {
    return !goodput.broken && !back.broken && !attempts.broken;
  }
  [[nodiscard]] bool is_unexplained() const noexcept { return !holds() && reason.empty(); }
};

// The reason of a known harm in this cell, if it excuses every broken rule; else empty.
[[nodiscard]] std::string_view known_reason(const HarmCell& cell, std::string_view defence,
                                            std::string_view trouble);

struct HarmMatrix {
  std::vector<Defence> defences{};
  std::vector<Trouble> troubles{};
  std::vector<HarmCell> cells{};  // by trouble, then by defence; only where the defence applies
  int runs = 0;
  std::uint64_t seed = 1;
  bool interrupted = false;
  std::string command{};
  std::string version{};

  [[nodiscard]] const HarmCell* find(std::size_t trouble, std::size_t defence) const;
  [[nodiscard]] std::size_t unexplained() const;
};

struct MatrixOptions {
  int runs = 5;                         // of each cell, 1 to 1000
  std::uint64_t seed = 1;               // of each cell's first run
  unsigned threads = 0;                 // 0: one for each core
  std::vector<std::string> defences{};  // by name; none: all
  std::vector<std::string> troubles{};
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};
};

// An error is one sentence: a name that is unknown, or runs out of bounds.
[[nodiscard]] Expected<HarmMatrix> play_matrix(const MatrixOptions& options);

// A row for each trouble, a column for each defence: the goodput ratio, with a sign where a rule is
// broken; then a line for each broken cell.
void print_matrix_text(std::ostream& out, const HarmMatrix& matrix, text::ReportStyle style);
void print_matrix_html(std::ostream& out, const HarmMatrix& matrix);
// One object on one line: kind "matrix", command, version, interrupted, runs, seed, defences and
// troubles [{name, about}], cells [{trouble, defence, holds, reason, goodput, back, attempts}], of
// which each rule is {value, low, high, broken}.
void print_matrix_json(std::ostream& out, const HarmMatrix& matrix);
// A row for each cell.
void print_matrix_csv(std::ostream& out, const HarmMatrix& matrix);
// The page of the guide.
void print_matrix_markdown(std::ostream& out, const HarmMatrix& matrix);

}  // namespace damper::lab
