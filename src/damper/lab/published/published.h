#ifndef DAMPER_LAB_PUBLISHED_PUBLISHED_H_
#define DAMPER_LAB_PUBLISHED_PUBLISHED_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "damper/lab/runs/interval.h"

namespace damper::lab {

// What others have published, and what the lab makes of it: `damper lab reproduce`.
//
// Why: a simulator earns belief with results that are not its own. Each row below was measured by
// somebody else, with another program; the lab plays the same model with its built-in scenarios and
// has to come out at the same number.
// Model: a study is many runs of one scenario, by seeds 1, 2, 3, ... Its rows are means with
// Student's interval, shares with Wilson's, or quantiles with that of the order statistics. A row
// is within tolerance when our number is between `low` and `high`. Where the tolerances come from,
// and which of our numbers were fitted, is in docs/guide/published.md.
// Invariants:
//   (1) The same options give the same numbers, on any number of threads.
//   (2) A row is there when all of its runs are, and only then.

// One published number.
struct PublishedRow {
  std::string result{};  // "Backoff and jitter (AWS)"
  std::string what{};    // "calls, full jitter, N = 100"
  std::string unit{};    // "", "ms", "%", "/s"
  double theirs = 0;     // as published
  double low = 0;        // what is accepted, both included
  double high = 0;
  std::string tolerance{};  // the same in words: "± 1 %"
  std::string source{};     // author, title, year
  std::string note{};       // where our model differs, or nothing
  bool judged = true;       // Not when it is only shown for contrast.
};

struct ReproducedRow {
  PublishedRow row{};
  double ours = 0;
  Interval interval{};  // 95 %
  bool within = false;
  std::string how{};  // "400 runs of aws-occ/full"
};

struct Reproduction {
  std::vector<ReproducedRow> rows{};
  std::size_t runs = 0;   // that were made
  std::size_t asked = 0;  // with interrupted: fewer were made
  bool interrupted = false;

  // How many judged rows there are, and how many of them are within tolerance.
  [[nodiscard]] std::size_t judged() const;
  [[nodiscard]] std::size_t within() const;
  [[nodiscard]] bool holds() const { return !interrupted && within() == judged(); }
};

struct ReproduceOptions {
  std::string only{};    // rows whose result, what or run has this text in it, whatever its case
  unsigned threads = 0;  // at most; 0: one for each core
  const std::atomic<bool>* stop = nullptr;  // set by ^C; what is done is returned
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};
  std::size_t most_runs = std::numeric_limits<std::size_t>::max();  // of each study: for a look
};

// Every published row, in the order of docs/guide/published.md.
[[nodiscard]] std::vector<PublishedRow> published_rows();

// Plays everything. Thread safety: as run_parallel (workers.h). Cost: all of it takes about two
// minutes of one core.
[[nodiscard]] Reproduction reproduce(const ReproduceOptions& options = {});

}  // namespace damper::lab

#endif  // DAMPER_LAB_PUBLISHED_PUBLISHED_H_
