#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/instant.h"
#include "damper/engine/policy.h"
#include "damper/engine/tally.h"

namespace damper::demo {

// The storm of 02:13, for real: clients that start at the same instant and call a dependency on a
// fixed schedule, and the dependency goes down for a while.
struct StormOptions {
  int clients = 500;                                // of each fleet, a thread each
  Duration every = std::chrono::milliseconds(500);  // a call of each client
  int capacity_per_second = 1500;                   // calls that the dependency serves
  // The plot: all is well for `calm`, then the dependency is down, then it is back for `after`.
  Duration calm = std::chrono::seconds(2);
  Duration down = std::chrono::seconds(10);
  Duration after = std::chrono::seconds(3);
  // The naive fleet: every failure is tried again, after a delay that doubles. No jitter.
  std::uint32_t naive_attempts = 4;
  Duration naive_delay = std::chrono::seconds(1);
  Duration naive_cap = std::chrono::seconds(30);
  // The guarded fleet: damper::call() with this, one Dependency for all its clients.
  engine::Policy policy{};

  [[nodiscard]] Duration back_at() const noexcept { return calm + down; }
  [[nodiscard]] Duration end() const noexcept { return calm + down + after; }
  [[nodiscard]] bool is_down(Duration at) const noexcept { return calm <= at && at < back_at(); }
};

// What was recorded; times count from the start of the fleets.
struct Arrival {
  Duration at{0};  // when the attempt reached the dependency
  std::uint32_t attempt = 1;
  bool served = true;
};
struct CallRecord {
  Duration started{0};
  Duration ended{0};
  std::uint32_t attempts = 1;
  bool succeeded = true;
};
struct FleetRecord {
  std::vector<Arrival> arrivals{};  // in no order
  std::vector<CallRecord> calls{};  // in no order
};
struct StormRecord {
  FleetRecord naive;
  FleetRecord guarded;
  engine::Tally tally;  // of the guarded fleet's Dependency
};

// A Backend is the dependency: one line that is served in order, 1 / capacity each, and 503 at once
// for whoever comes while it is down.
//
// Model: the instant at which the line will be empty. A request that joins it waits until its own
// service is over, which is that instant and one service more; who gives up early has cost it all
// the same. Thread safety: all methods may be called concurrently; lock-free.
class Backend {
 public:
  Backend(const StormOptions& options, Instant start) noexcept;

  // An attempt arrives: the instant of its answer, or nothing for a 503.
  [[nodiscard]] std::optional<Instant> admit(Instant now, std::uint32_t attempt) noexcept;

  struct Count {
    std::uint64_t first_tries = 0;
    std::uint64_t retries = 0;
    std::uint64_t served = 0;
  };
  [[nodiscard]] Count count() const noexcept;

 private:
  const Instant down_at_;
  const Instant back_at_;
  const Duration service_;
  std::atomic<Instant> empty_at_;
  std::atomic<std::uint64_t> first_tries_{0};
  std::atomic<std::uint64_t> retries_{0};
  std::atomic<std::uint64_t> served_{0};
};

// The number of the first scheduled call after `elapsed`: a client that is busy when a call is due
// leaves that one out.
[[nodiscard]] std::int64_t next_call(Duration elapsed, Duration every) noexcept;

// How far the drill is; told to whoever watches, ten times a second.
struct StormProgress {
  Duration at{0};
  bool down = false;
  Backend::Count naive;
  Backend::Count guarded;
};

// Runs both fleets side by side, each against a Backend of its own, in real time: end(), and until
// the last calls have ended. Throws std::system_error when the threads cannot be had.
[[nodiscard]] StormRecord run_storm(const StormOptions& options,
                                    const std::function<void(const StormProgress&)>& watch);

// ---- What the records say: the same definitions for both fleets. ----

inline constexpr Duration kBucket = std::chrono::milliseconds(100);

// Arrivals in each kBucket from 0 to end(), first tries and retries apart. One that comes after the
// end counts in the last.
struct Buckets {
  std::vector<int> first_tries;
  std::vector<int> retries;
};
[[nodiscard]] Buckets bucketed(const FleetRecord& fleet, const StormOptions& options);

struct Findings {
  std::int64_t offered = 0;  // calls on the schedule of all clients: every client, every tick
  std::int64_t calls = 0;    // calls made
  std::int64_t succeeded = 0;
  std::int64_t attempts = 0;
  // All attempts of the calls that started while it was down, by these calls: also the attempts
  // that arrived later, since the outage caused them.
  double attempts_per_call = 0;
  // The most attempts, the first of a call not counted, that arrived in one kBucket.
  int tallest_retries = 0;
  // From the dependency's return to the first window of the length `every` in which at least 99 %
  // of what was offered succeeded: in each window that is a call of each client, whether he made it
  // or sat in a backoff; a success counts where it ends. Nothing: not before the end.
  std::optional<Duration> back_after{};
};
[[nodiscard]] Findings find(const FleetRecord& fleet, const StormOptions& options);

// The bounds that the drill is there to show, and whether they held.
inline constexpr double kNaiveAttemptsPerCall = 3;       // more than
inline constexpr double kGuardedAttemptsPerCall = 1.12;  // at most
inline constexpr int kTimesLower = 5;                    // tallest retries, at least
inline constexpr Duration kBackWithin = std::chrono::seconds(2);

struct Promise {
  std::string sentence;
  bool held = false;
};
[[nodiscard]] std::array<Promise, 4> promises(const Findings& naive, const Findings& guarded);

}  // namespace damper::demo
