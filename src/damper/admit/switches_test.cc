#include "damper/admit/switches.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace damper::admit {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Instant kStart = Instant{seconds(100)};

TEST(Switches, AreOnAtFirst) {
  const Switches switches;
  EXPECT_FALSE(switches.retries_off(kStart));
  EXPECT_FALSE(switches.hedging_off(kStart));
  EXPECT_FALSE(switches.retries_off(Instant::min()));
  EXPECT_FALSE(switches.snapshot(Switch::retries, kStart).off);
}

TEST(Switches, EachIsSetAndClearedByItself) {  // Invariant (1)
  Switches switches;
  switches.set(Switch::retries, {.off = true, .reason = "db failover"});
  EXPECT_TRUE(switches.retries_off(kStart));
  EXPECT_FALSE(switches.hedging_off(kStart));
  switches.set(Switch::hedging, {.off = true});
  switches.clear(Switch::retries);
  EXPECT_FALSE(switches.retries_off(kStart));
  EXPECT_TRUE(switches.hedging_off(kStart));
  switches.set(Switch::hedging, {.off = false, .until = kNever, .reason = "ignored"});
  EXPECT_FALSE(switches.hedging_off(kStart));
  EXPECT_EQ(switches.snapshot(Switch::hedging, kStart).reason, "");
}

TEST(Switches, AnExpiryTurnsItOnAgainAtItsInstant) {
  Switches switches;
  switches.set(Switch::retries, {.off = true, .until = kStart + seconds(30), .reason = "x"});
  EXPECT_TRUE(switches.retries_off(kStart + seconds(30) - Duration(1)));
  EXPECT_FALSE(switches.retries_off(kStart + seconds(30)));
  EXPECT_TRUE(switches.retries_off(kStart));  // Time went backwards: off as it was then.
}

TEST(Switches, ASnapshotSaysWhyAndForHowLong) {
  Switches switches;
  switches.set(Switch::retries,
               {.off = true, .until = kStart + seconds(30), .reason = "db failover"});
  SwitchStatus status = switches.snapshot(Switch::retries, kStart + seconds(10));
  EXPECT_TRUE(status.off);
  EXPECT_EQ(status.remaining, seconds(20));
  EXPECT_EQ(status.reason, "db failover");
  status = switches.snapshot(Switch::retries, kStart + seconds(30));
  EXPECT_FALSE(status.off);
  EXPECT_EQ(status.remaining, Duration(0));
  EXPECT_EQ(status.reason, "");
  switches.set(Switch::retries, {.off = true, .reason = "forever"});
  EXPECT_EQ(switches.snapshot(Switch::retries, kStart).remaining, kForever);
}

TEST(Switches, ALongReasonIsCutAtTheEndOfACharacter) {
  Switches switches;
  const auto kept = [&](const std::string& reason) {
    switches.set(Switch::retries, {.off = true, .reason = reason});
    const SwitchStatus status = switches.snapshot(Switch::retries, kStart);
    EXPECT_TRUE(status.off);
    return status.reason;
  };
  EXPECT_EQ(kept(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(kept(std::string(121, 'a')), std::string(120, 'a'));
  EXPECT_EQ(kept(std::string(118, 'a') + "\u20ac"), std::string(118, 'a'));  // 121 bytes, a euro.
  EXPECT_EQ(kept(std::string(119, 'a') + "\u00e9"), std::string(119, 'a'));
  EXPECT_EQ(kept(std::string(117, 'a') + "\u20ac!"), std::string(117, 'a') + "\u20ac");
  EXPECT_EQ(kept(std::string(500, '\x80')), "");  // No character at all.
}

TEST(Switches, WhatIsOffAboveIsOffBelowAndNotTheOtherWayRound) {
  Switches process;
  Switches dependency(&process);
  Switches route(&dependency), other(&dependency);
  process.set(Switch::retries, {.off = true, .until = kStart + seconds(1)});
  EXPECT_TRUE(route.retries_off(kStart));
  EXPECT_FALSE(route.hedging_off(kStart));
  EXPECT_FALSE(route.snapshot(Switch::retries, kStart).off);  // Its own switch is on.
  EXPECT_FALSE(route.retries_off(kStart + seconds(1)));
  route.set(Switch::hedging, {.off = true});
  EXPECT_TRUE(route.hedging_off(kStart));
  EXPECT_FALSE(dependency.hedging_off(kStart));
  EXPECT_FALSE(other.hedging_off(kStart));
  route.clear(Switch::retries);
  EXPECT_TRUE(route.retries_off(kStart));  // A route cannot turn on what the process has off.
  dependency.set(Switch::hedging, {.off = true});
  EXPECT_TRUE(other.hedging_off(kStart));
}

struct Heard final : FlipListener {
  explicit Heard(const Switches& switches) : switches_(switches) {}
  void on_flip() noexcept override {
    ++flips;
    was_off = switches_.retries_off(kStart);
  }
  int flips = 0;
  bool was_off = false;

 private:
  const Switches& switches_;
};

TEST(Switches, TrapK1_AFlipReachesItsListenersAtOnceAndTheySeeIt) {  // Invariants (1) and (3)
  Switches switches;
  Heard first(switches), second(switches);
  switches.listen(first);
  switches.listen(second);
  switches.set(Switch::retries, {.off = true});
  EXPECT_EQ(first.flips, 1);
  EXPECT_EQ(second.flips, 1);
  EXPECT_TRUE(first.was_off && second.was_off);
  switches.clear(Switch::retries);
  EXPECT_EQ(first.flips, 2);
  EXPECT_FALSE(first.was_off);
  switches.set(Switch::hedging, {.off = true});
  EXPECT_EQ(first.flips, 3);
}

TEST(Switches, AFlipReachesTheListenersAboveAndNotThoseBelow) {
  Switches process;
  Switches dependency(&process);
  Switches route(&dependency), other(&dependency);
  Heard at_process(process), at_dependency(dependency), at_route(route), at_other(other);
  process.listen(at_process);
  dependency.listen(at_dependency);
  route.listen(at_route);
  other.listen(at_other);
  route.set(Switch::retries, {.off = true});
  EXPECT_EQ(at_process.flips, 1);
  EXPECT_EQ(at_dependency.flips, 1);
  EXPECT_EQ(at_route.flips, 1);
  EXPECT_EQ(at_other.flips, 0);
  process.set(Switch::retries, {.off = true});
  EXPECT_EQ(at_process.flips, 2);
  EXPECT_EQ(at_dependency.flips, 1);
  EXPECT_EQ(at_route.flips, 1);
}

struct Count final : FlipListener {
  void on_flip() noexcept override { flips.fetch_add(1, std::memory_order_relaxed); }
  std::atomic<int> flips{0};
};

TEST(Switches, ConcurrentFlipsLeaveOneWithItsOwnReason) {  // Invariants (2) and (3)
  Count early;
  std::vector<std::unique_ptr<Count>> late;
  for (int i = 0; i < 50; ++i) late.push_back(std::make_unique<Count>());
  Switches switches;
  switches.listen(early);
  {
    std::vector<std::jthread> threads;
    for (int t = 1; t <= 2; ++t) {
      threads.emplace_back([&switches, t] {
        const std::string reason(static_cast<std::size_t>(t) * 50, static_cast<char>('a' + t));
        for (int i = 0; i < 2000; ++i) {
          switches.set(Switch::retries,
                       {.off = true, .until = kStart + hours(t), .reason = reason});
        }
      });
    }
    threads.emplace_back([&] {
      for (const std::unique_ptr<Count>& listener : late) switches.listen(*listener);
    });
    for (int i = 0; i < 2000; ++i) {
      const SwitchStatus status = switches.snapshot(Switch::retries, kStart);
      if (!status.off) continue;
      const std::size_t t = status.remaining == hours(1) ? 1 : 2;
      ASSERT_EQ(status.reason, std::string(t * 50, static_cast<char>('a' + t)));
      ASSERT_TRUE(switches.retries_off(kStart));
    }
  }
  EXPECT_EQ(early.flips, 4000);
  const Duration remaining = switches.snapshot(Switch::retries, kStart).remaining;
  EXPECT_TRUE(switches.retries_off(kStart + remaining - Duration(1)));
  EXPECT_FALSE(switches.retries_off(kStart + remaining));
  switches.clear(Switch::retries);
  for (const std::unique_ptr<Count>& listener : late) EXPECT_GE(listener->flips, 1);
}

}  // namespace
}  // namespace damper::admit
