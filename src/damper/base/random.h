#pragma once

#include <bit>
#include <cstdint>

namespace damper {

// Random is a stream of draws for the drivers of the core: SplitMix64 (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014).
//
// Why: the core takes its randomness as an argument, a draw in [0, 1), so that a test can pass 0.5
// and the lab can replay a seed. Jitter needs independence between callers, not secrecy.
// Model: a 64-bit counter, mixed. The same seed gives the same stream on every machine.
// Thread safety: none; each thread or purpose has a stream of its own, never a copy of one that is
// in use (trap J4).
class Random {
 public:
  constexpr explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] constexpr std::uint64_t bits() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  // Uniform in [0, 1), a multiple of 2^-53: 1 is never drawn.
  [[nodiscard]] constexpr double draw() noexcept {
    return static_cast<double>(bits() >> 11) * 0x1.0p-53;
  }

  // A new stream, independent of this one from here on.
  [[nodiscard]] constexpr Random split() noexcept { return Random(bits()); }

 private:
  std::uint64_t state_;
};

// A second draw, derived from the first: independent of it for all purposes of jitter.
[[nodiscard]] constexpr double another_draw(double draw) noexcept {
  return Random(std::bit_cast<std::uint64_t>(draw)).draw();
}

// The largest draw there is.
inline constexpr double kLargestDraw = 0x1.fffffffffffffp-1;

}  // namespace damper
