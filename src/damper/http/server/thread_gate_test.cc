#include "damper/http/server/thread_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "damper/run/clock.h"
#include "damper/run/inherited.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ThreadGateOptions fixed(std::int32_t limit) {
  ThreadGateOptions options;
  options.limit.kind = admit::LimitKind::fixed;
  options.limit.initial = limit;
  return options;
}

TEST(ThreadGate, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(ThreadGateOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.needed = Duration{0}}), "needed is 0s; it must be from 1ns to 1h");
  EXPECT_EQ(find_error({.retry_after = Duration{0}}),
            "retry_after is 0s; it must be from 1ns to 24h");
  EXPECT_EQ(find_error({.overload_status = 200}), "overload_status is 200; it must be 503 or 429");
}

TEST(ThreadGate, ATicketIsAPlaceForAsLongAsItLives) {  // Invariant (1)
  ThreadGate gate(fixed(1));
  {
    const auto first = gate.try_enter({}, run::now());
    ASSERT_TRUE(first);
    EXPECT_EQ(gate.in_flight(), 1);
    const auto second = gate.try_enter({}, run::now());
    EXPECT_FALSE(second);
    EXPECT_EQ(second.verdict(), Verdict::limited);
    EXPECT_EQ(second.status(), 503);
    EXPECT_GE(second.retry_after(), seconds(1));
  }
  EXPECT_EQ(gate.in_flight(), 0);
  EXPECT_TRUE(gate.try_enter({}, run::now()));
  EXPECT_EQ(gate.tally().requests(Verdict::success), 2U);
  EXPECT_EQ(gate.tally().requests(Verdict::limited), 1U);
}

TEST(ThreadGate, ADeadlineThatHasPassedIsRefusedBeforeWork) {  // Invariant (2), traps D1 and D3
  ThreadGate gate(fixed(1));
  const std::vector<Field> fields = {{"x-request-deadline", "100"}};
  const auto enter = [&](std::int64_t now_ms) {
    const auto ticket = gate.try_enter(fields, {Instant{seconds(1)}, UnixTime{}},
                                       Instant{seconds(1)} + milliseconds(now_ms), 0.5);
    return ticket.verdict();
  };
  EXPECT_EQ(enter(99), Verdict::none);
  EXPECT_EQ(enter(100), Verdict::deadline_passed);
  const auto close = gate.try_enter(fields, {Instant{seconds(1)}, UnixTime{}},
                                    Instant{seconds(1)} + milliseconds(99) + Duration{1}, 0.5);
  EXPECT_EQ(close.verdict(), Verdict::deadline_too_close);
  EXPECT_EQ(close.status(), 504);
  EXPECT_EQ(gate.in_flight(), 0);
  EXPECT_EQ(gate.tally().overruns, 1U);  // The first one's: it ended long after 1.1 s.
}

TEST(ThreadGate, CallsInsideInheritTheDeadlineAndTheOwner) {
  ThreadGate gate(fixed(1));
  const std::vector<Field> fields = {{"x-request-deadline", "500"}, {"damper-retry-owner", "edge"}};
  const Instant arrived = run::now();
  {
    const auto ticket = gate.try_enter(fields, arrived);
    EXPECT_EQ(run::Scope::deadline().at(), arrived + milliseconds(500));
    EXPECT_TRUE(run::Scope::owned_above());
    EXPECT_EQ(ticket.inherited().retry_owner, "edge");
    ASSERT_NE(run::Scope::inherited(), nullptr);
    EXPECT_EQ(run::Scope::inherited()->retry_owner, "edge");  // It is passed on.
  }
  EXPECT_EQ(run::Scope::inherited(), nullptr);
  EXPECT_EQ(run::Scope::deadline().at(), kNever);
}

TEST(ThreadGate, NeverMoreThanTheLimitAreInsideAtOnce) {  // Invariant (1), with threads
  ThreadGate gate(fixed(3));
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        auto ticket = gate.try_enter({}, run::now());
        if (!ticket) continue;
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        if (round % 7 == 0) ticket.abandon();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(gate.in_flight(), 0);
  EXPECT_EQ(gate.tally().requests(Verdict::success) + gate.tally().requests(Verdict::limited),
            8000U);
}

}  // namespace
}  // namespace damper::http
