#pragma once

#include <cstdint>
#include <optional>

#include "damper/lab/world/replica.h"
#include "damper/lab/world/simulation.h"

namespace damper::lab {

// An attempt in flight: to a replica, through it, and back.
struct Message {
  Handle caller;
  std::uint64_t number = 0;  // of its call
  Instant arrived{};         // at the replica
  Instant served{};          // when the work on it was over
  Instant deadline = kNever;
  timer::EventQueue::Timer timer{};
  std::uint64_t version = 0;  // of an optimistic row, as it was read
  double cost = 1;            // multiplies its service time
  std::uint32_t service = 0;  // position in the scenario
  std::uint32_t replica = 0;  // position in the service
  std::uint32_t server = 0;   // position among the replicas of all services
  std::uint32_t attempt = 1;
  std::uint32_t calls = 0;     // that it waits for
  Handle first_call{};         // the head of their list
  WaitLine::Slot in_line = 0;  // in the replica's queue, while it waits
  decide::Report report{};
  enum class Stage : std::uint8_t { travels, waits, works, returns };
  Stage stage = Stage::travels;
  bool hedge = false;
  bool has_read = false;     // the first leg of an optimistic write is over
  bool owned_above = false;  // a caller above retries it
  bool unsent_owned_above = false;
  bool again = false;                       // a controller's retry of its key
  std::optional<decide::Outcome> broken{};  // the answer, whatever the service does
  admit::Criticality criticality = admit::Criticality::critical;

  // The number of a draw for this message: its attempt, and the leg if it reads and writes.
  [[nodiscard]] std::uint64_t draw() const noexcept {
    return std::uint64_t{has_read} << 32 | attempt;
  }
};

// The Network carries messages between callers and replicas: it delays, holds and loses them.
//
// Model: each leg takes a time drawn from the service's `network`, and is lost with probability
// `loss`. On arrival, active faults may hold a message (it is scheduled again) or lose it.
// Invariants:
//   (1) The delays of an attempt depend on the seed, the number of its call, the attempt and the
//       leg, and on nothing else.
// Thread safety: none.
class Network {
 public:
  // The simulation outlives it.
  explicit Network(Simulation& simulation) noexcept : sim_(simulation) {}

  // The legs of an attempt. An optimistic write has all four.
  enum class Leg : std::uint8_t { request, answer, write, write_answer };

  // Sends a new message on its first leg.
  Handle send(const Message& message);
  // Sends the message on a further leg. It is erased if it is lost.
  void travel(Handle handle, Message& message, Leg leg);
  // The message arrives, by an event of that kind. Null if it is held or lost now.
  [[nodiscard]] Message* on_arrival(Handle handle, EventKind::Word kind);

  [[nodiscard]] Message* find(Handle handle) noexcept { return messages_.find(handle); }
  void erase(Handle handle) noexcept { messages_.erase(handle); }
  [[nodiscard]] std::size_t size() const noexcept { return messages_.size(); }
  template <class Visit>
  void for_each(Visit visit) {
    messages_.for_each(visit);
  }

 private:
  Simulation& sim_;
  Slab<Message> messages_;
};

}  // namespace damper::lab
