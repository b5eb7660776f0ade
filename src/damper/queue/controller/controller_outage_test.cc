// An outage behind a controller, and keys that fail on their own: which of them are parked, and who
// gets the retry budget?

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "damper/queue/controller/controller_core.h"
#include "damper/queue/controller/controller_player_testing.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using Player = ControllerPlayer<int>;

constexpr Instant kStart{1000s};
const Finish kFailed{.how = Finish::How::failed,
                     .report = {.outcome = decide::Outcome::unavailable}};

// All runs fail before `up`.
struct Outage {
  ControllerCoreOptions options{};
  Duration length{30min};
  int keys = 10;
  std::uint64_t seed = 1;

  struct Result {
    std::size_t parked_ever;
    std::size_t well;        // keys that are done at the end
    std::size_t latest_run;  // seconds after the outage until the last key has succeeded
  };
  [[nodiscard]] Result play() const {
    ControllerCore<int> core(options);
    Player player(core, seed);
    player.workers = 4;
    const Instant up = kStart + length;
    std::set<int> well;
    Instant last = up;
    player.reconcile = [&](const int& key, std::uint32_t) -> Finish {
      if (player.now < up) return kFailed;
      well.insert(key);
      last = player.now;
      return {};
    };
    std::vector<Player::Event> events;
    events.reserve(static_cast<std::size_t>(keys));
    for (int key = 0; key < keys; ++key) events.push_back({kStart + key * 1ms, key});
    player.play(events, kStart, up + 1h);
    std::uint64_t parked = 0;
    for (const std::uint64_t count : core.counts().parked_for) parked += count;
    return {parked, well.size(),
            static_cast<std::size_t>(
                std::chrono::duration_cast<std::chrono::seconds>(last - up).count())};
  }
};

TEST(ControllerOutage, TrapQ13_NoKeyIsParkedAndAllComeBackByThemselves) {
  for (const int keys : {1, 10, 100}) {
    for (const Duration length : {Duration(30min), Duration(60min), Duration(5h)}) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const Outage::Result result = Outage{{}, length, keys, seed}.play();
        EXPECT_EQ(result.parked_ever, 0u) << keys << " keys, seed " << seed;
        EXPECT_EQ(result.well, static_cast<std::size_t>(keys)) << keys << " keys, seed " << seed;
        EXPECT_LE(result.latest_run, 1000u) << keys << " keys, seed " << seed;  // The cap.
      }
    }
  }
}

TEST(ControllerOutage, TrapQ13_FewAttemptsParkNothingEither) {
  Outage outage;
  outage.options.retries.backoff = {.jitter = schedule::Jitter::full, .base = 5ms, .cap = 1s};
  for (const std::int32_t most : {1, 2, 3}) {
    outage.options.retries.max_attempts = most;
    EXPECT_EQ(outage.play().parked_ever, 0u) << most;
    EXPECT_EQ(outage.play().well, 10u) << most;
  }
}

// Runs at the cap of the backoff are spread: with full jitter, over the whole of it.
TEST(ControllerOutage, KeysAtTheCapAreJittered) {
  ControllerCore<int> core(ControllerCoreOptions{});
  Player player(core, 1);
  player.reconcile = [](const int&, std::uint32_t) { return kFailed; };
  std::vector<Player::Event> events;
  for (int key = 0; key < 50; ++key) events.push_back({kStart, key});
  player.play(events, kStart, kStart + 10h);
  std::vector<int> in_second(36'000);
  for (const auto& run : player.started) {
    if (run.attempt > 20) {
      ++in_second[static_cast<std::size_t>(
          std::chrono::duration_cast<std::chrono::seconds>(run.at - kStart).count())];
    }
  }
  EXPECT_LE(*std::max_element(in_second.begin(), in_second.end()), 4);
}

// A slow start: after the outage, every run of a key fails three times more while others succeed.
TEST(ControllerOutage, AKeyThatFailsAFewTimesMoreAfterTheOutageIsNotParked) {
  ControllerCoreOptions options;
  options.retries.backoff.cap = 1s;
  ControllerCore<int> core(options);
  Player player(core, 1);
  const Instant up = kStart + 30min;
  std::vector<int> more(10, 3);
  std::set<int> well;
  player.reconcile = [&](const int& key, std::uint32_t) -> Finish {
    if (player.now < up) return kFailed;
    if (key != 0 && --more[static_cast<std::size_t>(key)] >= 0) return kFailed;
    well.insert(key);
    return {.how = Finish::How::requeue, .after = 100ms};
  };
  std::vector<Player::Event> events;
  for (int key = 0; key < 10; ++key) events.push_back({kStart, key});
  player.play(events, kStart, up + 1min);
  EXPECT_EQ(well.size(), 10u);
  EXPECT_EQ(core.stats(up + 1min).parked, 0u);
}

TEST(ControllerOutage, TrapQ11_AKeyThatFailsWhileOthersSucceedIsParkedAfterMaxAttempts) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    ControllerCore<int> core(ControllerCoreOptions{});
    Player player(core, seed);
    player.reconcile = [&](const int& key, std::uint32_t) -> Finish {
      if (key == 0) return kFailed;
      return {.how = Finish::How::requeue, .after = 1s};
    };
    std::vector<Player::Event> events;
    for (int key = 0; key < 5; ++key) events.push_back({kStart, key});
    player.play(events, kStart, kStart + 3h);
    ASSERT_EQ(core.parked().size(), 1u) << seed;
    EXPECT_EQ(core.parked()[0].failures, 20u) << seed;
    EXPECT_EQ(core.parked()[0].verdict, Verdict::attempts_spent);
  }
}

// Ten quiet keys, and one that gets a hundred events a second, in an outage of ten minutes.
TEST(ControllerOutage, TrapQ14_AHotFailingKeyDoesNotTakeTheOthersRetryBudget) {
  const auto runs_of_quiet = [](bool with_hot, std::uint64_t seed) {
    ControllerCore<int> core(ControllerCoreOptions{});
    Player player(core, seed);
    player.workers = 4;
    player.reconcile = [](const int&, std::uint32_t) { return kFailed; };
    std::vector<Player::Event> events;
    for (int key = 1; key <= 10; ++key) events.push_back({kStart, key});
    for (int i = 0; with_hot && i < 60'000; ++i) events.push_back({kStart + i * 10ms, 0});
    player.play(events, kStart, kStart + 10min);
    return std::count_if(player.started.begin(), player.started.end(),
                         [](const auto& run) { return run.key != 0; });
  };
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto alone = runs_of_quiet(false, seed);
    EXPECT_GE(alone, 150) << seed;
    EXPECT_GE(runs_of_quiet(true, seed), alone * 8 / 10) << seed;  // 15 of 180 without the rule.
  }
}

}  // namespace
}  // namespace damper::queue
