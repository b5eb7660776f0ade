#include "damper/http/server/guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "damper/http/server/exchange_testing.h"
#include "damper/http/server/guard_testing.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant at(std::int64_t ms) { return Instant{milliseconds(ms)}; }

// A guard before a handler that keeps what it is given.
struct Bench {
  explicit Bench(const GuardOptions& options) : guard(options, clock) {}

  std::shared_ptr<FakeExchange> send(const std::string& target, FieldList fields = {},
                                     Instant arrived = kNever) {
    auto exchange =
        fake_exchange("GET", target, std::move(fields), {}, std::min(arrived, clock.now()));
    handler(exchange);
    return exchange;
  }
  // What the handler has been given and not answered.
  std::string working() const {
    std::string text;
    for (const auto& exchange : work) text += exchange->request().target;
    return text;
  }
  void answer_first() {
    const ExchangePtr first = work.front();
    work.erase(work.begin());
    first->respond({.status = 200, .fields = {}, .body = "ok", .trailers = {}});
  }
  void wait_until(std::int64_t ms) {
    clock.set(ms);
    if (clock.alarm <= clock.now()) guard.on_alarm();
  }

  FakeGuardClock clock;
  std::vector<ExchangePtr> work;  // before the guard: what ends lets others begin
  Guard guard;
  Handler handler =
      guarded([this](ExchangePtr exchange) { work.push_back(std::move(exchange)); }, guard);
};

TEST(Guard, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(GuardOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.overload_status = 500}), "overload_status is 500; it must be 503 or 429");
  EXPECT_EQ(find_error({.admission = {.longest_wait = Duration{0}}}),
            "admission.longest_wait is 0s; it must be from 1ms to 1h");
}

TEST(Guard, RunsUpToTheLimitThenInTurnAndAnswersAreTheHandlers) {
  Bench bench(guard_options(1));
  const auto a = bench.send("/a");
  const auto b = bench.send("/b");
  EXPECT_EQ(bench.working(), "/a");
  bench.answer_first();
  EXPECT_EQ(a->status(), 200);
  EXPECT_EQ(a->answer->body, "ok");
  EXPECT_EQ(bench.working(), "/b");
  bench.answer_first();
  EXPECT_EQ(b->status(), 200);
  EXPECT_EQ(bench.guard.admission().in_flight(), 0);
}

TEST(Guard, TrapD1_TheDeadlineCountsFromTheFirstByte) {
  Bench bench(guard_options(1));
  bench.clock.set(100);
  const auto a = bench.send("/a", {{"x-request-deadline", "80"}}, at(30));
  EXPECT_EQ(bench.work[0]->inherited().deadline.at(), at(110));
  const auto late = bench.send("/b", {{"x-request-deadline", "70"}}, at(30));
  EXPECT_EQ(late->status(), 504);  // It is 100: the slow sender has used it up.
  EXPECT_EQ(late->field("damper-verdict"), "deadline_passed");
  const auto date = bench.send("/c", {{"x-request-deadline", "1700000000030"}}, at(30));
  EXPECT_EQ(date->status(), 0);  // A date does not: 30 ms are left.
}

TEST(Guard, TrapD3_ADeadlineThatHasPassedIsAnswered504BeforeWork) {
  Bench bench(guard_options(1));
  EXPECT_EQ(bench.send("/late", {{"grpc-timeout", "0n"}})->status(), 504);
  EXPECT_EQ(bench.working(), "");
  EXPECT_EQ(bench.guard.admission().tally().requests(Verdict::deadline_passed), 1U);
  const auto a = bench.send("/a");
  const auto b = bench.send("/b", {{"x-request-deadline", "50"}});
  bench.wait_until(60);  // Nothing finishes, and b is told all the same.
  EXPECT_EQ(b->status(), 504);
  bench.answer_first();
  EXPECT_EQ(bench.working(), "");
}

TEST(Guard, ARefusalIsCheapAndSaysWhenToComeBack) {
  Bench bench(guard_options(1, 1));
  const auto a = bench.send("/a");
  const auto b = bench.send("/b", {{"damper-criticality", "sheddable"}});
  const auto c = bench.send("/c");
  EXPECT_EQ(b->status(), 503);  // It made room for c.
  EXPECT_EQ(b->field("retry-after"), "1");
  EXPECT_EQ(b->field("damper-verdict"), "shed");
  EXPECT_EQ(bench.send("/d")->status(), 503);
  EXPECT_EQ(bench.working(), "/a");
  bench.wait_until(1000);  // longest_wait
  EXPECT_EQ(c->status(), 503);
  EXPECT_EQ(bench.clock.alarm, at(10'000));  // a's deadline
  bench.answer_first();
  EXPECT_EQ(bench.clock.alarm, kNever);
}

TEST(Guard, ACallerThatGoesAwayInTheQueueGivesUpItsPlace) {  // Invariant (2)
  Bench bench(guard_options(1, 1));
  const auto a = bench.send("/a");
  const auto b = bench.send("/b");
  b->go_away();
  const auto c = bench.send("/c");
  EXPECT_EQ(c->status(), 0);  // It waits.
  bench.answer_first();
  EXPECT_EQ(bench.working(), "/c");
  EXPECT_EQ(b.use_count(), 1);  // Nobody keeps it.
  const auto gone = fake_exchange("GET", "/gone");
  gone->go_away();
  bench.work.clear();
  bench.handler(gone);
  EXPECT_EQ(bench.working(), "");  // It had gone before it came here.
}

TEST(Guard, ACallerThatGoesAwayDuringTheWorkIsToldToTheHandler) {  // Invariant (4)
  Bench bench(guard_options(1));
  const auto a = bench.send("/a");
  bool told = false;
  bench.work[0]->on_cancel([&] { told = true; });
  EXPECT_FALSE(bench.work[0]->is_over());
  a->go_away();
  EXPECT_TRUE(told);
  bool told_late = false;
  bench.work[0]->on_cancel([&] { told_late = true; });
  EXPECT_TRUE(told_late);  // It is too late to wait for it.
  EXPECT_TRUE(bench.work[0]->is_over());
  EXPECT_EQ(bench.guard.admission().in_flight(), 1);  // The work goes on.
  bench.answer_first();
  EXPECT_EQ(bench.guard.admission().in_flight(), 0);
}

TEST(Guard, AtTheDeadlineTheCallerIsAnsweredAndTheHandlerToldOnce) {  // Invariants (3) and (4)
  Bench bench(guard_options(1));
  const auto a = bench.send("/a", {{"x-request-deadline", "50"}});
  const auto b = bench.send("/b", {{"x-request-deadline", "500"}});
  int told = 0;
  bench.work[0]->on_cancel([&] { ++told; });
  bench.wait_until(49);
  EXPECT_EQ(a->status(), 0);
  bench.wait_until(50);
  EXPECT_EQ(a->status(), 504);
  EXPECT_EQ(a->field("damper-verdict"), "deadline_passed");
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(bench.work[0]->is_over());
  bench.work[0]->on_cancel([&] { ++told; });
  EXPECT_EQ(told, 2);                // It is too late to wait for it.
  EXPECT_EQ(bench.working(), "/a");  // The place is taken while the work goes on.
  bench.wait_until(60);
  EXPECT_EQ(told, 2);
  bench.answer_first();
  EXPECT_EQ(a->status(), 504);
  EXPECT_EQ(bench.working(), "/b");
  EXPECT_EQ(bench.guard.admission().tally().overruns, 1U);
  EXPECT_EQ(bench.clock.alarm, at(500));  // One that waited has its deadline too.
  bench.work[0]->on_cancel([&bench] { bench.work.clear(); });  // It heeds.
  bench.wait_until(500);
  EXPECT_EQ(b->status(), 504);
  EXPECT_EQ(bench.guard.admission().in_flight(), 0);
  EXPECT_EQ(bench.clock.alarm, kNever);
}

TEST(Guard, WhoNeverAnswersOrThrowsGivesThePlaceBackToo) {  // Invariant (4)
  Bench bench(guard_options(1));
  const auto a = bench.send("/a");
  const auto b = bench.send("/b");
  bench.work.erase(bench.work.begin());
  EXPECT_EQ(bench.working(), "/b");
  bench.work.clear();
  EXPECT_EQ(bench.guard.admission().in_flight(), 0);
  const Handler thrower =
      guarded([](const ExchangePtr&) { throw std::runtime_error("broken"); }, bench.guard);
  const auto c = fake_exchange("GET");
  thrower(c);
  EXPECT_EQ(c->status(), 500);
  EXPECT_EQ(bench.guard.admission().in_flight(), 0);
}

TEST(Guard, HandlersThatAnswerAtOnceDoNotNest) {
  FakeGuardClock clock;
  Guard guard(guard_options(1, 1000), clock);
  std::vector<ExchangePtr> kept;
  int depth = 0;
  int deepest = 0;
  const Handler handler = guarded(
      [&](const ExchangePtr& exchange) {
        deepest = std::max(deepest, ++depth);
        if (kept.empty()) {
          kept.push_back(exchange);
        } else {
          exchange->respond({});
        }
        --depth;
      },
      guard);
  std::vector<std::shared_ptr<FakeExchange>> sent;
  for (int i = 0; i < 500; ++i) {
    sent.push_back(fake_exchange("GET"));
    handler(sent.back());
  }
  kept[0]->respond({});
  for (const auto& exchange : sent) EXPECT_EQ(exchange->status(), 200);
  EXPECT_EQ(deepest, 1);
}

TEST(Guard, ASecondAnswerTakesNoSecondPlace) {  // Invariant (4)
  Bench bench(guard_options(1));
  const auto a = bench.send("/a");
  const ExchangePtr kept = bench.work[0];
  bench.answer_first();
  kept->respond({.status = 500, .fields = {}, .body = {}, .trailers = {}});
  EXPECT_EQ(a->status(), 200);
  EXPECT_EQ(bench.guard.admission().in_flight(), 0);
}

TEST(Guard, WhatKeepsTheExchangeToBeToldIsForgottenWithTheAnswer) {
  Bench bench(guard_options(1));
  const auto a = bench.send("/a");
  const auto keep = [](const ExchangePtr& kept) {
    kept->on_cancel([kept] { ADD_FAILURE() << kept->request().target; });
  };
  keep(bench.work[0]);
  const ExchangePtr late = bench.work[0];
  bench.answer_first();
  keep(late);  // It would be told nothing any more.
  EXPECT_EQ(late.use_count(), 1);
  a->go_away();
}

TEST(Guard, WhenItEndsThoseThatWaitAreRefused) {
  FakeGuardClock clock;
  std::vector<ExchangePtr> work;
  auto guard = std::make_unique<Guard>(guard_options(1), clock);
  const Handler handler = guarded([&](ExchangePtr e) { work.push_back(std::move(e)); }, *guard);
  const auto a = fake_exchange("GET");
  const auto b = fake_exchange("GET");
  handler(a);
  handler(b);
  guard.reset();
  EXPECT_EQ(b->status(), 503);
  work[0]->respond({});  // Work that is under way goes on.
  EXPECT_EQ(a->status(), 200);
}

}  // namespace
}  // namespace damper::http
