#include "damper/lab/published/published.h"

#include <gtest/gtest.h>

#include <set>

#include "damper/lab/published/published_study.h"
#include "damper/lab/published/published_testing.h"

namespace damper::lab {
namespace {

TEST(Published, EveryPublishedResultHasItsRowsEachWithItsSourceAndBoundsAroundIt) {
  std::set<std::string> results;
  std::set<std::string> names;
  for (const PublishedRow& row : published_rows()) {
    results.insert(row.result);
    EXPECT_TRUE(names.insert(row.result + ": " + row.what).second) << row.what;
    EXPECT_FALSE(row.source.empty()) << row.what;
    EXPECT_FALSE(row.tolerance.empty()) << row.what;
    EXPECT_LT(row.low, row.high) << row.what;
    EXPECT_TRUE(row.low <= row.theirs && row.theirs <= row.high) << row.what;
  }
  EXPECT_EQ(results.size(), 11U);
  EXPECT_EQ(names.size(), 60U);
}

TEST(Published, TheNumbersAreThoseThatWerePublished) {
  double sum = 0;
  for (const PublishedRow& row : published_rows()) {
    if (row.what == "calls, full, N = 100") {
      EXPECT_EQ(row.theirs, 795.56);
    }
    if (row.what == "time, exponential, N = 100") {
      EXPECT_EQ(row.theirs, 63508.98);
    }
    if (row.what == "P(collapsed at the end)") {
      EXPECT_EQ(row.theirs, 0.740);
    }
    if (row.judged && row.result == "Layers") sum += row.theirs;
  }
  EXPECT_NEAR(sum, 27 + 64 + 243 + 1.331 + 1.61051, 1e-9);
}

TEST(Published, OnlyChoosesByResultRowOrRunWhateverTheCase) {
  EXPECT_EQ(reproduce({.only = "CODEL", .most_runs = 1}).rows.size(), 2U);
  EXPECT_EQ(reproduce({.only = "calls, full, n = 50", .most_runs = 1}).rows.size(), 1U);
  const Reproduction runs = reproduce({.only = "aws-occ/full, 50", .most_runs = 2});
  ASSERT_EQ(runs.rows.size(), 2U);
  EXPECT_EQ(runs.runs, 2U);
  EXPECT_EQ(runs.rows[0].how, "2 runs of aws-occ/full, 50 clients");
  EXPECT_TRUE(reproduce({.only = "no such row"}).rows.empty());
}

TEST(Published, TheNumbersDoNotDependOnTheNumberOfThreads) {  // invariant (1)
  const ReproduceOptions options{.only = "AWS", .most_runs = 5};
  ReproduceOptions alone = options;
  alone.threads = 1;
  ReproduceOptions four = options;
  four.threads = 4;
  const Reproduction a = reproduce(alone);
  const Reproduction b = reproduce(four);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].ours, b.rows[i].ours) << a.rows[i].row.what;
    EXPECT_EQ(a.rows[i].interval.low, b.rows[i].interval.low) << a.rows[i].row.what;
  }
}

TEST(Published, AStoppedOneHasTheRowsWhoseRunsAreAllThereAndNoOther) {  // invariant (2)
  std::atomic<bool> stop = true;
  const Reproduction none = reproduce({.only = "AWS", .stop = &stop, .most_runs = 3});
  EXPECT_TRUE(none.interrupted);
  EXPECT_FALSE(none.holds());
  EXPECT_TRUE(none.rows.empty());
  EXPECT_EQ(none.asked, 33U);

  stop = false;
  std::size_t told = 0;
  const Reproduction some = reproduce({.only = "AWS",
                                       .threads = 1,
                                       .stop = &stop,
                                       .on_progress =
                                           [&](std::size_t done, std::size_t of) {
                                             told = of;
                                             if (done >= 1) stop = true;
                                           },
                                       .most_runs = 400});
  EXPECT_EQ(told, 4400U);
  if (some.interrupted) {  // As good as always: all of it takes seconds.
    EXPECT_LT(some.runs, some.asked);
    EXPECT_LE(some.rows.size() / 2 * 400, some.runs);
    EXPECT_GE((some.rows.size() / 2 + 1) * 400, some.runs);
  }
}

TEST(Published, RunsHaveTheSeedsFromOneOn) {
  for (const Study& study : backoff_studies()) {
    if (study.of != "aws-occ/full") continue;
    EXPECT_EQ(reproduced_row("calls, full, N = 100", 1).ours, study.run({.seed = 1}).values.at(0));
  }
}

TEST(Published, ARowThatIsOutsideItsBoundsIsNotWithin) {
  const ReproducedRow row = reproduced_row("time, decorrelated, N = 100, cap 2 s", 400);
  EXPECT_LT(row.ours, row.row.low);
  EXPECT_FALSE(row.within);
}

TEST(Published, ARowIsWithinWhenOursIsBetweenTheBoundsAndOthersAreNotJudged) {
  Reproduction made;
  made.rows.resize(3);
  made.rows[0].within = true;
  made.rows[1].row.judged = false;
  made.rows[1].within = true;
  EXPECT_EQ(made.judged(), 2U);
  EXPECT_EQ(made.within(), 1U);
  EXPECT_FALSE(made.holds());
  made.rows[2].within = true;
  EXPECT_TRUE(made.holds());

  const ReproducedRow row = reproduced_row("attempts, p = 1, three retries", 1);
  EXPECT_EQ(row.ours, 4);
  EXPECT_TRUE(row.within);
  EXPECT_EQ(row.how, "1 run of bucket-vs-breaker/three, errors 100%");
}

}  // namespace
}  // namespace damper::lab
