#include "damper/lab/world/streams.h"

namespace damper::lab {

Streams::Streams(std::uint64_t seed) noexcept : roots_{} {
  // The seed is mixed once before purposes are told apart: those of neighbouring seeds, which are
  // neighbouring runs, would overlap otherwise.
  Random random(Random(seed).bits());
  for (std::uint64_t& root : roots_) root = random.bits();
}

}  // namespace damper::lab
