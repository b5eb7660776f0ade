#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "damper/base/random.h"

namespace damper::lab {

// What a draw is for. Append new ones: the position in this list is part of every seed's trace.
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

// RandomStreams are the random numbers of one run: a stream of draws for each purpose and entity.
//
// Why: with one stream for all, a policy that draws one number more shifts every number after it,
// and two policies are compared under different arrivals and faults. With a stream for each
// purpose, both see the same arrivals, service times and faults (common random numbers).
// Model: the first state of a stream is a mix of seed, purpose and entity (SplitMix64, by Random).
// An entity is what has draws of its own: a client, a server, a request. draw(purpose, entity, i)
// computes draw i of that stream, from 0, without the stream: the service time of attempt 1 of
// request 17 does not depend on the draws before it.
// Invariants:
//   (1) A draw depends on seed, purpose, entity and its number in the stream alone.
//   (2) draw(p, e, i) is what call i, from 0, of stream(p, e).draw() returns.
//   (3) Streams of different seeds, purposes or entities are independent for all that a simulation
//       needs; runs are numbered by consecutive seeds.
// Thread safety: const; may be shared. Cost: a stream is one mix, a draw by number two (2 ns).
class RandomStreams {
 public:
  // The seed is mixed once before the purposes are separated: otherwise the streams of neighbouring
  // seeds, which are neighbouring runs, would overlap.
  explicit RandomStreams(std::uint64_t seed) noexcept {
    Random random(Random(seed).bits());
    for (std::uint64_t& root : roots_) root = random.bits();
  }

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

  std::array<std::uint64_t, kPurposes> roots_{};
};

}  // namespace damper::lab
