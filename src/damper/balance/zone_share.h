#pragma once

#include <algorithm>
#include <cstddef>

#include "damper/base/percent.h"

namespace damper::balance {

// The part of the picks that stays in the own zone, 0 to 1.
//
// Why: traffic between zones is slow and is paid for, but a zone must not get more than it can
// serve because of a preference: 1 of 10 replicas, in one of two zones, would get half of all.
// Model: each of `zones` is taken to send an equal part of the requests. The own zone can serve its
// part of the replicas, `here` of `all`, times `overprovisioning`. If that covers its requests, all
// stay; else the part that it covers, and the others go where there is room.
// Invariant: if the zones do send equal parts, a replica gets at most `overprovisioning` times its
// fair share from its own zone.
// REQUIRES: here <= all, overprovisioning >= 100 %.
[[nodiscard]] constexpr double zone_share(std::size_t here, std::size_t all, std::size_t zones,
                                          Percent overprovisioning) noexcept {
  if (here == 0) return 0;
  const double covered = overprovisioning.ratio() * static_cast<double>(here * zones);
  return std::min(1.0, covered / static_cast<double>(all));
}

}  // namespace damper::balance
