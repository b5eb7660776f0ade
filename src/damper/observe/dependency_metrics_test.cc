#include "damper/observe/dependency_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/call.h"
#include "damper/observe/promtool_testing.h"

namespace damper::observe {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using engine::Call;
using engine::Dependency;
using engine::Policy;

constexpr Instant kStart{1000s};

// Everything that a policy can turn on.
Policy full_policy() {
  Policy policy;
  policy.call.backoff.base = policy.call.backoff.cap = 10ms;
  policy.call.hedge.max_hedges = 1;
  policy.breaker = admit::CircuitBreakerOptions{};
  policy.throttle = admit::ClientThrottleOptions{};
  policy.limit = admit::ConcurrencyLimitOptions{};
  return policy;
}

// One call whose attempts end like this, each after `latency`; the verdict.
Verdict play(Dependency& dependency, const std::vector<Outcome>& outcomes, Instant now = kStart,
             Duration latency = 2ms,
             engine::CallOptions options = {.request = {.idempotent = true}}) {
  Call call(dependency, options);
  call.start(now, 0);
  for (const Outcome outcome : outcomes) {
    if (call.step().over()) break;
    if (!call.step().sends) call.on_timer(call.step().wake, 0);
    const engine::Attempt attempt = call.step().attempt;
    now = attempt.sent + latency;
    call.on_outcome(attempt.lane, {.outcome = outcome}, now, 0);
  }
  if (!call.step().over()) call.on_cancel(now);
  return call.step().verdict;
}

// A registry that shows one dependency at kStart.
struct Shown {
  explicit Shown(Dependency& dependency, Instant now = kStart)
      : collection(DependencyMetrics(registry, [now] { return now; }).add(dependency)) {}

  // The sample's value; nothing when there is none.
  [[nodiscard]] std::optional<std::string> value(const std::string& series) const {
    const std::string text = "\n" + registry.expose();
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return std::nullopt;
    const std::size_t start = at + series.size() + 2;
    return text.substr(start, text.find('\n', start) - start);
  }

  Registry registry;
  Registry::Collection collection;
};

TEST(DependencyMetrics, CountsWhatTheCallsDid) {
  Dependency dependency("db", full_policy());
  EXPECT_EQ(play(dependency, {Outcome::success}), Verdict::success);
  EXPECT_EQ(play(dependency, {Outcome::transient, Outcome::success}), Verdict::success);
  EXPECT_EQ(play(dependency, {Outcome::timeout, Outcome::unavailable, Outcome::transient}),
            Verdict::attempts_spent);
  EXPECT_EQ(play(dependency, {Outcome::permanent}), Verdict::permanent);
  EXPECT_EQ(play(dependency, {Outcome::transient}, kStart, 2ms,
                 {.request = {.idempotent = true, .owned_above = true}}),
            Verdict::layered);
  EXPECT_EQ(play(dependency, {Outcome::transient}), Verdict::budget_spent);  // 3 in reserve.
  Call under_way(dependency, {.request = {.idempotent = true}});
  under_way.start(kStart, 0);

  const Shown shown(dependency);
  EXPECT_EQ(shown.value(R"(damper_calls_total{dependency="db"})"), "7");
  EXPECT_EQ(shown.value(R"(damper_attempts_total{dependency="db"})"), "10");
  EXPECT_EQ(shown.value(R"(damper_inflight_requests{dependency="db"})"), "1");
  const auto verdicts = [&](const std::string& verdict) {
    return shown.value(R"(damper_verdicts_total{dependency="db",verdict=")" + verdict + "\"}");
  };
  EXPECT_EQ(verdicts("success"), "2");
  EXPECT_EQ(verdicts("attempts_spent"), "1");
  EXPECT_EQ(verdicts("permanent"), "1");
  EXPECT_EQ(verdicts("layered"), "1");
  EXPECT_EQ(verdicts("budget_spent"), "1");
  const auto retries = [&](const std::string& reason) {
    return shown.value(R"(damper_retries_total{dependency="db",reason=")" + reason + "\"}");
  };
  EXPECT_EQ(retries("transient"), "1");
  EXPECT_EQ(retries("timeout"), "1");
  EXPECT_EQ(retries("unavailable"), "1");
  EXPECT_EQ(shown.value(R"(damper_layered_retries_total{dependency="db"})"), "1");
  EXPECT_EQ(shown.value(R"(damper_retry_budget_exhausted_total{dependency="db"})"), "1");
  EXPECT_EQ(shown.value(R"(damper_concurrency_limit{dependency="db"})"), "20");
  EXPECT_EQ(shown.value(R"(damper_concurrency_in_flight{dependency="db"})"), "1");
  under_way.on_cancel(kStart);
  EXPECT_EQ(shown.value(R"(damper_inflight_requests{dependency="db"})"), "0");
  EXPECT_EQ(shown.value(R"(damper_concurrency_in_flight{dependency="db"})"), "0");
}

TEST(DependencyMetrics, WhatCanHappenIsShownAtZeroFromTheStart) {  // Invariant (1).
  Dependency dependency("db");
  const Shown shown(dependency);
  std::size_t verdicts = 0;
  for (const std::string_view word : kVerdictNames) {
    const auto value = shown.value(R"(damper_verdicts_total{dependency="db",verdict=")" +
                                   std::string(word) + "\"}");
    EXPECT_EQ(value.has_value(), word != "none" && word != "shed") << word;
    verdicts += value == "0" ? 1U : 0U;
  }
  EXPECT_EQ(verdicts, DependencyMetrics::kMostSeries);
  for (const std::string_view word : decide::kOutcomeNames) {
    const bool retried = word != "success" && word != "permanent" && word != "cancelled";
    const auto value =
        shown.value(R"(damper_retries_total{dependency="db",reason=")" + std::string(word) + "\"}");
    EXPECT_EQ(value, retried ? std::optional<std::string>("0") : std::nullopt) << word;
  }
  EXPECT_EQ(shown.value(R"(damper_hedges_total{dependency="db",result="won"})"), "0");
}

TEST(DependencyMetrics, WhatThePolicyLeavesOutIsNotShownUntilAReloadHasIt) {
  Dependency dependency("db");
  const Shown shown(dependency);
  const std::vector<std::string> optional = {
      R"(damper_breaker_state{dependency="db",state="closed"})",
      R"(damper_concurrency_limit{dependency="db"})",
      R"(damper_concurrency_in_flight{dependency="db"})",
      R"(damper_throttle_reject_probability{dependency="db"})"};
  for (const std::string& series : optional) EXPECT_EQ(shown.value(series), std::nullopt) << series;
  dependency.reload(full_policy(), kStart);
  for (const std::string& series : optional) EXPECT_TRUE(shown.value(series)) << series;
}

TEST(DependencyMetrics, TheBudgetsBalanceAndFill) {
  Policy policy;
  policy.budget = {.percent = Percent(50), .reserve = 2};
  Dependency dependency("db", policy);
  const Shown shown(dependency);
  const auto balance = [&] {
    return shown.value(R"(damper_retry_budget_balance{dependency="db"})");
  };
  const auto fill = [&] {
    return shown.value(R"(damper_retry_budget_fill_ratio{dependency="db"})");
  };
  EXPECT_EQ(balance(), "2");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(play(dependency, {Outcome::success}), Verdict::success);
  EXPECT_EQ(balance(), "4.5");
  EXPECT_EQ(fill(), "1");
  (void)dependency.budget().try_withdraw(kStart);
  EXPECT_EQ(balance(), "3.5");
  EXPECT_EQ(fill(), "0.6");  // 1.5 of the 2.5 that were earned.
}

TEST(DependencyMetrics, TheBreakersStateIsOneOfThree) {
  Policy policy;
  policy.call.max_attempts = 1;
  policy.breaker = admit::CircuitBreakerOptions{.consecutive_failures = 1};
  Dependency dependency("db", policy);
  const auto states = [&](Instant now) {
    const Shown shown(dependency, now);
    std::string all;
    for (const std::string_view state : admit::kBreakerStateNames) {
      all += *shown.value(R"(damper_breaker_state{dependency="db",state=")" + std::string(state) +
                          "\"}");
    }
    return all;
  };
  EXPECT_EQ(states(kStart), "100");  // closed, open, half_open
  (void)play(dependency, {Outcome::transient});
  EXPECT_EQ(states(kStart + 2ms), "010");
  EXPECT_EQ(states(kStart + 2s), "001");  // The open time is at most 1 s.
}

TEST(DependencyMetrics, AForcedBreakerIsShownUntilItsExpiry) {
  Policy policy;
  policy.breaker.emplace();
  Dependency dependency("db", policy);
  const auto forced = [&](Instant now) {
    const Shown shown(dependency, now);
    return *shown.value(R"(damper_breaker_forced{dependency="db",state="open"})") +
           *shown.value(R"(damper_breaker_forced{dependency="db",state="closed"})");
  };
  EXPECT_EQ(forced(kStart), "00");
  EXPECT_TRUE(dependency.force({.force = admit::BreakerForce::open, .length = 1s}, kStart));
  EXPECT_EQ(forced(kStart), "10");
  EXPECT_EQ(forced(kStart + 1s), "00");
  EXPECT_TRUE(dependency.force({.force = admit::BreakerForce::closed, .length = 1s}, kStart));
  EXPECT_EQ(forced(kStart), "01");
}

TEST(DependencyMetrics, TrapC9_AForcedBreakerShowsItsOwnStateToo) {
  Policy policy;
  policy.breaker = {.consecutive_failures = 1};
  Dependency dependency("db", policy);
  const auto own = [&](Instant now) {
    const Shown shown(dependency, now);
    std::string all;
    for (const char* state : {"closed", "open", "half_open"}) {
      all += shown
                 .value(R"(damper_breaker_own_state{dependency="db",state=")" + std::string(state) +
                        "\"}")
                 .value_or("-");
    }
    return all;
  };
  EXPECT_EQ(own(kStart), "---");
  EXPECT_TRUE(dependency.force({.force = admit::BreakerForce::closed, .length = 1s}, kStart));
  EXPECT_EQ(own(kStart), "100");
  (void)play(dependency, {Outcome::transient});
  EXPECT_EQ(own(kStart + 2ms), "010");
  EXPECT_EQ(own(kStart + 1s), "---");
}

TEST(DependencyMetrics, WaitsForTheRateOfTheAttempts) {
  Policy policy;
  Dependency without("db", policy);
  EXPECT_FALSE(Shown(without).value(R"(damper_rate_limiter_wait_seconds_count{dependency="db"})"));
  policy.attempt_rate = {.bucket = {.rate_per_second = 10, .burst = 1}, .max_wait = 1s};
  Dependency dependency("db", policy);
  engine::Call first(dependency, {});
  first.start(kStart, 0.5);
  engine::Call second(dependency, {});
  second.start(kStart, 0.5);  // Waits for 100 ms.
  const Shown shown(dependency);
  EXPECT_EQ(shown.value(R"(damper_rate_limiter_wait_seconds_count{dependency="db"})"), "1");
  EXPECT_EQ(shown.value(R"(damper_rate_limiter_wait_seconds_bucket{dependency="db",le="0.05"})"),
            "0");
  EXPECT_EQ(shown.value(R"(damper_rate_limiter_wait_seconds_bucket{dependency="db",le="0.25"})"),
            "1");
  first.on_cancel(kStart);
  second.on_cancel(kStart);
}

TEST(DependencyMetrics, TheThrottlesProbability) {
  Dependency dependency("db", full_policy());
  for (int i = 0; i < 24; ++i) (void)play(dependency, {Outcome::overload});
  const Shown shown(dependency);
  // It is 24/25, but for its bound.
  EXPECT_EQ(shown.value(R"(damper_throttle_reject_probability{dependency="db"})"), "0.92");
}

TEST(DependencyMetrics, SwitchesAreShownAsTheyActHereOrAbove) {
  admit::Switches process;
  Dependency dependency("db", {}, {.switches = &process});
  const auto switches = [&](Instant now) {
    const Shown shown(dependency, now);
    return *shown.value(R"(damper_switch_off{dependency="db",switch="retries"})") +
           *shown.value(R"(damper_switch_off{dependency="db",switch="hedging"})");
  };
  EXPECT_EQ(switches(kStart), "00");
  process.set(admit::Switch::hedging, {.off = true});
  dependency.flip(admit::Switch::retries, {.off = true, .until = kStart + 1s}, kStart);
  EXPECT_EQ(switches(kStart), "11");
  EXPECT_EQ(switches(kStart + 1s), "01");  // Expired.
}

TEST(DependencyMetrics, HedgesSentWonAndSuppressed) {
  Policy policy;
  policy.call.hedge.max_hedges = 1;
  policy.call.hedge.min_samples = 10;
  policy.call.hedge.ratio = Percent(10);
  Dependency dependency("db", policy);
  for (int i = 0; i < 10; ++i) (void)play(dependency, {Outcome::success});
  const auto late = [&](bool won) {
    Call call(dependency, {.request = {.idempotent = true, .safe = true}});
    call.start(kStart + 1s, 0);
    engine::Step step = call.step();
    call.on_timer(step.wake, 0);
    step = call.step();
    if (step.sends) {
      EXPECT_TRUE(step.attempt.hedge);
      call.on_outcome(won ? step.attempt.lane : 0, {}, step.attempt.sent + 1ms, 0);
    } else {
      call.on_cancel(kStart + 1s);
    }
  };
  late(true);
  const Shown shown(dependency);
  const auto hedges = [&](const std::string& result) {
    return shown.value(R"(damper_hedges_total{dependency="db",result=")" + result + "\"}");
  };
  EXPECT_EQ(hedges("sent"), "1");
  EXPECT_EQ(hedges("won"), "1");
  EXPECT_EQ(hedges("suppressed"), "0");
  late(false);  // The ratio is 10 % of 12 calls: no second hedge.
  EXPECT_EQ(hedges("sent"), "1");
  EXPECT_EQ(hedges("suppressed"), "1");
}

TEST(DependencyMetrics, ALatencyCountsUnderItsBoundAndIsNeverUnderOneThatItWasOver) {
  Dependency dependency("db");  // Invariant (3).
  // 0.5 ms exactly lies within a bucket that goes up to 0.508 ms: it counts for the next bound.
  for (const Duration latency : {499us, 500us, 501us, 40'000us, 59'000'000us, 200'000'000us}) {
    Policy policy;
    policy.call.timeout = 1h;
    dependency.reload(policy, kStart);
    (void)play(dependency, {Outcome::success}, kStart, latency);
  }
  const Shown shown(dependency);
  const auto bucket = [&](const std::string& bound) {
    return shown.value(R"(damper_latency_seconds_bucket{dependency="db",le=")" + bound + "\"}");
  };
  EXPECT_EQ(bucket("0.0005"), "1");
  EXPECT_EQ(bucket("0.001"), "3");
  EXPECT_EQ(bucket("0.025"), "3");
  EXPECT_EQ(bucket("0.05"), "4");
  EXPECT_EQ(bucket("30"), "4");
  EXPECT_EQ(bucket("60"), "5");
  EXPECT_EQ(bucket("+Inf"), "6");
  EXPECT_EQ(shown.value(R"(damper_latency_seconds_count{dependency="db"})"), "6");
}

TEST(DependencyMetrics, ALatencyAddsTheMiddleOfItsBucketToTheSum) {  // Invariant (3).
  damper::Histogram histogram;
  histogram.record(Duration(1'000'000), kStart);  // In [999,424, 1,015,808) ns.
  histogram.record(Duration(1'000'000), kStart);
  EXPECT_EQ(read_latencies(histogram).sum, 2 * 0.001007616);
}

TEST(DependencyMetrics, LatenciesAgreeWithWhatWasRecorded) {  // Invariant (3).
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    damper::Histogram histogram;
    std::vector<double> recorded;
    double sum = 0;
    for (int i = 0; i < 500; ++i) {
      const Duration latency(static_cast<std::int64_t>(1e5 * std::exp2(random.draw() * 19)));
      histogram.record(latency, kStart + i * 1s);  // Over many epochs: none is forgotten.
      recorded.push_back(std::chrono::duration<double>(latency).count());
      sum += recorded.back();
    }
    const HistogramValue value = read_latencies(histogram);
    EXPECT_EQ(value.bounds, (std::vector<double>{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}));
    ASSERT_EQ(value.counts.size(), value.bounds.size() + 1);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < value.bounds.size(); ++i) {
      count += value.counts[i];
      const auto under = [&](double bound) {
        std::uint64_t n = 0;
        for (const double latency : recorded) n += latency <= bound ? 1U : 0U;
        return n;
      };
      EXPECT_LE(count, under(value.bounds[i])) << "seed " << seed;
      EXPECT_GE(count, under(value.bounds[i] / 1.032)) << "seed " << seed;
    }
    EXPECT_EQ(count + value.counts.back(), 500U) << "seed " << seed;
    EXPECT_LE(std::abs(value.sum - sum), 0.016 * sum) << "seed " << seed;
  }
}

TEST(DependencyMetrics, PromtoolAcceptsHostileNamesAndNoValueIsNaN) {  // Invariant (2).
  Registry registry;
  DependencyMetrics metrics(registry, [] { return kStart; });
  std::vector<std::unique_ptr<Dependency>> dependencies;
  std::vector<Registry::Collection> shown;
  for (const std::string& name :
       {std::string("db"), std::string("a\"b\\c\nd"), std::string("\xFF\xED\xA0\x80"),
        std::string("}{,=\"} 1\n# HELP x"), std::string(), std::string(1000, 'n'),
        std::string("nul\0in", 6)}) {
    dependencies.push_back(std::make_unique<Dependency>(name, full_policy()));
    shown.push_back(metrics.add(*dependencies.back()));
    (void)play(*dependencies.back(), {Outcome::transient, Outcome::success});
  }
  const std::string text = registry.expose();
  EXPECT_EQ(promtool(text), "");
  EXPECT_EQ(text.find("NaN"), std::string::npos);
  EXPECT_EQ(text.find("Inf "), std::string::npos);  // Not as a value; le="+Inf" is.
  EXPECT_NE(text.find(R"(damper_calls_total{dependency="a\"b\\c\nd"} 1)"), std::string::npos);
  EXPECT_EQ(text.find("dropped_series"), std::string::npos);
}

TEST(DependencyMetrics, DependenciesOverTheRegistrysLimitAreCountedAsDropped) {
  Registry registry;  // 1000 series a family.
  DependencyMetrics metrics(registry, [] { return kStart; });
  std::vector<std::unique_ptr<Dependency>> dependencies;
  std::vector<Registry::Collection> shown;
  const auto add = [&] {
    dependencies.push_back(std::make_unique<Dependency>(std::to_string(dependencies.size())));
    shown.push_back(metrics.add(*dependencies.back()));
  };
  for (int i = 0; i < 52; ++i) add();
  EXPECT_EQ(registry.expose().find("dropped_series"), std::string::npos);
  add();
  const std::string text = registry.expose();
  EXPECT_NE(text.find("dropped_series_total{family=\"damper_verdicts_total\"} 6\n"),
            std::string::npos);  // 53 * 19 = 1007, and there are 1001 places.
  EXPECT_NE(text.find("damper_calls_total{dependency=\"52\"} 0\n"), std::string::npos);
}

TEST(DependencyMetrics, OfTwoWithOneNameTheFirstIsShown) {
  Registry registry;
  DependencyMetrics metrics(registry, [] { return kStart; });
  Dependency first("db");
  Dependency second("db");
  (void)play(first, {Outcome::success});
  const auto shown = metrics.add(first);
  const auto hidden = metrics.add(second);
  EXPECT_NE(registry.expose().find("damper_calls_total{dependency=\"db\"} 1\n"), std::string::npos);
}

TEST(DependencyMetrics, ADependencyIsShownAsLongAsItsCollectionLives) {
  Registry registry;
  std::optional<Registry::Collection> shown;
  Dependency dependency("db");
  {
    DependencyMetrics metrics(registry);  // With the steady clock; it need not live on.
    shown = metrics.add(dependency);
  }
  EXPECT_NE(registry.expose().find("dependency=\"db\""), std::string::npos);
  shown.reset();
  EXPECT_EQ(registry.expose(), "");
  EXPECT_DEATH(DependencyMetrics(registry, nullptr), "check failed");
}

TEST(DependencyMetrics, AScrapeRunsBesideCallsAndReloadsAndNoCounterShrinks) {  // Invariant (2).
  Dependency dependency("db", full_policy());
  const Shown shown(dependency);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        (void)play(dependency, {Outcome::success}, kStart + i * 1ms);
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 50; ++i) dependency.reload(full_policy(), kStart);
  });
  std::uint64_t before = 0;
  for (int i = 0; i < 50; ++i) {
    const auto calls = std::stoull(*shown.value(R"(damper_calls_total{dependency="db"})"));
    EXPECT_GE(calls, before);
    before = calls;
  }
  threads.clear();
  EXPECT_EQ(shown.value(R"(damper_calls_total{dependency="db"})"), "4000");
}

}  // namespace
}  // namespace damper::observe
