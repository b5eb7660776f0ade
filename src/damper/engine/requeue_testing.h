#pragma once

#include <gtest/gtest.h>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/requeue.h"

namespace damper::engine {

inline constexpr Instant kStart{std::chrono::seconds(1000)};

// No jitter, and a budget that allows everything.
inline RequeuePolicy plain() {
  using namespace std::chrono_literals;
  RequeuePolicy policy;
  policy.backoff = {.jitter = schedule::Jitter::none, .base = 10ms, .cap = 1s};
  policy.overload_base = 100ms;
  policy.budget = {.percent = Percent(1000), .reserve = 1000, .min_per_second = 10'000};
  return policy;
}

// A run that starts now, and ends like this now.
inline Requeue::Next run(Requeue& requeue, KeyRecord& key, const decide::Report& report,
                         Instant now = kStart, double draw = 0.5) {
  EXPECT_TRUE(requeue.start(key, now, draw).goes());
  return requeue.on_outcome(key, report, now, draw);
}
inline Requeue::Next run(Requeue& requeue, KeyRecord& key, decide::Outcome outcome,
                         Instant now = kStart) {
  return run(requeue, key, decide::Report{.outcome = outcome}, now);
}

// A run of another key, which succeeds.
inline void another_succeeds(Requeue& requeue, Instant now = kStart) {
  KeyRecord other;
  EXPECT_EQ(run(requeue, other, decide::Outcome::success, now).what, Requeue::What::forget);
}

}  // namespace damper::engine
