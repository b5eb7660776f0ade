#include "damper/decide/judge.h"

#include <gtest/gtest.h>

namespace damper::decide {
namespace {

using namespace std::chrono_literals;

constexpr Request kSafe = {.idempotent = true};

TEST(Judge, TheOutcomeItselfEndsTheCall) {
  EXPECT_EQ(judge({.outcome = Outcome::success}, kSafe), Verdict::success);
  EXPECT_EQ(judge({.outcome = Outcome::cancelled}, kSafe), Verdict::cancelled);
  EXPECT_EQ(judge({.outcome = Outcome::permanent}, kSafe), Verdict::permanent);
  EXPECT_EQ(judge({.outcome = Outcome::conflict}, kSafe), Verdict::conflict);
}

TEST(Judge, NoPolicyMakesAConflictOrAPermanentErrorRetryable) {
  const Request request = {.idempotent = true,
                           .retryable = {Outcome::conflict, Outcome::permanent}};
  EXPECT_EQ(judge({.outcome = Outcome::conflict, .retry_after = 1s}, request), Verdict::conflict);
  EXPECT_EQ(judge({.outcome = Outcome::permanent, .retry_after = 1s}, request), Verdict::permanent);
}

TEST(Judge, AConflictIsRetriedByWhoReadsAgainForItWroteNothing) {  // Invariant (1).
  EXPECT_EQ(judge({.outcome = Outcome::conflict}, {.rereads = true}), Verdict::none);
  EXPECT_EQ(judge({.outcome = Outcome::conflict, .do_not_retry = true}, {.rereads = true}),
            Verdict::pushed_back);
  // No layer above can take this retry over: it does not reread.
  EXPECT_EQ(judge({.outcome = Outcome::conflict}, {.owned_above = true, .rereads = true}),
            Verdict::none);
  EXPECT_EQ(judge({.outcome = Outcome::permanent}, {.rereads = true}), Verdict::permanent);
  // Nothing but a conflict is its own.
  EXPECT_EQ(judge({.outcome = Outcome::transient},
                  {.idempotent = true, .owned_above = true, .rereads = true}),
            Verdict::layered);
}

TEST(Judge, WhatNeverLeftIsRetriedByOneLayerToo) {  // Invariant (4).
  const Request inner = {.unsent_owned_above = true};
  EXPECT_EQ(judge({.outcome = Outcome::unavailable}, inner), Verdict::layered);
  const Request repeatable = {.idempotent = true, .unsent_owned_above = true};
  EXPECT_EQ(judge({.outcome = Outcome::unavailable}, repeatable), Verdict::layered);
  EXPECT_EQ(judge({.outcome = Outcome::transient}, repeatable), Verdict::none);
}

TEST(Judge, WhatIsKnownToBeHarmlessIsRepeatedThoughTheRequestIsNotIdempotent) {  // Invariant (1).
  EXPECT_EQ(judge({.outcome = Outcome::timeout}, {}), Verdict::not_idempotent);
  EXPECT_EQ(judge({.outcome = Outcome::timeout, .harmless = true}, {}), Verdict::none);
  EXPECT_EQ(judge({.outcome = Outcome::permanent, .harmless = true}, {}), Verdict::permanent);
}

TEST(Judge, WhatCannotBeSentAgainIsNotEvenIfItNeverLeft) {  // Invariant (3).
  const Request gone = {.idempotent = true, .unrepeatable = true};
  EXPECT_EQ(judge({.outcome = Outcome::unavailable}, gone), Verdict::unrepeatable);
  EXPECT_EQ(judge({.outcome = Outcome::transient}, gone), Verdict::unrepeatable);
  EXPECT_EQ(judge({.outcome = Outcome::success}, gone), Verdict::success);
  EXPECT_EQ(judge({.outcome = Outcome::timeout}, {.unrepeatable = true}), Verdict::not_idempotent);
}

TEST(Judge, TransientTimeoutAndUnavailableAreWorthAnotherAttempt) {
  EXPECT_EQ(judge({.outcome = Outcome::transient}, kSafe), Verdict::none);
  EXPECT_EQ(judge({.outcome = Outcome::timeout}, kSafe), Verdict::none);
  EXPECT_EQ(judge({.outcome = Outcome::unavailable}, kSafe), Verdict::none);
}

// Invariant 2.
TEST(Judge, AnOverloadIsRetriedOnlyWhenTheServerSaysWhen) {
  EXPECT_EQ(judge({.outcome = Outcome::overload}, kSafe), Verdict::overload);
  EXPECT_EQ(judge({.outcome = Outcome::overload, .retry_after = 0s}, kSafe), Verdict::none);
  EXPECT_EQ(judge({.outcome = Outcome::overload, .retry_after = 3s}, kSafe), Verdict::none);
  const Request eager = {.idempotent = true, .retryable = {Outcome::overload}};
  EXPECT_EQ(judge({.outcome = Outcome::overload}, eager), Verdict::overload);
}

TEST(Judge, APushbackIsObeyedForEveryFailure) {
  for (const Outcome outcome :
       {Outcome::transient, Outcome::timeout, Outcome::overload, Outcome::unavailable}) {
    EXPECT_EQ(judge({.outcome = outcome, .do_not_retry = true}, kSafe), Verdict::pushed_back);
    EXPECT_EQ(judge({.outcome = outcome, .do_not_retry = true, .retry_after = 1s}, kSafe),
              Verdict::pushed_back);
    EXPECT_EQ(judge({.outcome = outcome, .do_not_retry = true}, Request{.retryable = {}}),
              Verdict::pushed_back);
  }
  EXPECT_EQ(judge({.outcome = Outcome::success, .do_not_retry = true}, kSafe), Verdict::success);
}

TEST(Judge, ThePolicySaysWhatIsRetryable) {
  const Request request = {.idempotent = true, .retryable = {Outcome::unavailable}};
  EXPECT_EQ(judge({.outcome = Outcome::transient}, request), Verdict::not_retryable);
  EXPECT_EQ(judge({.outcome = Outcome::unavailable}, request), Verdict::none);
  EXPECT_EQ(judge({.outcome = Outcome::transient, .retry_on_excluded = true}, kSafe),
            Verdict::not_retryable);
  EXPECT_EQ(
      judge({.outcome = Outcome::overload, .retry_on_excluded = true, .retry_after = 1s}, kSafe),
      Verdict::not_retryable);
}

// Invariant 1.
TEST(Judge, WhatIsNotIdempotentIsRepeatedOnlyWhenItNeverLeft) {
  EXPECT_EQ(judge({.outcome = Outcome::transient}, {}), Verdict::not_idempotent);
  EXPECT_EQ(judge({.outcome = Outcome::timeout}, {}), Verdict::not_idempotent);
  EXPECT_EQ(judge({.outcome = Outcome::overload, .retry_after = 1s}, {}), Verdict::not_idempotent);
  EXPECT_EQ(judge({.outcome = Outcome::unavailable}, {}), Verdict::none);
}

// Invariant 3.
TEST(Judge, ALayerBelowTheOwnerDoesNotRetry) {
  const Request request = {.idempotent = true, .owned_above = true};
  EXPECT_EQ(judge({.outcome = Outcome::transient}, request), Verdict::layered);
  EXPECT_EQ(judge({.outcome = Outcome::unavailable}, {.owned_above = true}), Verdict::layered);
  EXPECT_EQ(judge({.outcome = Outcome::transient}, {.owned_above = true}),
            Verdict::not_idempotent);  // Layered counts only retries that would have been made.
}

// Invariants 1 to 3, over every combination.
TEST(Judge, GoesOnOnlyWhenEveryConditionHolds) {
  int went_on = 0;
  for (unsigned bits = 0; bits < 512U; ++bits) {
    const auto flag = [bits](unsigned index) { return (bits >> index & 1U) != 0; };
    Report report = {.outcome = static_cast<Outcome>(bits % 8),
                     .do_not_retry = flag(3),
                     .retry_on_excluded = flag(4)};
    if (flag(5)) report.retry_after = 1s;
    Request request = {.idempotent = flag(6), .owned_above = flag(7)};
    OutcomeSet set;
    if (flag(8)) set = {report.outcome};
    request.retryable = set;
    const Verdict verdict = judge(report, request);
    if (verdict != Verdict::none) continue;
    ++went_on;
    EXPECT_TRUE(is_failure(report.outcome));
    EXPECT_TRUE(request.idempotent || report.outcome == Outcome::unavailable);
    EXPECT_TRUE(report.outcome != Outcome::overload || report.server_said_when());
    EXPECT_TRUE(report.outcome == Outcome::overload || request.retryable.contains(report.outcome));
    EXPECT_FALSE(report.do_not_retry || report.retry_on_excluded || request.owned_above);
  }
  // Of the 512: transient and timeout 2 each (the server's word or not), unavailable 4
  // (also idempotent or not), overload 2 (retryable or not).
  EXPECT_EQ(went_on, 10);
}

static_assert(noexcept(judge(Report{}, Request{})));
static_assert(judge({.outcome = Outcome::timeout}, kSafe) == Verdict::none);

}  // namespace
}  // namespace damper::decide
