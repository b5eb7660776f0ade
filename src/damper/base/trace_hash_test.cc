#include "damper/base/trace_hash.h"

#include <cstdint>
#include <initializer_list>
#include <limits>

#include <gtest/gtest.h>

namespace damper {
namespace {

std::uint64_t hash_of(std::initializer_list<std::uint64_t> words) {
  TraceHash hash;
  for (const std::uint64_t word : words) hash.add(word);
  return hash.value();
}

TEST(TraceHash, IsTheSameOnEveryMachine) {  // Invariant 1.
  EXPECT_EQ(hash_of({}), 0U);
  EXPECT_EQ(hash_of({0}), 0xe220a8397b1dcdafU);  // SplitMix64's first number from seed 0.
  EXPECT_EQ(hash_of({1, 2, 3}), 0xd0734750fde362b3U);
}

TEST(TraceHash, KnowsTheOrderTheNumberAndEveryBit) {  // Invariant 2.
  EXPECT_NE(hash_of({1, 2}), hash_of({2, 1}));
  EXPECT_NE(hash_of({1, 2}), hash_of({1, 2, 0}));
  EXPECT_NE(hash_of({1, 2}), hash_of({0, 1, 2}));
  EXPECT_NE(hash_of({1, 1}), hash_of({2, 2}));
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_NE(hash_of({5, 6}), hash_of({5 ^ (std::uint64_t{1} << bit), 6})) << bit;
  }
}

TEST(TraceHash, CanBeComputedByTheCompiler) {
  constexpr std::uint64_t kValue = [] {
    TraceHash hash;
    hash.add(std::numeric_limits<std::uint64_t>::max());
    return hash.value();
  }();
  EXPECT_EQ(kValue, hash_of({std::numeric_limits<std::uint64_t>::max()}));
}

}  // namespace
}  // namespace damper
