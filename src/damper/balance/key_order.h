#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/percent.h"
#include "damper/base/random.h"

namespace damper::balance {

// A key has an order of the replicas of its own: rendezvous hashing (Thaler and Ravishankar, "Using
// name-based mappings to increase hit rates", 1998).
//
// Why: requests of one key (a user, a document) find in one replica's cache what they need. A ring
// of points or a table (Maglev) picks in constant time, but is rebuilt for each change of the
// replicas, and is even only with many points. kMostReplicas bounds the number of scores.
// Model: the score of a replica mixes the key with the replica's name; the highest score is the
// first of the order. Scores are no secret: a client that chooses its keys can find many of one
// replica, which is why load_bound() is part of every pick.
// Invariants:
//   (1) The order depends on the key and on names alone: loops, processes and machines agree on it,
//       whatever numbers the replicas have.
//   (2) A replica that leaves moves only the keys of which it was the first; one that is added
//       takes keys, and moves none between the others.
// Cost: six multiplications a replica; no allocation.

// The name of a replica as a number: FNV-1a, mixed.
[[nodiscard]] constexpr std::uint64_t name_number(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return Random(hash).bits();
}

[[nodiscard]] constexpr std::uint64_t key_score(std::uint64_t key, std::uint64_t name) noexcept {
  return Random(Random(key).bits() ^ name).bits();
}

// A number in [0, 1) that is the same for each request of the key.
[[nodiscard]] constexpr double key_draw(std::uint64_t key) noexcept { return Random(~key).draw(); }

// The attempts in flight that a replica may have to get one more of a key: its fair share of
// `in_flight` and the new one, times `factor`, rounded up (Mirrokni, Thorup and Zadimoghaddam,
// "Consistent hashing with bounded loads", 2018). With a factor of at least 100 % one of the
// `replicas` is under it. REQUIRES: 0 < replicas <= kMostReplicas, 0 <= in_flight < 2^31.
[[nodiscard]] constexpr std::int64_t load_bound(std::int64_t in_flight, std::size_t replicas,
                                                Percent factor) noexcept {
  const std::int64_t whole = Percent::kDenominator * static_cast<std::int64_t>(replicas);
  return ((in_flight + 1) * factor.hundredths() + whole - 1) / whole;
}

}  // namespace damper::balance
