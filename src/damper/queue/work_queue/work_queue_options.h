#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/criticality.h"
#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"

namespace damper::queue {

// The handling of a new key in a full queue. Adds never block: a producer that is also a worker
// would block the work that makes room.
enum class AtLimit : std::uint8_t {
  refuse,                // refuse the new key
  shed_least_important,  // remove a waiting key of a less critical class; without one, refuse
};

struct WorkQueueOptions {
  static constexpr Range<std::size_t> kCapacity{1, 50'000'000};
  static constexpr Range<Duration> kAgeing{Duration{0}, std::chrono::hours(24)};

  std::size_t capacity = 1'000'000;  // keys in all states: ready, delayed, running, parked
  AtLimit at_limit = AtLimit::refuse;
  std::size_t group_capacity = 0;              // keys of one group, at most `capacity`; 0: no bound
  std::uint32_t group_running = 0;             // running keys of one group; 0: no bound
  Duration ageing = std::chrono::seconds(10);  // waiting time that outweighs one criticality class
};

[[nodiscard]] inline std::optional<std::string> find_error(const WorkQueueOptions& options) {
  return BoundsCheck()
      .field("capacity", options.capacity, options.kCapacity)
      .field("group_capacity", options.group_capacity, {0, options.capacity})
      .field("ageing", options.ageing, options.kAgeing)
      .error();
}

// The result of an add.
enum class Added : std::uint8_t {
  queued,   // the key is ready
  delayed,  // the key waits for its time
  merged,   // the key was waiting; it may run earlier now, never later
  marked,   // the key is running and is queued again after the run
  refused,  // the queue or the key's group is full
  closed,   // the queue is closed
};
inline constexpr EnumNames<Added::closed> kAddedNames = {"queued", "delayed", "merged",
                                                         "marked", "refused", "closed"};
[[nodiscard]] constexpr std::string_view name(Added added) noexcept { return kAddedNames[added]; }
// Whether the key will run.
[[nodiscard]] constexpr bool is_taken(Added added) noexcept {
  return added != Added::refused && added != Added::closed;
}

// The class of a new key without AddOptions::priority.
inline constexpr admit::Criticality kDefaultClass = admit::Criticality::critical;

struct AddOptions {
  // nullopt: a key in the queue keeps its class, a new key gets kDefaultClass.
  std::optional<admit::Criticality> priority{};
  // A tenant or namespace; ignored for a key in the queue. "" is a group like others.
  std::string_view group{};
};

// A Ticket identifies one run of a key, from get to done; a default-constructed one identifies
// none.
struct Ticket {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const Ticket&) const = default;
};

// The state and the counters of a queue at one moment.
struct QueueStats {
  std::size_t ready = 0;
  std::size_t delayed = 0;
  std::size_t running = 0;
  std::size_t parked = 0;
  std::size_t groups = 0;
  std::size_t capacity = 0;
  std::uint64_t adds = 0;           // of new or parked keys: queued or delayed
  std::uint64_t readied = 0;        // transitions to ready: new, due or queued again
  std::uint64_t merged = 0;         // adds of waiting keys
  std::uint64_t marked = 0;         // adds of running keys
  std::uint64_t refused = 0;        // adds at a limit
  std::uint64_t shed = 0;           // keys removed to make room
  std::uint64_t closed = 0;         // adds after close()
  std::uint64_t spurious_done = 0;  // done with a ticket that was not outstanding
  std::uint64_t dropped = 0;        // leases that were destroyed without done()
  Duration oldest_ready{0};         // see ReadyLines::oldest()
  Duration unfinished{0};           // sum of the current runs' times
  Duration longest_running{0};
};

}  // namespace damper::queue
