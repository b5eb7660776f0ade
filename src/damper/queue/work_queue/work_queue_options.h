#ifndef DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_OPTIONS_H_
#define DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_OPTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/criticality.h"
#include "damper/base/instant.h"

namespace damper::queue {

// What happens to a new key when the queue holds as many as it may. Producers never wait: one that
// is a worker too would hold up the very work that makes room.
enum class AtLimit : std::uint8_t {
  refuse,                // the new key
  shed_least_important,  // a key of a less critical class that waits; without one, the new key
};

struct WorkQueueOptions {
  std::size_t capacity = 1'000'000;  // keys: ready, delayed, under way, parked; 1 to 50,000,000
  AtLimit at_limit = AtLimit::refuse;
  std::size_t group_capacity = 0;   // keys of one group: the next one is refused; 0: no bound
  std::uint32_t group_running = 0;  // keys of one group under way at once; 0: no bound
  Duration ageing = std::chrono::seconds(10);  // what a class is worth in waiting; 0 to 1 day
};

[[nodiscard]] std::optional<std::string> find_error(const WorkQueueOptions& options);

// What became of an add.
enum class Added : std::uint8_t {
  queued,   // it waits for a worker
  delayed,  // it waits for its time
  merged,   // it waited already; it may run sooner now, never later
  marked,   // it is under way: it is queued again when that is done
  refused,  // the queue, or the key's group, is full
  closed,   // the queue takes no more
};
inline constexpr std::array<std::string_view, 6> kAddedNames = {"queued", "delayed", "merged",
                                                                "marked", "refused", "closed"};
[[nodiscard]] constexpr std::string_view name(Added added) noexcept {
  return kAddedNames[static_cast<std::size_t>(added)];
}
// Whether the key will run.
[[nodiscard]] constexpr bool is_taken(Added added) noexcept {
  return added != Added::refused && added != Added::closed;
}

// The class of a new key whose add says none.
inline constexpr admit::Criticality kUnsaidClass = admit::Criticality::critical;

// What one add says of its key.
struct AddOptions {
  // Unsaid: a key that is here keeps its class, and a new one is critical.
  std::optional<admit::Criticality> priority{};
  // A tenant, a namespace; counts when the key is not in the queue yet. "" is a group like others.
  std::string_view group{};
};

// A Ticket names one run of a key, from get to done; one made from nothing names none.
struct Ticket {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const Ticket&) const = default;
};

// What a queue has counted and what it holds, at one moment.
struct QueueStats {
  std::size_t ready = 0;
  std::size_t delayed = 0;
  std::size_t running = 0;
  std::size_t parked = 0;
  std::size_t groups = 0;
  std::size_t capacity = 0;
  std::uint64_t adds = 0;           // that put a key in line, now or later
  std::uint64_t readied = 0;        // times that a key came in line: new, ripe or again
  std::uint64_t merged = 0;         // that found it there
  std::uint64_t marked = 0;         // that found it under way
  std::uint64_t refused = 0;        // at the limit
  std::uint64_t shed = 0;           // keys that made room
  std::uint64_t closed = 0;         // that came too late
  std::uint64_t spurious_done = 0;  // of a ticket that was not out
  Duration oldest_ready{0};         // how long the key has waited that waits longest (ReadyLines)
  Duration unfinished{0};           // how long those under way have been, together
  Duration longest_running{0};
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_OPTIONS_H_
