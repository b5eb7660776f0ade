#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "counted_malloc.h"
#include "damper/damper.h"
#include "damper/engine/call.h"
#include "damper/lab/world/world.h"
#include "damper/lab/world/world_testing.h"
#include "damper/timer/event_queue.h"

// The promise "no allocation", counted: every malloc of this thread, and so every operator new,
// which is made of it. The first use of anything may allocate (a thread's slot, a stream of draws);
// what is counted is every use after it.

namespace damper {
namespace {

using namespace std::chrono_literals;

Policy everything_on() {
  Policy policy;
  policy.call.timeout = 1h;
  policy.call.per_try_timeout = 1min;
  policy.call.adaptive_timeout.on = true;
  policy.call.backoff = {.jitter = Jitter::none, .base = 1us, .cap = 1us};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  policy.breaker.emplace().minimum_volume = 1'000'000;
  policy.throttle.emplace();
  policy.limit.emplace();
  return policy;
}

TEST(Allocation, IsCounted) {  // Or all the others would pass without a reason.
  EXPECT_EQ(count([] { keep(std::make_unique<int>(1).get()); }), 100u);
  EXPECT_EQ(count([] {
              void* memory = std::calloc(1, 1);  // Of which nothing is uninitialised.
              keep(memory);
              std::free(memory);
            }),
            100u);
  EXPECT_EQ(count([] { keep(std::string(100, 'x').data()); }), 100u);
  struct alignas(64) Line {
    char bytes[64];
  };
  EXPECT_EQ(count([] { keep(std::make_unique<Line>().get()); }), 100u);
}

TEST(Allocation, ACallThatSucceedsMakesNone) {
  Dependency dependency("test", everything_on());
  EXPECT_EQ(count([&] {
              const auto result = call(
                  dependency, {.idempotent = true, .deadline = in(1min)},
                  [](const Attempt& attempt) -> Result<std::uint32_t> { return attempt.number(); });
              ASSERT_EQ(*result, 1u);
            }),
            0u);
}

TEST(Allocation, ACallThatOwnsAnotherMakesNone) {
  Dependency edge("edge", everything_on());
  Dependency store("store", everything_on());
  EXPECT_EQ(count([&] {
              (void)call(edge, {.idempotent = true}, [&](const Attempt&) {
                return call(store, {}, [](const Attempt&) { return Outcome::success; })
                           ? Outcome::success
                           : Outcome::permanent;
              });
            }),
            0u);
}

TEST(Allocation, AFailureAndItsRetryMakeNone) {
  Policy policy = everything_on();
  policy.throttle.reset();  // Half of all attempts fail: it would refuse some.
  policy.limit.reset();
  Dependency dependency("test", policy);
  EXPECT_EQ(count([&] {
              const auto result =
                  call(dependency, {.idempotent = true}, [](const Attempt& attempt) {
                    return attempt.number() == 1 ? Outcome::transient : Outcome::success;
                  });
              ASSERT_EQ(result.attempts(), 2u);
            }),
            0u);
}

TEST(Allocation, ARefusalMakesNone) {
  Policy policy = everything_on();
  policy.breaker =
      admit::CircuitBreakerOptions{.consecutive_failures = 1, .open_base = 1h, .open_cap = 1h};
  Dependency dependency("test", policy);
  const auto verdict = [&](const Options& options, Outcome outcome) {
    return call(dependency, options, [=](const Attempt&) { return outcome; }).verdict();
  };
  EXPECT_EQ(count([&] {
              ASSERT_EQ(verdict({.deadline = run::now()}, Outcome::success),
                        Verdict::deadline_passed);
            }),
            0u);
  EXPECT_EQ(verdict({}, Outcome::transient), Verdict::not_idempotent);
  EXPECT_EQ(count([&] { ASSERT_EQ(verdict({}, Outcome::success), Verdict::breaker_open); }), 0u);
}

TEST(Allocation, ASpentBudgetMakesNone) {
  Policy policy = everything_on();
  policy.throttle.reset();
  policy.budget = {.percent = Percent(0), .reserve = 0};
  Dependency dependency("test", policy);
  EXPECT_EQ(count([&] {
              const auto result = call(dependency, {.idempotent = true},
                                       [](const Attempt&) { return Outcome::transient; });
              ASSERT_EQ(result.verdict(), Verdict::budget_spent);
            }),
            0u);
}

// A failed attempt, a retry, a success.
TEST(Allocation, ASmallDependencyMakesNone) {
  Policy policy;
  policy.breaker.emplace().failure_rate = Percent(90);  // Half of the attempts fail.
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  engine::SmallDependency dependency("test", policy);
  Instant now{1000s};
  EXPECT_EQ(count([&] {
              engine::SmallCall call(dependency, {.request = {.idempotent = true}});
              call.start(now, 0.5);
              call.on_outcome(0, {.outcome = Outcome::transient}, now, 0.5);
              call.on_timer(now = call.step().wake, 0.5);
              call.on_outcome(0, {}, now += 1ms, 0.5);
              ASSERT_EQ(call.step().verdict, Verdict::success);
            }),
            0u);
}

// One for each of 100,000 webhook endpoints, with the names that they have.
TEST(Allocation, AHundredThousandSmallDependenciesTakeUnder150MB) {
  const std::int64_t before = counted.bytes;
  std::vector<std::unique_ptr<engine::SmallDependency>> endpoints;
  for (int i = 0; i < 100'000; ++i) {
    endpoints.push_back(std::make_unique<engine::SmallDependency>("https://hooks.example.com/v1/" +
                                                                  std::to_string(1'000'000 + i)));
  }
  EXPECT_LT(counted.bytes - before, 150'000'000);
  EXPECT_GT(counted.bytes - before, 100'000'000);  // Or they were not counted.
}

// The state machine with all it can do: an attempt, a hedge beside it, both fail, a retry.
TEST(Allocation, TheCoreMakesNone) {
  Policy policy = everything_on();
  policy.limit = admit::ConcurrencyLimitOptions{.kind = admit::LimitKind::fixed, .initial = 10};
  policy.throttle.reset();
  policy.call.hedge = {.max_hedges = 1, .min_samples = 1, .ratio = Percent(100)};
  engine::Dependency dependency("test", policy);
  Instant now{1000s};
  EXPECT_EQ(count([&] {
              for (const bool hedged : {false, true}) {
                engine::Call call(dependency, {.request = {.idempotent = hedged, .safe = hedged}});
                call.start(now, 0.5);
                engine::Step step = call.step();
                if (hedged) {
                  call.on_timer(now = step.wake, 0.5);
                  step = call.step();
                  ASSERT_TRUE(step.attempt.hedge);
                  call.on_outcome(0, {.outcome = Outcome::transient}, now, 0.5);
                  call.on_outcome(1, {.outcome = Outcome::timeout}, now, 0.5);
                  step = call.step();
                  call.on_timer(now = step.wake, 0.5);
                  step = call.step();
                  ASSERT_EQ(step.attempt.number, 3u);
                }
                call.on_outcome(step.attempt.lane, {}, now += 1ms, 0.5);
                step = call.step();
                ASSERT_EQ(step.verdict, Verdict::success);
              }
            }),
            0u);
}

// How many allocations a run makes; its record is made of some, but as many for each length.
std::size_t count_in_run(lab::Scenario scenario, Duration length) {
  scenario.length = length;
  static const lab::Record first = lab::play(scenario);  // What a process allocates once.
  const std::size_t before = counted.allocations;
  const lab::Record record = lab::play(scenario, {.latency_over_time = false});
  EXPECT_GT(record.events, 100'000u);
  return counted.allocations - before;
}

TEST(Allocation, ALabThatIsWarmMakesNone) {
  lab::Scenario scenario = lab::world_of(
      {lab::service("db", lab::Distribution::exponential(10ms), 1)}, {lab::poisson(80)});
  EXPECT_EQ(count_in_run(scenario, 2000s), count_in_run(scenario, 1000s));
}

// Every second is as bad as the one before: refusals, retries, timeouts, queues that fill and
// empty, calls that are given up.
TEST(Allocation, AStormInTheLabMakesNoneOnceItIsWarm) {
  for (const auto discipline :
       {lab::Discipline::fifo, lab::Discipline::lifo, lab::Discipline::shed}) {
    lab::ServiceSpec web = lab::service("web", lab::Distribution::uniform(0ms, 5ms), 4);
    web.calls = {{.service = "db", .times = 2}};
    web.queue_bound = 100;
    web.heeds_cancel = true;
    lab::ServiceSpec db = lab::service("db", lab::Distribution::uniform(0ms, 20ms), 4);
    db.replicas = 2;
    db.queue_bound = 50;
    db.heeds_cancel = db.heeds_deadline = true;
    db.network = lab::Distribution::uniform(0ms, 2ms);
    web.queue = db.queue = discipline;
    lab::Scenario scenario = lab::world_of({web, db}, {lab::poisson(2000, "web")});
    lab::set_policy(scenario, "web", lab::eager(3, 50ms));
    lab::set_policy(scenario, "db", lab::eager(3, 20ms));
    EXPECT_EQ(count_in_run(scenario, 60s), count_in_run(scenario, 30s));
  }
}

TEST(Allocation, AnEventQueueThatIsWarmMakesNone) {
  timer::EventQueue queue;
  std::array<timer::EventQueue::Timer, 10> timers;
  const auto storm = [&] {
    for (int i = 0; i < 10'000; ++i) {
      queue.cancel(timers[static_cast<std::size_t>(i % 10)]);
      timers[static_cast<std::size_t>(i % 10)] = queue.schedule(queue.now() + 1s, {});
      queue.schedule(queue.now() + 7ns * (i % 5000), {});
    }
    while (queue.pop()) {
    }
  };
  storm();
  EXPECT_EQ(count(storm), 0u);
}

}  // namespace
}  // namespace damper
