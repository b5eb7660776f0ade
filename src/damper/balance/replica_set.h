#pragma once

#include <bitset>
#include <cstddef>

namespace damper::balance {

// A replica is a number in [0, kMostReplicas).
inline constexpr std::size_t kMostReplicas = 256;
using ReplicaSet = std::bitset<kMostReplicas>;  // bit n: replica n

}  // namespace damper::balance
