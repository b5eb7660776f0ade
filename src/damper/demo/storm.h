#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/base/text/chart_text.h"
#include "damper/demo/demo_record.h"
#include "damper/engine/policy.h"
#include "damper/engine/tally.h"

namespace damper::demo {

// The storm of 02:13, for real: clients that start at the same instant and call a dependency on a
// fixed schedule, and the dependency goes down for a while.
struct StormOptions {
  int clients = 500;                                // on each side
  Duration every = std::chrono::milliseconds(500);  // a call of each client
  int capacity_per_second = 1500;                   // calls that the dependency serves
  // The plot: all is well for `calm`, then the dependency is down, then it is back for `after`.
  Duration calm = std::chrono::seconds(2);
  Duration down = std::chrono::seconds(10);
  Duration after = std::chrono::seconds(3);
  // The naive clients: every failure is tried again, after a delay that doubles. No jitter.
  std::uint32_t naive_attempts = 4;
  Duration naive_delay = std::chrono::seconds(1);
  Duration naive_cap = std::chrono::seconds(30);
  // The guarded clients: this policy, and one Dependency for all of them.
  engine::Policy policy{};

  [[nodiscard]] Duration back_at() const noexcept { return calm + down; }
  [[nodiscard]] Duration end() const noexcept { return calm + down + after; }
  [[nodiscard]] bool is_down(Duration at) const noexcept { return calm <= at && at < back_at(); }
};

struct StormRecord {
  LaneRecord naive;
  LaneRecord guarded;
  engine::Tally tally;  // of the guarded clients' Dependency
};

// Runs both sides, each against backends of its own, in real time: end(), and until the last
// requests have ended, whose attempts count in the last bucket. `watch` is called ten times a
// second with the record so far. Or one sentence: it cannot start.
[[nodiscard]] Expected<StormRecord> run_storm(const StormOptions& options,
                                              const std::function<void(const StormRecord&)>& watch);

// ---- The results: the same definitions for both sides. ----

struct Findings {
  std::int64_t offered = 0;  // calls on the schedule of all clients: every client, every tick
  std::int64_t calls = 0;    // calls made
  std::int64_t succeeded = 0;
  std::int64_t attempts = 0;
  // All attempts of the calls that started while it was down, by these calls: also the attempts
  // that arrived later, since the outage caused them.
  double attempts_per_call = 0;
  // The most attempts, the first of a call not counted, that arrived in one kDemoBucket.
  int tallest_retries = 0;
  // From the dependency's return to the first window of the length `every` in which at least 99 %
  // of what was offered succeeded: in each window that is a call of each client, whether it made it
  // or waited for a retry; a success counts where it ends. Nothing: not before the end.
  std::optional<Duration> back_after{};
};
[[nodiscard]] Findings find(const LaneRecord& lane, const StormOptions& options);

// The bounds that the drill is there to show, and whether they held.
inline constexpr double kNaiveAttemptsPerCall = 3;       // more than
inline constexpr double kGuardedAttemptsPerCall = 1.12;  // at most
inline constexpr int kTimesLower = 5;                    // tallest retries, at least
inline constexpr Duration kBackWithin = std::chrono::seconds(2);

[[nodiscard]] std::array<Promise, 4> promises(const Findings& naive, const Findings& guarded);

// ---- What `damper drill storm` prints: a function of the records. -------------------------------

// What is going to happen, before it does.
void print_plot(std::ostream& out, const StormOptions& options);

// One line, without its end: how far the drill is.
[[nodiscard]] std::string progress_line(const StormOptions& options, const StormRecord& record);

// The charts, the table, how the guarded calls ended, each promise, and all of it in words.
void print_storm(std::ostream& out, const StormOptions& options, const StormRecord& record,
                 text::ReportStyle style);

// The same as one JSON object on one line.
void print_storm_json(std::ostream& out, const StormOptions& options, const StormRecord& record);

}  // namespace damper::demo
