#ifndef DAMPER_LAB_WORLD_STREAMS_H_
#define DAMPER_LAB_WORLD_STREAMS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "damper/base/random.h"

namespace damper::lab {

// What a draw is for. New ones go at the end: the place in this list is part of every seed's trace.
enum class Purpose : std::uint8_t {
  arrivals,  // when a client begins an operation
  service,   // how long a server works on a request
  network,   // how long a message travels, and whether it is lost
  faults,    // what a fault does to a request
  jitter,    // the draws that the engine is given
  choice,    // which replica, key, or service
  patience,  // how long a client waits before it gives up
  clients,   // what differs from one client to the next: its start, its think time
  events,    // when something happens to a controller's object, and to which
  requeue,   // the draws that a controller's queue is given
};
inline constexpr std::size_t kPurposes = 10;

// Streams are the random numbers of one run: a stream of draws for each purpose and entity.
//
// Why: with one stream for all, a policy that draws one number more shifts every number after it,
// and two policies are compared under different weather. With a stream for each purpose, both see
// the same arrivals, service times and faults (common random numbers).
// Model: the state that a stream begins with is a mix of seed, purpose and entity (SplitMix64's, by
// Random). An entity is whatever has draws of its own: a client, a server, a request.
// draw(purpose, entity, i) is the draw number i, from 0, of that stream, without the stream: the
// service time of attempt 1 of request 17 is the same whatever else happened before.
// Invariants:
//   (1) A draw depends on seed, purpose, entity and its number in the stream alone.
//   (2) draw(p, e, i) is what the i-th call of stream(p, e).draw() returns, from 0.
//   (3) Streams of different seeds, purposes or entities are independent for all that a simulation
//       needs; runs are numbered by consecutive seeds.
// Thread safety: const; may be shared. Cost: a stream is one mix, a draw by number two (2 ns).
class Streams {
 public:
  explicit Streams(std::uint64_t seed) noexcept;

  [[nodiscard]] Random stream(Purpose purpose, std::uint64_t entity = 0) const noexcept {
    return Random(first_state(purpose, entity));
  }
  [[nodiscard]] std::uint64_t bits(Purpose purpose, std::uint64_t entity,
                                   std::uint64_t number) const noexcept {
    return Random(first_state(purpose, entity) + number * kStep).bits();
  }
  // In [0, 1).
  [[nodiscard]] double draw(Purpose purpose, std::uint64_t entity,
                            std::uint64_t number) const noexcept {
    return Random(first_state(purpose, entity) + number * kStep).draw();
  }

 private:
  // What Random adds to its state at each draw.
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

  [[nodiscard]] std::uint64_t first_state(Purpose purpose, std::uint64_t entity) const noexcept {
    return Random(roots_[static_cast<std::size_t>(purpose)] ^ entity).bits();
  }

  std::array<std::uint64_t, kPurposes> roots_;
};

}  // namespace damper::lab

#endif  // DAMPER_LAB_WORLD_STREAMS_H_
