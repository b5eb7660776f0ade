#include "damper/http/idempotency/idempotency_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "damper/http/idempotency/idempotency_store_testing.h"

namespace damper::http {
namespace {

using std::chrono::seconds;

TEST(MemoryStore, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(MemoryStoreOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.most_entries = 0}), "most_entries is 0; it must be from 1 to 10000000");
  EXPECT_EQ(find_error({.most_bytes = 1}), "most_bytes is 1; it must be from 4096 to 68719476736");
  EXPECT_EQ(find_error({.retention = Duration{0}}), "retention is 0s; it must be from 1ms to 720h");
}

TEST(MemoryStore, DoesAsAModelDoes) {  // Invariants (1) and (2)
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    MemoryStore store({.retention = seconds(1)});
    play_against_a_model(store, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(MemoryStore, AtTheBoundTheOldestAnswerGoesAndNothingUnderWay) {  // Invariants (3) and (4)
  MemoryStore store({.most_entries = 3});
  const auto a = store.claim("a", print(0), wall(0));
  const auto b = store.claim("b", print(0), wall(0));
  const auto c = store.claim("c", print(0), wall(0));
  EXPECT_EQ(store.claim("d", print(0), wall(0)).state, KeyState::full);
  EXPECT_TRUE(store.complete("b", b.token, answer(200, "b"), wall(1)));
  EXPECT_TRUE(store.complete("a", a.token, answer(200, "a"), wall(2)));
  EXPECT_EQ(store.claim("d", print(0), wall(3)).state, KeyState::first);
  EXPECT_EQ(store.claim("a", print(0), wall(3)).state, KeyState::replayed);  // b was older.
  EXPECT_EQ(store.claim("c", print(0), wall(3)).state, KeyState::under_way);
  EXPECT_EQ(store.tally().evictions, 1U);
  EXPECT_EQ(store.tally().entries, 3U);
}

TEST(MemoryStore, BytesAreBoundedToo) {  // Invariant (4)
  MemoryStore store({.most_bytes = 4096});
  for (int i = 0; i < 100; ++i) {
    const std::string key = std::to_string(i);
    const auto claim = store.claim(key, print(0), wall(i));
    ASSERT_EQ(claim.state, KeyState::first);
    ASSERT_TRUE(store.complete(key, claim.token, answer(200, std::string(1000, 'x')), wall(i)));
    ASSERT_LE(store.tally().bytes, 4096U);
    ASSERT_EQ(store.claim(key, print(0), wall(i)).state, KeyState::replayed);
  }
  EXPECT_GT(store.tally().evictions, 90U);
}

TEST(MemoryStore, AnAnswerThatNeverFitsIsA409AndDrivesNothingOut) {  // Invariants (2) and (4)
  MemoryStore store({.most_bytes = 4096});
  const auto small = store.claim("small", print(0), wall(0));
  EXPECT_TRUE(store.complete("small", small.token, answer(200, "s"), wall(0)));
  const auto large = store.claim("large", print(0), wall(0));
  EXPECT_TRUE(store.complete("large", large.token, answer(200, std::string(4096, 'x')), wall(1)));
  EXPECT_EQ(store.claim("large", print(0), wall(2)).answer->body, answer_not_kept().body);
  EXPECT_EQ(store.claim("small", print(0), wall(2)).answer->body, "s");
  EXPECT_EQ(store.tally().unkept, 1U);
  EXPECT_LE(store.tally().bytes, 4096U);
}

TEST(MemoryStore, OfManyThreadsThatClaimAKeyOneGetsIt) {  // Invariant (1)
  MemoryStore store;
  constexpr int kKeys = 500;
  std::array<std::atomic<int>, kKeys> firsts{};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kKeys; ++k) {
        const std::string key = std::to_string(k);
        const auto claim = store.claim(key, print(0), wall(k));
        if (claim.state != KeyState::first) continue;
        ++firsts[static_cast<std::size_t>(k)];
        EXPECT_TRUE(store.complete(key, claim.token, answer(200, key), wall(k)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : firsts) EXPECT_EQ(count, 1);
  EXPECT_EQ(store.tally().entries, static_cast<std::uint64_t>(kKeys));
}

TEST(MemoryStore, AnAnswerExpiresAtItsTimeNotBefore) {
  MemoryStore store({.retention = seconds(1)});
  const auto claim = store.claim("a", print(0), wall(0));
  EXPECT_TRUE(store.complete("a", claim.token, answer(200, ""), wall(500)));
  EXPECT_EQ(store.claim("a", print(0), wall(1499)).state, KeyState::replayed);
  EXPECT_EQ(store.claim("a", print(0), wall(1500)).state, KeyState::first);
  EXPECT_EQ(store.tally().expirations, 1U);
  EXPECT_FALSE(store.complete("a", claim.token, answer(200, ""), wall(1501)));  // An old token.
  EXPECT_EQ(store.tally().lost, 1U);
}

}  // namespace
}  // namespace damper::http
