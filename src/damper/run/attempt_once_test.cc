#include "damper/run/attempt_once.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace damper::run {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

const engine::Attempt kSent{.number = 1, .deadline = Instant{5s}};
const std::stop_token kNoStop;
const std::string kName = "billing";
const Attempt kAttempt(kSent, kNoStop);

TEST(AttemptOnce, AnOutcomeBecomesAResult) {
  auto good = [](const Attempt&) { return Outcome::success; };
  auto bad = [](const Attempt&) { return Outcome::conflict; };
  static_assert(std::is_same_v<OperationValue<decltype(good)>, Done>);
  EXPECT_TRUE(attempt_once<Done>(good, kAttempt, {.retries = true, .unsent = true}, kName));
  EXPECT_EQ(attempt_once<Done>(bad, kAttempt, {.retries = true, .unsent = true}, kName)
                .error()
                .report.outcome,
            Outcome::conflict);
}

TEST(AttemptOnce, AResultPassesAndAnExceptionBecomesOne) {
  auto value = [](const Attempt& attempt) -> Result<std::uint32_t> { return attempt.number(); };
  auto throws = [](const Attempt&) -> Result<int> { throw std::logic_error("no"); };
  EXPECT_EQ(*attempt_once<std::uint32_t>(value, kAttempt, {.retries = true, .unsent = true}, kName),
            1u);
  EXPECT_TRUE(attempt_once<int>(throws, kAttempt, {.retries = true, .unsent = true}, kName)
                  .error()
                  .exception);
}

TEST(AttemptOnce, RunsInsideAScopeThatEndsWithIt) {
  for (const bool owns : {true, false}) {
    auto look = [&](const Attempt&) -> Result<int> {
      EXPECT_EQ(Scope::deadline().at(), Instant{5s});
      EXPECT_EQ(Scope::owned_above(), owns);
      EXPECT_EQ(Scope::retry_owner(), owns ? "billing" : "");
      throw std::logic_error("no");
    };
    EXPECT_FALSE(attempt_once<int>(look, kAttempt, {.retries = owns, .unsent = owns}, kName));
    EXPECT_EQ(Scope::deadline(), schedule::Deadline());
  }
}

}  // namespace
}  // namespace damper::run
