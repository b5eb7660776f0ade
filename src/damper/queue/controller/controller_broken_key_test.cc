// One broken key among a thousand, and an API that takes 100 calls a second: do the healthy keys
// notice?

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/queue/controller/controller_core.h"
#include "damper/queue/controller/controller_player_testing.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using Player = ControllerPlayer<int>;

constexpr Instant kStart{1000s};
constexpr Duration kLength = 300s;
constexpr int kKeys = 1000;
constexpr int kBroken = 0;

// Poisson events for uniform keys: the same ones for every run of a seed.
std::vector<Player::Event> events(std::uint64_t seed, double per_second) {
  Random random(seed);
  std::vector<Player::Event> events;
  Instant now = kStart;
  for (;;) {
    now += Duration(static_cast<std::int64_t>(-std::log1p(-random.draw()) / per_second * 1e9));
    if (now >= kStart + kLength) return events;
    events.push_back({now, static_cast<int>(random.draw() * kKeys)});
  }
}

ControllerCoreOptions defended() {
  ControllerCoreOptions options;
  options.retries.rate = {.rate_per_second = 100, .burst = 1};
  return options;
}

ControllerCoreOptions undefended() {
  ControllerCoreOptions options = defended();
  options.retries.backoff = {.jitter = schedule::Jitter::none, .base = 5ms, .cap = 5ms};
  options.retries.overload_base = 5ms;
  options.retries.max_attempts = 0;
  options.retries.budget = {.percent = Percent(1000), .reserve = 1000, .min_per_second = 10'000};
  return options;
}

// The 99th percentile of the healthy keys' time in the queue.
Duration p99(const ControllerCoreOptions& options, bool one_is_broken, std::uint64_t seed,
             double per_second) {
  ControllerCore<int> core(options);
  Player player(core, seed + 1000);
  player.workers = 4;
  player.work = 10ms;
  player.reconcile = [&](const int& key, std::uint32_t) -> Finish {
    if (!one_is_broken || key != kBroken) return {};
    return {.how = Finish::How::failed, .report = {.outcome = decide::Outcome::transient}};
  };
  player.play(events(seed, per_second), kStart, kStart + kLength);
  std::vector<Duration> waits;
  for (const auto& run : player.started) {
    if (run.key != kBroken) waits.push_back(run.waited);
  }
  const auto rank = static_cast<std::ptrdiff_t>(static_cast<double>(waits.size()) * 0.99);
  std::nth_element(waits.begin(), waits.begin() + rank, waits.end());
  return waits[static_cast<std::size_t>(rank)];
}

double ratio(const ControllerCoreOptions& options, std::uint64_t seed, double per_second) {
  return static_cast<double>(p99(options, true, seed, per_second).count()) /
         static_cast<double>(p99(options, false, seed, per_second).count());
}

TEST(BrokenKey, OneOfAThousandAddsAtMostAFifthToTheOthersTimeInTheQueue) {
  for (const double per_second : {50.0, 80.0, 90.0}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      EXPECT_LE(ratio(defended(), seed, per_second), 1.2)  // 1.00 to 1.02.
          << per_second << " events a second, seed " << seed;
    }
  }
}

// What the defences are for: with client-go's first delay for ever, no jitter, no budget and no
// end, the broken key takes every second call as soon as there is no queue.
TEST(BrokenKey, WithoutTheDefencesItAddsFarMore) {
  for (const double per_second : {50.0, 80.0, 90.0}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      EXPECT_GT(ratio(undefended(), seed, per_second), 1.3)  // 1.44 to 1.79.
          << per_second << " events a second, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace damper::queue
