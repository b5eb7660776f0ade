#include "damper/run/attempt.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
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

TEST(AttemptOnce, APlainValueNothingAReportAndAnErrorCodeAreResults) {
  const auto once = [](auto operation) {
    return attempt_once<OperationValue<decltype(operation)>>(
        operation, kAttempt, {.retries = true, .unsent = true}, kName);
  };
  EXPECT_EQ(*once([](const Attempt&) { return 7; }), 7);
  EXPECT_EQ(**once([](const Attempt&) { return std::make_unique<int>(7); }), 7);
  static const std::string kText = "seven";
  const auto by_reference = [](const Attempt&) -> const std::string& { return kText; };
  static_assert(std::is_same_v<OperationValue<decltype(by_reference)>, std::string>);
  EXPECT_EQ(*once(by_reference), "seven");
  int ran = 0;
  const Result<Done> nothing = once([&](const Attempt&) { ++ran; });
  EXPECT_TRUE(nothing);
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(once([](const Attempt&) { throw std::logic_error("no"); }));
  EXPECT_TRUE(once([](const Attempt&) { return decide::Report{}; }));
  EXPECT_EQ(once([](const Attempt&) {
              return decide::Report{.outcome = Outcome::overload, .retry_after = 2s};
            })
                .error()
                .report.retry_after,
            2s);
  EXPECT_TRUE(once([](const Attempt&) { return std::error_code(); }));
  EXPECT_EQ(once([](const Attempt&) { return std::make_error_code(std::errc::timed_out); })
                .error()
                .report.outcome,
            Outcome::timeout);
  EXPECT_EQ(once([](const Attempt&) { return failed_http(404); }).error().status, 404);
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
