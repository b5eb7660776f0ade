#include "damper/http/tls/ticket_keys.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

constexpr Instant kStart{std::chrono::hours(1000)};

// Invariants (1) and (2).
TEST(TicketKeys, AKeyEncryptsForOnePeriodAndDecryptsForThree) {
  TicketKeys keys;
  const auto first = keys.newest(kStart);
  ASSERT_TRUE(first);
  const Instant later = add(kStart, TicketKeys::kPeriod);
  EXPECT_EQ(keys.newest(add(later, Duration{-1}))->name, first->name);
  EXPECT_TRUE(keys.find(first->name, later)->is_newest);
  const auto second = keys.newest(later);
  EXPECT_NE(second->name, first->name);
  EXPECT_NE(second->cipher, first->cipher);
  EXPECT_FALSE(keys.find(first->name, later)->is_newest);
  EXPECT_TRUE(keys.find(second->name, later)->is_newest);
  EXPECT_TRUE(keys.find(first->name, add(kStart, TicketKeys::kPeriod * 3 - Duration{1})));
  EXPECT_FALSE(keys.find(first->name, add(kStart, TicketKeys::kPeriod * 3)));
}

TEST(TicketKeys, KeepsThreeKeys) {
  TicketKeys keys;
  const auto first = keys.newest(kStart);
  Instant now = kStart;
  for (int i = 0; i < 3; ++i) {
    now = add(now, TicketKeys::kPeriod);
    (void)keys.newest(now);
  }
  EXPECT_FALSE(keys.find(first->name, kStart));
}

// Invariant (3).
TEST(TicketKeys, OtherKeysDecryptNothing) {
  TicketKeys one;
  const TicketKeys other;
  EXPECT_FALSE(other.find(one.newest(kStart)->name, kStart));
}

}  // namespace
}  // namespace damper::http
