#include "damper/lab/herd/webhook_fleet.h"

#include <gtest/gtest.h>

#include <chrono>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

engine::DeliveryPolicy with_jitter(schedule::Jitter jitter) {
  engine::DeliveryPolicy policy;
  policy.backoff = schedule::BackoffOptions{.jitter = jitter, .base = 1s, .cap = 60s};
  policy.max_attempts = 1000;
  return policy;
}

TEST(WebhookFleet, JitterSpreadsTheRetriesOfAnInstant) {
  const WebhookFleet fleet;
  const RetryHerd none = run_retry_herd(fleet, with_jitter(schedule::Jitter::none));
  EXPECT_EQ(none.tallest, fleet.deliveries);
  const RetryHerd full = run_retry_herd(fleet, with_jitter(schedule::Jitter::full));
  EXPECT_LE(full.tallest * 6, none.tallest);  // 1 s wide: a tenth, and those of the second round
  const RetryHerd wide = run_retry_herd(fleet, with_jitter(schedule::Jitter::decorrelated));
  EXPECT_LE(wide.tallest * 8, none.tallest);  // 2 s wide
  EXPECT_LE(wide.last_delivered, 61s);
  EXPECT_LE(run_retry_herd(fleet, {}).tallest * 8, none.tallest);  // the dispatcher's default
}

TEST(WebhookFleet, ALeaseIsOneProbeOfAnEndpointAtATime) {
  const ProbeHerd without = run_probe_herd({}, {.jitter = false, .lease = false, .rates = false});
  EXPECT_EQ(without.tallest, 8000);  // every dispatcher, every endpoint
  EXPECT_EQ(without.at_once, 8);
  const ProbeHerd lease = run_probe_herd({}, {.jitter = false, .lease = true, .rates = false});
  EXPECT_EQ(lease.tallest, 1000);
  EXPECT_EQ(lease.at_once, 1);
  const ProbeHerd jitter = run_probe_herd({}, {.jitter = true, .lease = true, .rates = false});
  EXPECT_LT(jitter.tallest * 8, lease.tallest);
}

TEST(WebhookFleet, TheRateBoundsTheProbesOfAll) {
  const ProbeHerd herd = run_probe_herd({}, {.jitter = false, .lease = true, .rates = true});
  EXPECT_LE(herd.tallest, 20 + 10);  // the burst, and 100 ms of 100 a second
  EXPECT_EQ(herd.at_once, 1);
  EXPECT_GT(herd.last_closed, 0s);
  EXPECT_LT(herd.last_closed, 2min);
}

TEST(WebhookFleet, ASeedIsAResult) {
  EXPECT_EQ(run_probe_herd({}, {}).tallest, run_probe_herd({}, {}).tallest);
  EXPECT_EQ(run_probe_herd({}, {}).last_closed, run_probe_herd({}, {}).last_closed);
  EXPECT_NE(run_probe_herd({}, {}).last_closed, run_probe_herd({.seed = 2}, {}).last_closed);
}

}  // namespace
}  // namespace damper::lab
