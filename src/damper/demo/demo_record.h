#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/instant.h"

namespace damper::demo {

// What the demo and the drill measured. Times count from the beginning of an act. Nothing here is
// made up: clients record their requests, backends count what reaches them.

inline constexpr Duration kDemoBucket = std::chrono::milliseconds(100);
// How long a user waits: a later response is not a good one.
inline constexpr Duration kDemoPatience = std::chrono::seconds(1);

// One request of one client, over.
struct LoadCall {
  Duration started{0};
  Duration ended{0};
  std::uint32_t attempts = 1;
  bool answered = false;  // 200
  [[nodiscard]] bool good() const noexcept { return answered && ended - started <= kDemoPatience; }
};

// One side of an act: guarded, or not.
struct LaneRecord {
  std::vector<LoadCall> calls{};            // those that are over, in the order in which they ended
  std::vector<std::uint32_t> started{};     // requests, in each kDemoBucket
  std::vector<std::uint32_t> attempts{};    // that reached a backend, in each kDemoBucket
  std::vector<std::uint32_t> retries{};     // those of them that were not the first of a request
  std::uint64_t waiting = 0;                // under way when the switch was flipped
  std::optional<Duration> waiting_ended{};  // after the flip: when the last of those was over
};

// The plot of an act: calm, then trouble, then after it.
struct ActTimes {
  Duration trouble{0};             // begins
  Duration over{0};                // the trouble is
  Duration end{0};                 // of the act
  std::optional<Duration> flip{};  // of the kill switch
};

// What one side shows in a span of time.
struct LaneFindings {
  std::uint64_t offered = 0;        // requests that were started
  std::uint64_t good = 0;           // of those that ended in it
  double good_ratio = 0;            // of what was offered; 0 to 1
  double attempts_per_request = 0;  // attempts that reached a backend, by requests started
  Duration p99{0};                  // of how long requests took that ended in it, good or not
};
[[nodiscard]] LaneFindings findings(const LaneRecord& lane, Duration from, Duration to);

// From the end of the trouble to the first half second in which at least 95 % as many requests were
// good as were offered. Nothing: not before the end of the record.
[[nodiscard]] std::optional<Duration> find_recovery(const LaneRecord& lane, const ActTimes& times);

// In each bucket from 0 on: good requests, by when they ended; and the p99 in milliseconds of what
// ended in it (not a number: nothing did).
[[nodiscard]] std::vector<double> good_series(const LaneRecord& lane);
[[nodiscard]] std::vector<double> p99_series(const LaneRecord& lane);
// Attempts by requests, over the second that ends with each bucket.
[[nodiscard]] std::vector<double> attempts_series(const LaneRecord& lane);

enum class Act : std::uint8_t { outage, slow_replica, overload, kill_switch };

struct ActRecord {
  Act act = Act::outage;
  ActTimes times{};
  bool whole = false;  // it was not interrupted
  LaneRecord guarded{};
  LaneRecord unguarded{};
};

struct DemoRecord {
  std::vector<ActRecord> acts{};
  std::string policy{};  // of the proxy, as a file
};

// A bound that an act or a drill is there to show, and whether it held.
struct Promise {
  std::string sentence;
  bool held = false;
};
// Acts under 8 s are too short for some.
[[nodiscard]] std::vector<Promise> promises(const ActRecord& act);

}  // namespace damper::demo
