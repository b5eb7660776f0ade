#include "damper/decide/outcome.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace damper::decide {
namespace {

using namespace std::chrono_literals;

const std::vector<Outcome> kAll = {Outcome::success,   Outcome::transient,   Outcome::timeout,
                                   Outcome::overload,  Outcome::unavailable, Outcome::conflict,
                                   Outcome::permanent, Outcome::cancelled};

TEST(Outcome, EachHasANameOfItsOwn) {
  EXPECT_EQ(name(Outcome::success), "success");
  EXPECT_EQ(name(Outcome::unavailable), "unavailable");
  EXPECT_EQ(name(Outcome::cancelled), "cancelled");
  std::set<std::string_view> names;
  for (const Outcome outcome : kAll) names.insert(name(outcome));
  EXPECT_EQ(names.size(), kOutcomeNames.size());
}

TEST(Outcome, OverloadIsNotRetriedByDefault) {
  std::vector<Outcome> retryable;
  for (const Outcome outcome : kAll) {
    if (kRetryableByDefault.contains(outcome)) retryable.push_back(outcome);
  }
  EXPECT_EQ(retryable, (std::vector{Outcome::transient, Outcome::timeout, Outcome::unavailable}));
}

TEST(Outcome, AConflictOrAPermanentErrorIsNoFailureOfTheDependency) {
  std::vector<Outcome> failures;
  for (const Outcome outcome : kAll) {
    if (is_failure(outcome)) failures.push_back(outcome);
  }
  EXPECT_EQ(failures, (std::vector{Outcome::transient, Outcome::timeout, Outcome::overload,
                                   Outcome::unavailable}));
}

TEST(OutcomeSet, HoldsExactlyWhatItWasGiven) {
  for (const Outcome member : kAll) {
    const OutcomeSet set{member};
    for (const Outcome outcome : kAll) EXPECT_EQ(set.contains(outcome), outcome == member);
  }
  EXPECT_FALSE(OutcomeSet{}.contains(Outcome::success));
  EXPECT_EQ((OutcomeSet{Outcome::timeout, Outcome::overload}),
            (OutcomeSet{Outcome::overload, Outcome::timeout, Outcome::timeout}));
}

TEST(Report, ZeroIsAWordOfTheServerToo) {
  EXPECT_FALSE(Report{}.server_said_when());
  EXPECT_TRUE(Report{.retry_after = 0s}.server_said_when());
  EXPECT_TRUE(Report{.retry_after = kForever}.server_said_when());
}

}  // namespace
}  // namespace damper::decide
