#include "damper/lab/published/published_study.h"

#include <gtest/gtest.h>

#include "damper/base/portable_math.h"

namespace damper::lab {
namespace {

TEST(PublishedStudy, AMeanHasStudentsInterval) {
  const std::vector<Sample> samples = {{.values = {0, 1}}, {.values = {0, 2}}, {.values = {0, 3}}};
  const Estimate estimate = mean_of(1)(samples);
  EXPECT_EQ(estimate.value, 2);
  EXPECT_NEAR(estimate.interval.low, 2 - 4.303 / 1.7320508, 0.001);  // t(2) = 4.303, sem = 1/sqrt 3
  EXPECT_NEAR(estimate.interval.high, 2 + 4.303 / 1.7320508, 0.001);
}

TEST(PublishedStudy, AShareCountsAllRunsTogetherAndHasWilsonsInterval) {
  const std::vector<Sample> samples = {{.values = {7, 10}}, {.values = {1, 190}}};
  const Estimate estimate = share_of(0, 1, 100)(samples);
  EXPECT_EQ(estimate.value, 4);  // 8 of 200, not the mean of 70 % and 0.5 %
  const Interval wilson = Proportion{8, 200}.interval();
  EXPECT_EQ(estimate.interval.low, 100 * wilson.low);
  EXPECT_EQ(estimate.interval.high, 100 * wilson.high);
}

TEST(PublishedStudy, AQuantileIsThatOfAllLatenciesWithTheIntervalOfTheirRanks) {
  // The one of rank i takes e^(i / 500) us, so that ten ranks are 2 %.
  const auto of_rank = [](double i) { return math::exp(i / 500) / 1000; };
  std::vector<Sample> samples(2);
  for (int i = 1; i <= 10'000; ++i) {
    samples[static_cast<std::size_t>(i) % 2].latency.add(
        Duration{static_cast<std::int64_t>(of_rank(i) * 1e6)});
  }
  const Estimate estimate = quantile_of(Percent(90))(samples);
  EXPECT_NEAR(estimate.value, of_rank(9000), of_rank(9000) * 0.02);
  // 1.96 sqrt(0.9 * 0.1 / 10,000) is 0.59 %: the ranks 8941 to 9059.
  EXPECT_NEAR(estimate.interval.low, of_rank(8941), of_rank(8941) * 0.02);
  EXPECT_NEAR(estimate.interval.high, of_rank(9059), of_rank(9059) * 0.02);
  EXPECT_EQ(quantile_of(Percent(90))({}).value, 0);
}

TEST(PublishedStudy, ARunIsTheScenarioWithThatSeedAndOneThatIsStoppedIsNotWhole) {
  const Scenario scenario = builtin_variant("aws-occ", "full");
  const auto sampler = [](const Scenario&, const Record& record) {
    return Sample{.values = {static_cast<double>(record.clients[0].attempts),
                             static_cast<double>(record.last_end.count()) / 1e9}};
  };
  const Study study = study_of(scenario, 3, sampler, {}, ", again");
  EXPECT_EQ(study.of, "aws-occ/full, again");
  const Sample sample = study.run({.seed = 7});
  const Record record = play(scenario, {.seed = 7});
  EXPECT_TRUE(sample.whole);
  EXPECT_EQ(sample.values.at(0), static_cast<double>(record.clients[0].attempts));
  EXPECT_EQ(sample.values.at(1), static_cast<double>(record.last_end.count()) / 1e9);
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(study.run({.seed = 7, .stop = &stop}).whole);
}

TEST(PublishedStudy, ToleranceIsInPercentInAmountsOrInBounds) {
  const PublishedRow percent = within_percent({.theirs = 200}, 1);
  EXPECT_EQ(percent.low, 198);
  EXPECT_EQ(percent.high, 202);
  EXPECT_EQ(percent.tolerance, "± 1 %");
  const PublishedRow amount = within_amount({.unit = "%", .theirs = 3}, 0.5);
  EXPECT_EQ(amount.low, 2.5);
  EXPECT_EQ(amount.high, 3.5);
  EXPECT_EQ(amount.tolerance, "± 0.5 points");
  EXPECT_EQ(within_amount({.theirs = 3}, 0.5).tolerance, "± 0.5");
  const PublishedRow bounds = between_bounds({.theirs = 0.74}, 0.72, 0.76);
  EXPECT_EQ(bounds.low, 0.72);
  EXPECT_EQ(bounds.high, 0.76);
  EXPECT_EQ(bounds.tolerance, "0.72 to 0.76");
}

TEST(PublishedStudy, APolicyIsFoundByItsRouteOrIsTheOnlyOne) {
  Scenario hedge = builtin_variant("tail-hedge", "hedged");
  EXPECT_EQ(policy_of(hedge, "root").call.hedge.max_hedges, 0);
  EXPECT_EQ(policy_of(hedge, "leaf").call.hedge.max_hedges, 1);
  Scenario row = builtin_variant("aws-occ", "full");
  policy_of(row, "row").call.max_attempts = 17;
  EXPECT_EQ(row.policy_for("row").call.max_attempts, 17);
}

}  // namespace
}  // namespace damper::lab
