#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "damper/lab/runs/interval.h"
#include "damper/timer/event_queue.h"

namespace damper::lab {

// Published results, reproduced by the lab: `damper lab reproduce`.
//
// Why: results of others show whether a simulator is right. Each row was measured with another
// program; the lab plays the same model with its built-in scenarios and compares the numbers.
// Model: a study is many runs of one scenario, by seeds 1, 2, 3, ... Its rows are means with
// Student's interval, shares with Wilson's, or quantiles with that of the order statistics. A row
// is within tolerance if our number is between `low` and `high`. docs/guide/published.md explains
// the tolerances, and which of our numbers were fitted.
// Invariants:
//   (1) The same options give the same numbers, on any number of threads.
//   (2) A row exists if and only if all of its runs were made.
//   (3) No row depends on the order of simultaneous events: with reversed ties all are within
//       tolerance too.

// One published number.
struct PublishedRow {
  std::string result{};  // "Backoff and jitter (AWS)"
  std::string what{};    // "calls, full jitter, N = 100"
  std::string unit{};    // "", "ms", "%", "/s"
  double theirs = 0;     // as published
  double low = 0;        // accepted from low to high, both included
  double high = 0;
  std::string tolerance{};  // the same in words: "± 1 %"
  std::string source{};     // author, title, year
  std::string note{};       // how our model differs; may be empty
  bool judged = true;       // false: shown for contrast only

  // A copy with this `what`, published number and note.
  [[nodiscard]] PublishedRow named(std::string its_what, double number,
                                   std::string its_note = {}) const {
    PublishedRow row = *this;
    row.what = std::move(its_what);
    row.theirs = number;
    row.note = std::move(its_note);
    return row;
  }
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
  std::size_t runs = 0;   // made
  std::size_t asked = 0;  // more than `runs` if interrupted
  bool interrupted = false;

  // The number of judged rows, and of those within tolerance.
  [[nodiscard]] std::size_t judged() const;
  [[nodiscard]] std::size_t within() const;
  [[nodiscard]] bool holds() const { return !interrupted && within() == judged(); }
};

struct ReproduceOptions {
  std::string only{};    // rows whose result, what or run contains this text, in any case
  unsigned threads = 0;  // at most; 0: one for each core
  const std::atomic<bool>* stop = nullptr;  // set by ^C: returns the finished studies
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};
  std::size_t most_runs = std::numeric_limits<std::size_t>::max();  // of each study
  timer::Ties ties = timer::Ties::in_order;
};

// Every published row, in the order of docs/guide/published.md.
[[nodiscard]] std::vector<PublishedRow> published_rows();

// Plays everything.
// Thread safety: as run_parallel (workers.h). Cost: all of it takes about two minutes of one core.
[[nodiscard]] Reproduction reproduce(const ReproduceOptions& options = {});

}  // namespace damper::lab
