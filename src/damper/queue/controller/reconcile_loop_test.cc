#include "damper/queue/controller/reconcile_loop.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "damper/base/check.h"
#include "damper/queue/controller/controller_testing.h"
#include "damper/run/clock.h"
#include "damper/run/scope.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;

// Keys that are due at some time, each of which runs once.
class Plan final : public ReconcileWork {
 public:
  explicit Plan(ReconcileLoop::Options options) : loop(*this, options) {}
  ~Plan() { loop.end(0s, ReconcileLoop::Ready::leave); }

  // Says nothing to the loop. REQUIRES: the lock.
  void put(std::uint32_t key, Instant due) { due_.emplace_back(due, key); }

  Next next(Instant now, double /*draw*/) override {
    Instant wake = kNever;
    std::optional<std::uint32_t> ready;
    for (auto& [due, key] : due_) {
      if (due <= now && !ready) {
        ready = key;
        due = kNever;
      }
      wake = std::min(wake, due);
    }
    if (!ready) return {{}, wake, false};
    ++out_;
    return {Run{.ticket = {*ready, 0}, .key = nullptr, .attempt = *ready + 1, .deadline = deadline},
            wake, false};
  }
  void finish(Ticket ticket, const Finish& how, Instant, double) override {
    --out_;
    finished[ticket.index] = how;
  }
  bool has_ready(Instant now) override {
    return std::any_of(due_.begin(), due_.end(), [&](const auto& of) { return of.first <= now; });
  }
  [[nodiscard]] bool is_idle() const override {
    const Instant now = run::now();
    return out_ == 0 &&
           std::none_of(due_.begin(), due_.end(), [&](const auto& of) { return of.first <= now; });
  }
  void close() override { closed = true; }
  [[nodiscard]] bool has_events() const override { return news; }
  void dispatch_events(std::unique_lock<std::mutex>& lock) override {
    news = false;
    lock.unlock();
    EXPECT_TRUE(loop.mutex().try_lock());
    loop.mutex().unlock();
    told.count_down();
    lock.lock();
  }
  Finish run(const Run& run, const RunContext& context) override {
    return function(run.ticket.index, context);
  }

  std::function<Finish(std::uint32_t key, const RunContext& context)> function;
  std::array<std::optional<Finish>, 8> finished{};
  Instant deadline = kNever;
  bool closed = false;
  bool news = false;
  std::latch told{1};

 private:
  std::vector<std::pair<Instant, std::uint32_t>> due_;
  int out_ = 0;

 public:
  ReconcileLoop loop;
};

TEST(ReconcileLoop, AKeyRunsAtItsTime) {
  Plan plan({.workers = 3});
  std::latch ran(1);
  Instant at{};
  plan.function = [&](std::uint32_t, const RunContext& context) -> Finish {
    EXPECT_EQ(context.attempt(), 6u);
    at = run::now();
    ran.count_down();
    return {};
  };
  plan.loop.start();
  Instant due{};
  {
    const std::lock_guard lock(plan.loop.mutex());
    const Instant now = run::now();
    due = now + 10ms;
    plan.put(5, due);
    plan.loop.on_added(due, now);
  }
  ran.wait();
  EXPECT_GE(at, due);
}

// Invariant (1). Two workers sleep; the one that is called takes a key, and with it comes another
// one that is due soon: whoever watches the time must look again.
TEST(ReconcileLoop, WhoTakesAKeyLeavesTheTimeToAnother) {
  for (int round = 0; round < 20; ++round) {
    Plan plan({.workers = 2});
    std::latch second(1);
    plan.function = [&](std::uint32_t key, const RunContext&) -> Finish {
      if (key == 0) second.wait();  // Until the other one has run, on another thread.
      if (key == 1) second.count_down();
      return {};
    };
    plan.loop.start();
    {
      const std::lock_guard lock(plan.loop.mutex());
      const Instant now = run::now();
      plan.put(0, now);
      plan.put(1, now + 2ms);
      plan.loop.on_added(now, now);
    }
    second.wait();
  }
}

TEST(ReconcileLoop, AllWorkersAreCalledOneAfterTheOther) {  // Invariant (1).
  Plan plan({.workers = 4});
  std::latch together(4);
  plan.function = [&](std::uint32_t, const RunContext&) -> Finish {
    together.arrive_and_wait();  // Only if all four run at once.
    return {};
  };
  plan.loop.start();
  {
    const std::lock_guard lock(plan.loop.mutex());
    const Instant now = run::now();
    for (std::uint32_t key = 0; key < 4; ++key) plan.put(key, now);
    plan.loop.on_added(now, now);  // One call for all of them.
  }
  together.wait();
}

TEST(ReconcileLoop, ARunIsInsideAScopeThatOwnsTheRetriesIfItShould) {
  const std::string name = "invoices";
  for (const bool owns : {true, false}) {
    Plan plan({.workers = 1, .owns_retries = owns, .name = &name});
    plan.deadline = run::now() + 1h;
    std::latch ran(1);
    plan.function = [&](std::uint32_t, const RunContext& context) -> Finish {
      EXPECT_EQ(run::Scope::owned_above(), owns);
      EXPECT_EQ(run::Scope::retry_owner(), owns ? "invoices" : "");
      EXPECT_EQ(run::Scope::unsent_owned_above(), owns);
      EXPECT_EQ(run::Scope::deadline().at(), plan.deadline);
      EXPECT_FALSE(context.stop().stop_possible());  // Not created when wants_stop is false.
      ran.count_down();
      return {};
    };
    plan.put(0, Instant{});
    plan.loop.start();
    ran.wait();
  }
}

TEST(ReconcileLoop, WhatARunThrowsIsItsFailure) {  // Invariant (4).
  Plan plan({.workers = 1});
  plan.function = [&](std::uint32_t key, const RunContext&) -> Finish {
    if (key == 0) throw std::runtime_error("bug");
    return {};
  };
  plan.put(0, Instant{});
  plan.put(1, Instant{});
  plan.loop.start();
  plan.loop.end(1min, ReconcileLoop::Ready::run);
  EXPECT_EQ(plan.finished[0]->how, Finish::How::failed);
  EXPECT_EQ(plan.finished[0]->why, "bug");
  EXPECT_EQ(plan.finished[1]->how, Finish::How::done);
  EXPECT_EQ(plan.loop.exceptions(), 1u);
  EXPECT_TRUE(plan.closed);
}

TEST(ReconcileLoop, ItsEndAsksARunToStopOnceItsTimeIsOver) {  // Invariant (2).
  Plan plan({.workers = 2, .wants_stop = true});
  std::latch running(1);
  plan.function = [&](std::uint32_t, const RunContext& context) -> Finish {
    running.count_down();
    wait_for(context.stop());
    return {.how = Finish::How::failed, .report = {.outcome = decide::Outcome::cancelled}};
  };
  plan.put(3, Instant{});
  plan.loop.start();
  running.wait();
  plan.loop.end(1ms, ReconcileLoop::Ready::leave);
  EXPECT_EQ(plan.finished[3]->report.outcome, decide::Outcome::cancelled);
  plan.loop.end(0s, ReconcileLoop::Ready::run);  // Again: nothing happens.
}

TEST(ReconcileLoop, AStopCallbackRunsWithoutTheLock) {  // Invariant (3).
  Plan plan({.workers = 1, .wants_stop = true});
  std::latch running(1);
  plan.function = [&](std::uint32_t, const RunContext& context) -> Finish {
    const std::stop_callback callback(context.stop(), [&] {
      const std::lock_guard lock(plan.loop.mutex());  // Would wait for ever.
    });
    running.count_down();
    wait_for(context.stop());
    return {};
  };
  plan.put(0, Instant{});
  plan.loop.start();
  running.wait();
  plan.loop.end(0s, ReconcileLoop::Ready::leave);
  EXPECT_EQ(plan.finished[0]->how, Finish::How::done);
}

TEST(ReconcileLoop, NewsAreToldWithoutTheLock) {  // Invariant (3).
  Plan plan({.workers = 1});
  plan.function = [&](std::uint32_t, const RunContext&) -> Finish { return {}; };
  plan.news = true;
  plan.put(0, Instant{});
  plan.loop.start();
  plan.told.wait();
}

TEST(ReconcileLoop, TimesAreRecorded) {
  Plan plan({.workers = 1});
  plan.deadline = Instant{};
  plan.function = [&](std::uint32_t, const RunContext&) -> Finish { return {}; };
  plan.put(0, Instant{});
  plan.loop.start();
  plan.loop.end(1min, ReconcileLoop::Ready::run);
  EXPECT_EQ(plan.loop.times().works.samples(run::now()), 1);
  EXPECT_EQ(plan.loop.times().waits.samples(run::now()), 1);
  EXPECT_EQ(plan.loop.overruns(), 1u);
  EXPECT_EQ(plan.loop.workers(), 1);
}

}  // namespace
}  // namespace damper::queue
