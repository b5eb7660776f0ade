#include "damper/policy/import/import_draft.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

// A file of one route, "r".
Imported file_of(const Draft& draft, ImportNotes& notes) {
  Drafts drafts(notes);
  drafts.add("r", {1, 1}, draft);
  EXPECT_FALSE(notes.error());
  Imported imported = drafts.take("f");
  expect_loads_back(imported, From::envoy);
  return imported;
}

TEST(Draft, AValueOutOfBoundsIsHeldAtTheBoundWithANote) {
  ImportNotes notes("f");
  Draft draft(notes);
  draft.set("retry_policy.num_retries", 100, {3, 4});
  draft.set("retry_budget.window", 1ms, {4, 4});
  draft.set_ratio("retry_budget.budget_percent", {50.0, {5, 4}});
  const Imported imported = file_of(draft, notes);
  EXPECT_EQ(said(imported, "r", ""), "num_retries 99@3, budget_percent 1000@5, window 1s@4");
  EXPECT_EQ(notes_at(imported, {3, 4}),
            "retry_policy.num_retries becomes 99: it must be a whole number from 0 to 99\n");
  EXPECT_EQ(notes_at(imported, {4, 4}),
            "retry_budget.window becomes 1s: it must be a duration from 1s to 1h, such as 250ms, "
            "2s or 1.5m\n");
  EXPECT_EQ(notes_with(imported, "retry_budget.budget_percent becomes 1000 %"), 1);
  EXPECT_EQ(imported.notes.size(), 3U);
}

TEST(Draft, AtTheBoundThereIsNoNote) {
  ImportNotes notes("f");
  Draft draft(notes);
  draft.set("retry_policy.num_retries", 99, {3, 4});
  draft.set("retry_budget.min_retry_concurrency", -1);  // off
  EXPECT_EQ(file_of(draft, notes).notes.size(), 0U);
}

TEST(Draft, ARatioIsRoundedToHundredthsOfAPercent) {
  ImportNotes notes("f");
  Draft draft(notes);
  draft.set_ratio("retry_budget.budget_percent", {0.29, {}});
  EXPECT_EQ(draft.raw("retry_budget.budget_percent"), 2900);
  draft.set_ratio("retry_budget.budget_percent", {1.0 / 3, {}});
  EXPECT_EQ(draft.raw("retry_budget.budget_percent"), 3333);
}

TEST(Draft, AddTakesOnlyWhatIsNotSaid) {
  ImportNotes notes("f");
  Draft one(notes);
  Draft two(notes);
  one.set("timeout", 2s, {1, 1});
  two.set("timeout", 9s, {2, 2});
  two.set("circuit_breaker.window", 7s, {3, 3});
  one.add(two);
  EXPECT_EQ(one.place_of("timeout"), (config::SourceLocation{1, 1}));
  const Imported imported = file_of(one, notes);
  EXPECT_EQ(said(imported, "r", ""), "timeout 2s@1, window 7s@3");
  EXPECT_TRUE(imported.file.routes[0].settings.policy.breaker.has_value());
}

TEST(Draft, ATimeoutUnderWhatAnAttemptNeedsLowersThat) {
  ImportNotes notes("f");
  Draft draft(notes);
  draft.set("timeout", 10us, {2, 2});
  EXPECT_EQ(said(file_of(draft, notes), "r", ""), "timeout 10us@2, attempt_needs 10us@2");
}

TEST(Draft, AKeyThatMayNotBeUnderAnotherOneIsLifted) {
  ImportNotes notes("f");
  Draft draft(notes);
  draft.set("retry_policy.retry_back_off.base_interval", 2s, {2, 2});
  draft.set("retry_policy.retry_back_off.max_interval", 1s, {3, 3});
  const Imported imported = file_of(draft, notes);
  EXPECT_EQ(said(imported, "r", ""), "base_interval 2s@2, max_interval 2s@3");
  EXPECT_EQ(notes_at(imported, {3, 3}),
            "retry_policy.retry_back_off.max_interval becomes 2s: it may not be under "
            "base_interval\n");
}

TEST(Drafts, EachRouteHasANameOfItsOwn) {  // Invariant (1).
  ImportNotes notes("f");
  Drafts drafts(notes);
  for (const char* name : {"a", "a:2", "a", "a", "b c", "b-c"}) {
    drafts.add(name, {1, 1}, Draft(notes));
  }
  drafts.add(std::string(150, 'x'), {1, 1}, Draft(notes));
  drafts.add(std::string(150, 'x'), {1, 1}, Draft(notes));
  const Imported imported = drafts.take("f");
  EXPECT_EQ(names_of(imported),
            "a a:2 a:3 a:4 b-c b-c:2 " + std::string(100, 'x') + ' ' + std::string(98, 'x') + ":2");
  expect_loads_back(imported, From::grpc);
}

TEST(Drafts, HoldAThousandRoutes) {
  ImportNotes notes("f");
  Drafts drafts(notes);
  for (int i = 0; i < 1000; ++i) drafts.add("r", {i + 1, 1}, Draft(notes));
  EXPECT_FALSE(notes.error());
  drafts.add("r", {1001, 1}, Draft(notes));
  EXPECT_EQ(drafts.size(), 1000U);
  EXPECT_EQ(to_string(*notes.error()),
            "f:1001:1: is more than a policy file can hold: at most 1000 routes");
}

}  // namespace
}  // namespace damper::policy
