#include "damper/http/idempotency/idempotency_store.h"

#include <gtest/gtest.h>

#include "damper/http/idempotency/idempotency_memory.h"
#include "damper/http/idempotency/idempotency_store_testing.h"

namespace damper::http {
namespace {

TEST(IdempotencyStore, EachStateHasItsName) {
  EXPECT_EQ(name(KeyState::first), "first");
  EXPECT_EQ(name(KeyState::under_way), "under_way");
  EXPECT_EQ(name(KeyState::broken), "broken");
}

TEST(IdempotencyStore, InThePlaceOfAnAnswerStandsThatItWasDone) {
  EXPECT_EQ(answer_not_kept().status, 409);
  EXPECT_NE(answer_not_kept().body.find("carried out"), std::string::npos);
}

TEST(IdempotencyStore, EveryClaimIsCountedByWhatItFound) {
  MemoryStore store({.most_entries = 1});
  (void)store.claim("a", print(0), wall(0));
  (void)store.claim("a", print(0), wall(0));
  (void)store.claim("a", print(1), wall(0));
  (void)store.claim("b", print(0), wall(0));
  const auto count = [&](KeyState state) {
    return store.tally().claims[static_cast<std::size_t>(state)].load();
  };
  EXPECT_EQ(count(KeyState::first), 1U);
  EXPECT_EQ(count(KeyState::under_way), 1U);
  EXPECT_EQ(count(KeyState::mismatch), 1U);
  EXPECT_EQ(count(KeyState::full), 1U);
  EXPECT_EQ(count(KeyState::replayed), 0U);
}

}  // namespace
}  // namespace damper::http
