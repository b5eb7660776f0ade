#pragma once

#include <cstdint>

#include "damper/base/random.h"

namespace damper {

// A TraceHash is a run in one number: everything that happened, in its order, folded.
//
// Why: "same seed, same trace" must be checked on every run, compiler and machine, and a trace of
// a million events cannot be kept to compare.
// Model: the state is xored with each word and mixed (SplitMix64's, by Random). For telling traces
// apart, not against those who want two to look the same.
// Invariants:
//   (1) The same words in the same order give the same value on every machine.
//   (2) Traces of the same length that differ in one word differ in value; any other two do, but
//       for one pair in 2^64.
// Thread safety: none; a run has its own. Cost: 1 ns a word.
class TraceHash {
 public:
  constexpr void add(std::uint64_t word) noexcept { state_ = Random(state_ ^ word).bits(); }

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace damper
