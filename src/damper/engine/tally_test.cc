#include "damper/engine/tally.h"

#include <gtest/gtest.h>

namespace damper::engine {
namespace {

using decide::Outcome;

TEST(Tally, WhatIsNotCountedIsDerived) {
  Counters counters;
  for (int i = 0; i < 10; ++i) counters.on_start();
  for (int i = 0; i < 6; ++i) counters.on_finish(Verdict::success);
  counters.on_unsent();
  counters.on_finish(Verdict::breaker_open);
  counters.on_retry(Outcome::timeout);
  counters.on_retry(Outcome::timeout);
  counters.on_retry(Outcome::transient);
  counters.on_hedge();
  const Tally tally = counters.read();
  EXPECT_EQ(tally.started, 10u);
  EXPECT_EQ(tally.finished, 7u);
  EXPECT_EQ(tally.in_flight(), 3u);
  EXPECT_EQ(counters.in_flight(), 3);
  EXPECT_EQ(tally.of(Verdict::success), 6u);
  EXPECT_EQ(tally.of(Verdict::breaker_open), 1u);
  EXPECT_EQ(tally.retries_for(Outcome::timeout), 2u);
  EXPECT_EQ(tally.all_retries(), 3u);
  EXPECT_EQ(tally.attempts, 10u - 1 + 3 + 1);
}

}  // namespace
}  // namespace damper::engine
