#include "damper/base/slot_ring.h"

namespace damper {

void TaggedCount::scale(std::int64_t numerator, std::int64_t denominator) noexcept {
  using Wide = unsigned __int128;  // A count times an amount can be wider than 64 bits.
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  std::uint64_t scaled = 0;
  do {
    const auto [tag, count] = unpack(seen);
    const Wide product = static_cast<Wide>(count) * static_cast<Wide>(numerator);
    const Wide quotient =
        (product + static_cast<Wide>(denominator - 1)) / static_cast<Wide>(denominator);
    scaled = pack(tag, quotient < kMost ? static_cast<std::uint32_t>(quotient) : kMost);
  } while (!word_.compare_exchange_weak(seen, scaled, std::memory_order_acq_rel,
                                        std::memory_order_relaxed));
}

}  // namespace damper
