#include "damper/policy/import/import_terms.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

struct Sketch {
  ImportNotes notes{"f"};
  Draft draft{notes};

  // What the draft says as a route, and what was noted.
  std::string said(std::string_view prefix) {
    Drafts drafts(notes);
    drafts.add("r", {1, 1}, draft);
    imported = drafts.take("f");
    expect_loads_back(imported, From::envoy);
    return policy::said(imported, "r", prefix);
  }
  Imported imported;
};

TEST(ImportTerms, EnvoysWordsAreOurs) {
  Sketch sketch;
  set_retry_on(sketch.draft, " 5xx, reset ,unavailable", {2, 2}, {}, sketch.notes);
  EXPECT_EQ(sketch.said("retry_policy"), "retry_on \"5xx, reset, unavailable\"@2");
  EXPECT_EQ(sketch.imported.notes.size(), 0U);
}

TEST(ImportTerms, AWordThatIsNotKnownIsNotedAndSoIsOurOwn) {
  Sketch sketch;
  set_retry_on(sketch.draft, "retriable-headers,default", {2, 2}, {}, sketch.notes);
  EXPECT_EQ(sketch.said("retry_policy"), "retry_on \"\"@2");
  EXPECT_EQ(notes_at(sketch.imported, {2, 2}),
            "retry_on's \"retriable-headers\" has no equivalent and is left out\n"
            "retry_on's \"default\" has no equivalent and is left out\n");
}

TEST(ImportTerms, ANumberAmongTheWordsIsAStatus) {
  Sketch sketch;
  set_retry_on(sketch.draft, "503,200,429", {2, 2}, {}, sketch.notes);
  EXPECT_EQ(sketch.said("retry_policy"),
            "retry_on \"retriable-status-codes\"@2, retriable_status_codes [429, 503]@2");
  EXPECT_EQ(notes_with(sketch.imported, "status 200 has no equivalent: only 400 to 599"), 1);
  EXPECT_EQ(notes_with(sketch.imported, "status 429: it says that the dependency is overl"), 1);
  EXPECT_EQ(sketch.imported.notes.size(), 2U);
}

TEST(ImportTerms, GrpcsCodesAreNamesOrNumbers) {
  const auto codes = config::parse_yaml("[UNAVAILABLE, 13, ABORTED, DEADLINE_EXCEEDED]", "f");
  Sketch sketch;
  set_grpc_codes(sketch.draft, codes->items, {1, 1}, sketch.notes);
  EXPECT_EQ(sketch.said("retry_policy"), "retry_on \"deadline-exceeded, internal, unavailable\"@1");
  EXPECT_EQ(notes_at(sketch.imported, {1, 19}),
            "ABORTED has no equivalent in retry_on and is left out: it is not retried\n");
  EXPECT_EQ(notes_with(sketch.imported, "DEADLINE_EXCEEDED: the call's own time is over"), 1);
}

TEST(ImportTerms, ACodeThatGrpcDoesNotHaveIsAnError) {
  for (const char* text : {"[unavailable]", "[17]", "[-1]", "[[]]", "[~]"}) {
    const auto codes = config::parse_yaml(text, "f");
    Sketch sketch;
    set_grpc_codes(sketch.draft, codes->items, {1, 1}, sketch.notes);
    ASSERT_TRUE(sketch.notes.error()) << text;
    EXPECT_EQ(to_string(*sketch.notes.error()).substr(0, 44),
              "f:1:2: a status code must be one of gRPC's, ");
  }
}

TEST(ImportTerms, NoTimeoutIsTheLongest) {
  Sketch none;
  set_timeout(none.draft, std::nullopt, {2, 2}, "X", none.notes);
  EXPECT_EQ(none.said(""), "timeout 720h");
  EXPECT_EQ(notes_with(none.imported, "without a timeout X waits for ever"), 1);
  Sketch zero;
  set_timeout(zero.draft, Placed<Duration>{0s, {3, 3}}, {3, 3}, "X", zero.notes);
  EXPECT_EQ(zero.said(""), "timeout 720h@3");
  Sketch some;
  set_timeout(some.draft, Placed<Duration>{3s, {3, 3}}, {3, 3}, "X", some.notes);
  EXPECT_EQ(some.said(""), "timeout 3s@3");
  EXPECT_EQ(some.imported.notes.size(), 0U);
}

TEST(ImportTerms, NoBudgetRefusesNothing) {
  Sketch sketch;
  set_no_budget(sketch.draft, {2, 2}, "X", sketch.notes);
  EXPECT_EQ(sketch.said(""), "budget_percent 1000, min_retries_per_second 10000");
  admit::RetryBudget budget(sketch.imported.file.routes[0].settings.policy.budget);
  for (int i = 0; i < 99; ++i)
    EXPECT_TRUE(budget.try_withdraw(Instant{}));  // One call, 99 retries.
}

TEST(ImportTerms, MaxRetriesBoundsThoseUnderWayAlone) {
  Sketch sketch;
  set_max_retries(sketch.draft, {3, {2, 2}}, {2, 2}, sketch.notes);
  EXPECT_EQ(sketch.said(""),
            "budget_percent 0, min_retries_per_second 10000, min_retry_concurrency 3@2");
  admit::RetryBudget budget(sketch.imported.file.routes[0].settings.policy.budget);
  admit::RetryBudget::Grant last;
  for (int i = 0; i < 3; ++i) {
    last = budget.try_withdraw(Instant{}, 1000);
    EXPECT_TRUE(last);
  }
  EXPECT_FALSE(budget.try_withdraw(Instant{}, 1000));  // However many requests are under way.
  for (int i = 0; i < 500; ++i) {                      // Trap B4: as fast as they fail.
    budget.on_retry_done(last);
    last = budget.try_withdraw(Instant{}, 1000);
    EXPECT_TRUE(last);
  }
}

TEST(ImportTerms, AFixedLimitIsHeldOnceAtItsBound) {
  Sketch sketch;
  set_max_requests(sketch.draft, {4'000'000'000, {2, 2}});
  EXPECT_EQ(sketch.said(""), "kind fixed, initial 100000@2, max 100000@2");
  EXPECT_EQ(sketch.imported.notes.size(), 1U);
}

TEST(ImportTerms, AHedgeGoesAfterItsDelay) {
  Sketch sketch;
  set_hedge(sketch.draft, 2, {50ms, {2, 2}});
  sketch.said("");
  const auto& hedge = sketch.imported.file.routes[0].settings.policy.call.hedge;
  EXPECT_EQ(hedge.max_hedges, 2);
  EXPECT_EQ(hedge.ratio, Percent(100));
  EXPECT_EQ(schedule::hedge_delay(hedge, Duration{3ms}, 1s), Duration{50ms});
}

TEST(ImportTerms, EjectionIsABreaker) {
  Sketch sketch;
  set_ejection(sketch.draft, {}, {2, 2}, sketch.notes);
  EXPECT_EQ(sketch.said(""),
            "failure_rate 100, consecutive_failures 5, window 10s, open_base 30s, open_cap 5m");
  EXPECT_EQ(notes_with(sketch.imported, "outlier detection takes single hosts out"), 1);
}

TEST(ImportTerms, EjectionThatCountsNothingInARowAndNoRateNeverTrips) {
  Sketch sketch;
  set_ejection(sketch.draft, {.consecutive = {.value = 0}}, {2, 2}, sketch.notes);
  EXPECT_EQ(sketch.said(""),
            "failure_rate 100, consecutive_failures off, window 10s, minimum_volume 1000000, "
            "open_base 30s, open_cap 5m");
}

TEST(ImportTerms, TheLongestEjectionIsNotUnderTheFirst) {
  Sketch sketch;
  set_ejection(sketch.draft, {.base = {.value = 15min}}, {2, 2}, sketch.notes);
  EXPECT_EQ(sketch.said("circuit_breaker.open"), "open_base 15m, open_cap 15m");
}

}  // namespace
}  // namespace damper::policy
