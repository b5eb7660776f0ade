#include "damper/queue/controller/controller.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "damper/queue/controller/controller_testing.h"
#include "damper/run/blocking.h"

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using queue::Added;

std::uint64_t count_of(const ControllerStats& stats, queue::Finish::How how) {
  return stats.runs.finished[static_cast<std::size_t>(how)];
}

TEST(Controller, RunsWhatIsAdded) {
  std::atomic<int> runs = 0;
  Controller<std::string> controller({.workers = 4}, [&](const std::string& key) -> Reconcile {
    EXPECT_EQ(key, "deployments/web");
    ++runs;
    return done();
  });
  EXPECT_EQ(controller.add("deployments/web").added, Added::queued);
  EXPECT_TRUE(eventually([&] { return runs == 1; }));
  EXPECT_TRUE(controller.drain(1min).empty());
  EXPECT_EQ(controller.stats().workers, 4);
  EXPECT_EQ(count_of(controller.stats(), queue::Finish::How::done), 1u);
}

TEST(Controller, AFailedKeyRunsAgainUntilItIsWellAndIsToldWhichAttemptItIs) {
  std::vector<std::uint32_t> attempts;
  std::latch well(1);
  Controller<std::string> controller(quick(), [&](const std::string&, const RunContext& context) {
    attempts.push_back(context.attempt());
    if (attempts.size() < 4) return Reconcile(failed(Outcome::transient));
    well.count_down();
    return done();
  });
  controller.add("a");
  well.wait();
  EXPECT_TRUE(controller.drain(1min).empty());
  EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(controller.stats().retries.retries[static_cast<std::size_t>(Outcome::transient)], 3u);
}

TEST(Controller, RequeueAfterComesBackInItsTime) {
  std::vector<Instant> started;
  std::latch twice(2);
  Controller<std::string> controller(quick(), [&](const std::string&) {
    started.push_back(run::now());
    twice.count_down();
    return started.size() == 1 ? requeue_after(20ms) : done();
  });
  controller.add("a");
  twice.wait();
  (void)controller.stop(1min);
  ASSERT_EQ(started.size(), 2u);
  EXPECT_GE(started[1] - started[0], 20ms);
}

TEST(Controller, KeysOfOtherTypesAndFunctionsThatOnlyMoveWork) {
  auto sum = std::make_unique<std::atomic<int>>(0);
  std::atomic<int>& read = *sum;
  Controller<int> controller({.workers = 2}, [sum = std::move(sum)](const int& key) {
    *sum += key;
    return done();
  });
  for (int key = 1; key <= 100; ++key) controller.add(key);
  EXPECT_TRUE(controller.drain(1min).empty());
  EXPECT_EQ(read, 5050);
}

TEST(Controller, NeverTwoWorkersOnAKeyAndNoAddIsLost) {  // Invariant (1).
  constexpr int kKeys = 20;
  std::array<std::atomic<int>, kKeys> inside{};
  std::array<std::atomic<int>, kKeys> wanted{};  // by whoever adds
  std::array<std::atomic<int>, kKeys> seen{};    // what the last run of the key saw
  std::atomic<bool> twice = false;
  Controller<int> controller(quick(4), [&](const int& key) -> Reconcile {
    const auto k = static_cast<std::size_t>(key);
    if (inside[k].fetch_add(1) != 0) twice = true;
    seen[k] = wanted[k].load();
    inside[k].fetch_sub(1);
    if (seen[k] % 7 == 3) return failed(Outcome::transient);
    if (seen[k] % 7 == 5) throw std::runtime_error("five");
    return done();
  });
  std::vector<std::jthread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const int key = (i * 7 + t) % kKeys;
        ++wanted[static_cast<std::size_t>(key)];
        EXPECT_TRUE(is_taken(controller.add(key).added));
      }
    });
  }
  producers.clear();
  for (std::size_t k = 0; k < kKeys; ++k) {
    wanted[k] = 7000;  // Well at last.
    controller.add(static_cast<int>(k));
  }
  EXPECT_TRUE(eventually([&] {
    return std::all_of(seen.begin(), seen.end(), [](const auto& of) { return of == 7000; });
  }));
  EXPECT_FALSE(twice);
  EXPECT_TRUE(controller.drain(1min).empty());
}

TEST(Controller, AnExceptionIsAFailureAndTheWorkerGoesOn) {  // Invariant (3).
  ControllerOptions options = quick();
  options.retries.max_attempts = 2;
  std::atomic<bool> seen = false;
  Controller<std::string> controller(options, [&](const std::string& key) -> Reconcile {
    if (key == "bug") throw std::runtime_error("no such invoice");
    if (key == "denied") {
      throw std::system_error(std::make_error_code(std::errc::permission_denied), "config");
    }
    if (key == "odd") throw 42;                // NOLINT(hicpp-exception-baseclass)
    return seen ? done() : requeue_after(0s);  // Between any two runs of another.
  });
  for (const char* key : {"bug", "denied", "odd", "well"}) controller.add(key);
  EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 3; }));
  std::map<std::string, Controller<std::string>::Parked> parked;
  for (const auto& key : controller.parked()) parked.insert({key.key, key});
  EXPECT_EQ(parked.at("bug").verdict, Verdict::attempts_spent);
  EXPECT_GE(parked.at("bug").failures, 2u);  // More, if "well" was late with its run between.
  EXPECT_EQ(parked.at("bug").why, "no such invoice");
  EXPECT_EQ(parked.at("denied").verdict, Verdict::permanent);
  EXPECT_EQ(parked.at("denied").why, "config: Permission denied");
  EXPECT_EQ(parked.at("odd").verdict, Verdict::attempts_spent);
  EXPECT_EQ(controller.stats().exceptions,
            parked.at("bug").failures + parked.at("denied").failures + parked.at("odd").failures);
  seen = true;
  EXPECT_TRUE(
      eventually([&] { return count_of(controller.stats(), queue::Finish::How::done) == 1; }));
}

TEST(Controller, AParkedKeyIsListedAndRunsAnewWhenRevivedOrAdded) {  // Trap Q11.
  std::atomic<bool> broken = true;
  std::atomic<int> well = 0;
  Controller<std::string> controller(quick(2), [&](const std::string&, const RunContext& context) {
    if (broken) return terminal("no such template");
    EXPECT_EQ(context.attempt(), 1u);
    ++well;
    return done();
  });
  for (const char* key : {"a", "b", "c"}) controller.add(key);
  EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 3; }));
  EXPECT_EQ(controller.parked(2).size(), 2u);
  EXPECT_EQ(controller.parked()[0].why, "no such template");
  EXPECT_FALSE(controller.revive("nobody"));
  broken = false;
  EXPECT_TRUE(controller.revive("a"));
  EXPECT_TRUE(eventually([&] { return well == 1; }));
  EXPECT_EQ(controller.add("b").added, Added::queued);
  EXPECT_TRUE(eventually([&] { return well == 2; }));
  EXPECT_EQ(controller.revive_all(), 1u);
  EXPECT_TRUE(eventually([&] { return well == 3; }));
}

TEST(Controller, ItsDeadlineAsksARunToStopAndAnOverrunIsCounted) {
  ControllerOptions options = quick(2);
  options.retries.timeout = 20ms;
  options.retries.max_attempts = 2;
  Controller<std::string> controller(options,
                                     [&](const std::string& key, const RunContext& context) {
                                       if (key == "well")
                                         return requeue_after(1ms);  // So it is not all that fail.
                                       wait_for(context.stop());
                                       EXPECT_GE(run::now(), context.deadline());
                                       return Reconcile(failed(Outcome::cancelled));
                                     });
  controller.add("well");
  controller.add("slow");
  EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 1; }));
  EXPECT_EQ(controller.parked()[0].failures, 2u);  // As timeouts: not at once, for ever.
  EXPECT_GE(controller.stats().overruns, 2u);      // On a busy machine "well" may overrun, too.
}

TEST(Controller, AGuardedCallInsideInheritsTheDeadlineAndLeavesRetryingToTheController) {
  engine::Policy policy;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1us, .cap = 1us};
  Dependency api("api", policy);
  const auto attempts_of = [&](bool owns_retries) {
    ControllerOptions options = quick();
    options.owns_retries = owns_retries;
    options.retries.retryable = {};  // It is parked after its first run.
    std::optional<std::uint32_t> attempts;
    std::string why;
    Controller<std::string> controller(options, [&](const std::string&, const RunContext& context) {
      EXPECT_EQ(run::Scope::deadline().at(), context.deadline());
      EXPECT_EQ(run::Scope::retry_owner(), owns_retries ? options.name : "");
      const auto result = call(api, {.idempotent = true}, [&](const Attempt& attempt) {
        EXPECT_LE(attempt.deadline(), context.deadline());
        return Outcome::transient;
      });
      attempts = result.attempts();
      return failed(result);
    });
    controller.add("a");
    EXPECT_TRUE(eventually([&] { return controller.stats().queue.parked == 1; }));
    return std::pair(*attempts, controller.parked()[0].why);
  };
  EXPECT_EQ(attempts_of(true), std::pair(1U, std::string("layered: transient")));
  EXPECT_EQ(attempts_of(false), std::pair(3U, std::string("attempts_spent: transient")));
}

TEST(Controller, TheKillSwitchHoldsWhatFailedAndFirstRunsGoOn) {  // Trap K1.
  for (const bool whole_process : {false, true}) {
    std::atomic<int> retries = 0;
    std::atomic<int> firsts = 0;
    Controller<int> controller(quick(2), [&](const int& key, const RunContext& context) {
      ++(context.attempt() == 1 ? firsts : retries);
      return key == 0 ? Reconcile(failed(Outcome::transient)) : done();
    });
    admit::Switches& scope = whole_process ? damper::switches() : controller.switches();
    scope.set(admit::Switch::retries, {.off = true, .reason = "db failover"});
    controller.add(0);
    EXPECT_TRUE(eventually([&] { return controller.stats().retries.held_by_switch > 0; }));
    for (int key = 1; key <= 50; ++key) controller.add(key);
    EXPECT_TRUE(eventually([&] { return firsts == 51; }));
    EXPECT_EQ(retries, 0);
    EXPECT_EQ(controller.stats().queue.delayed, 1u);  // Held, not lost.
    scope.clear(admit::Switch::retries);
    const auto left = controller.stop();
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].key, 0);
    EXPECT_EQ(left[0].failures, 1u);
  }
}

TEST(Controller, TwoControllersDoNotDisturbEachOtherButShareTheProcesssBudget) {
  admit::RetryBudget process({.percent = Percent(0), .reserve = 5, .min_per_second = 0});
  ControllerOptions options = quick();
  options.parent_budget = &process;
  std::atomic<int> retries = 0;
  const auto fails = [&](const int&, const RunContext& context) -> Reconcile {
    if (context.attempt() > 1) ++retries;
    return failed(Outcome::transient);
  };
  Controller<int> one(options, fails);
  Controller<int> two(options, fails);
  Controller<int> three(quick(), [&](const int&) { return done(); });
  for (int key = 0; key < 10; ++key) {
    one.add(key);
    two.add(key);
    three.add(key);
  }
  EXPECT_TRUE(three.drain(1min).empty());
  EXPECT_TRUE(eventually([&] {
    return one.stats().retries.held_by_budget >= 5 && two.stats().retries.held_by_budget >= 5 &&
           one.stats().queue.running + two.stats().queue.running == 0;
  }));
  EXPECT_EQ(retries, 5);
}

TEST(Controller, TheRateIsKeptAndItsWaitIsMeasured) {
  ControllerOptions options = quick(4);
  options.retries.rate = {.rate_per_second = 100, .burst = 1};
  Controller<int> controller(options, [&](const int&) { return done(); });
  const Instant start = run::now();
  for (int key = 0; key < 6; ++key) controller.add(key);
  EXPECT_TRUE(controller.drain(1min).empty());
  EXPECT_GE(run::now() - start, 50ms - 1us);  // Five waits of 10 ms.
  Histogram::Totals totals;
  controller.times().rate_waits.read_totals(totals);
  std::int64_t waits = 0;
  for (const std::int64_t count : totals.counts) waits += count;
  EXPECT_EQ(waits, 5);
}

TEST(Controller, ASinkMayUseTheController) {
  struct Sink final : engine::EventSink {
    void on_event(const engine::Event& event) noexcept override {
      if (event.kind == engine::EventKind::parked) parked = controller->stats().queue.parked;
    }
    Controller<std::string>* controller = nullptr;
    std::atomic<std::size_t> parked = 0;
  } sink;
  ControllerOptions options = quick();
  options.sink = &sink;
  Controller<std::string> controller(options, [](const std::string&) { return terminal("no"); });
  sink.controller = &controller;
  controller.add("a");
  EXPECT_TRUE(eventually([&] { return sink.parked == 1; }));
}

TEST(Controller, TheBoundAndTheClassesReachTheQueue) {
  std::latch running(1);
  std::latch go(1);
  ControllerOptions options = quick();
  options.queue = {.capacity = 2, .at_limit = queue::AtLimit::shed_least_important};
  Controller<std::string> controller(options, [&](const std::string& key) {
    if (key == "first") {
      running.count_down();
      go.wait();
    }
    return done();
  });
  controller.add("first");
  running.wait();
  controller.add("low", {.priority = admit::Criticality::sheddable});
  const auto added = controller.add("high", {.priority = admit::Criticality::critical_plus});
  EXPECT_EQ(added.added, Added::queued);
  EXPECT_EQ(added.shed, "low");
  EXPECT_EQ(controller.add("more").added, Added::refused);
  go.count_down();
  EXPECT_TRUE(controller.drain(1min).empty());
}

TEST(Controller, OptionsThatCannotBeEndTheProgram) {
  EXPECT_DEATH(Controller<int>({.workers = 0}, [](const int&) { return done(); }), "check failed");
}

}  // namespace
}  // namespace damper
