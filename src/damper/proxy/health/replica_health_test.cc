#include "damper/proxy/health/replica_health.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

HealthCheckOptions options() {
  HealthCheckOptions options;
  options.interval = 4s;
  options.interval_jitter = 2s;
  options.unhealthy_interval = 20s;
  return options;
}

// p: passed, f: failed, n: no verdict; each at its due time, with draw 0. The state after each, and
// the seconds to the next probe.
std::string drive(ReplicaHealth& health, std::string_view script) {
  std::string trace;
  for (const char c : script) {
    const Instant now = health.due();
    const ProbeOutcome outcome = c == 'p'   ? ProbeOutcome::passed
                                 : c == 'f' ? ProbeOutcome::failed
                                            : ProbeOutcome::no_verdict;
    const HealthState before = health.state();
    const bool changed = health.on_probe(outcome, now, 0);
    EXPECT_EQ(changed, health.state() != before);
    const auto wait = std::chrono::duration_cast<std::chrono::seconds>(between(now, health.due()));
    trace += std::string(kHealthStateNames[health.state()]).substr(0, 3) +
             std::to_string(wait.count()) + ' ';
  }
  return trace;
}

TEST(ReplicaHealth, ANewReplicaNeedsOnePassedProbeAndIsUnknownUntilThen) {
  ReplicaHealth health(options(), kStart, 0.5);
  EXPECT_EQ(health.state(), HealthState::unknown);
  EXPECT_EQ(health.due(), kStart + 3s);  // Half of interval + interval_jitter.
  EXPECT_EQ(drive(health, "ffp"), "unk4 unk4 hea4 ");
}

TEST(ReplicaHealth, FailedProbesInARowMakeItUnhealthyAndTheIntervalDoubles) {
  ReplicaHealth health(options(), kStart, 0);
  // The third in a row; then 8, 16 and 20 s, of which draw 0 is the half.
  EXPECT_EQ(drive(health, "pffpffffff"), "hea4 hea4 hea4 hea4 hea4 hea4 unh4 unh4 unh8 unh10 ");
}

TEST(ReplicaHealth, PassedProbesInARowMakeItHealthyAndOneIsFollowedSoon) {
  ReplicaHealth health(options(), kStart, 0);
  EXPECT_EQ(drive(health, "ffffff"), "unk4 unk4 unh4 unh4 unh8 unh10 ");
  EXPECT_EQ(drive(health, "pfpp"), "unh4 unh4 unh4 hea4 ");
}

TEST(ReplicaHealth, NoVerdictChangesNothing) {
  ReplicaHealth health(options(), kStart, 0);
  EXPECT_EQ(drive(health, "pffnf"), "hea4 hea4 hea4 hea4 unh4 ");  // (1): the count stays.
  EXPECT_EQ(drive(health, "pnp"), "unh4 unh4 hea4 ");
}

TEST(ReplicaHealth, EveryIntervalIsDrawn) {
  ReplicaHealth health(options(), kStart, 0);
  (void)health.on_probe(ProbeOutcome::passed, kStart, 0.5);
  EXPECT_EQ(health.due(), kStart + 5s);
  for (int i = 0; i < 50; ++i) (void)health.on_probe(ProbeOutcome::failed, kStart, 0.5);
  EXPECT_EQ(health.due(), kStart + 16s);  // At the bound: 10 s, and half of 10 s + 2 s.
}

TEST(ReplicaHealth, AReloadKeepsTheStateAndProbesWithinTheNewInterval) {
  ReplicaHealth health(options(), kStart, 0);
  (void)drive(health, "ffffff");
  const Instant now = health.due() - 9s;
  HealthCheckOptions shorter = options();
  shorter.interval = 1s;
  shorter.interval_jitter = 0s;
  health.reload(shorter, now, 0.5);
  EXPECT_EQ(health.state(), HealthState::unhealthy);
  EXPECT_EQ(health.due(), now + 500ms);
}

TEST(ReplicaHealth, AnUnhealthyIntervalUnderTheIntervalIsTheInterval) {
  HealthCheckOptions odd = options();
  odd.unhealthy_interval = 1s;
  ReplicaHealth health(odd, kStart, 0);
  EXPECT_EQ(drive(health, "fffff"), "unk4 unk4 unh4 unh2 unh2 ");  // Half of 4 s and more.
}

}  // namespace
}  // namespace damper::proxy
