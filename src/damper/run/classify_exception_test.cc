#include "damper/run/classify_exception.h"

#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>

#include "damper/run/blocking.h"

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using decide::Report;

// Three attempts without a wait, and a breaker that opens after three failures in a row.
engine::Policy policy() {
  engine::Policy policy;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1us, .cap = 1us};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  policy.breaker.emplace();
  policy.breaker->consecutive_failures = 3;
  return policy;
}

template <class Exception>
auto throwing(const Exception& exception) {
  return [exception](const Attempt&) -> Result<int> { throw exception; };
}

boost::system::system_error boosts(const boost::system::error_code& error) {
  return boost::system::system_error(error);
}

TEST(ClassifyException, BoostsCodesAreClassifiedInABlockingCall) {
  Dependency dependency("d", policy());
  const auto refused = call(dependency, {.idempotent = true},
                            throwing(boosts(boost::asio::error::connection_refused)));
  EXPECT_EQ(refused.attempts(), 3u);
  EXPECT_EQ(refused.failure()->report.outcome, Outcome::unavailable);
  EXPECT_EQ(refused.failure()->error, std::errc::connection_refused);
  EXPECT_THROW((void)refused.value(), boost::system::system_error);
  EXPECT_EQ(dependency.breaker().state(run::now()), admit::BreakerState::open);
}

TEST(ClassifyException, AsiosOwnCodesAreClassifiedAsInAnAsyncCall) {
  const auto outcome = [](const boost::system::error_code& error) {
    Dependency dependency("d");
    const auto result = call(dependency, throwing(boosts(error)));
    return result.failure()->report.outcome;
  };
  EXPECT_EQ(outcome(boost::asio::error::eof), Outcome::transient);
  EXPECT_EQ(outcome(boost::asio::error::host_not_found), Outcome::unavailable);
  EXPECT_EQ(outcome(boost::asio::error::host_not_found_try_again), Outcome::unavailable);
  EXPECT_EQ(outcome(boost::asio::error::timed_out), Outcome::timeout);
  EXPECT_EQ(outcome(boost::asio::error::connection_reset), Outcome::transient);
  EXPECT_EQ(outcome(boost::asio::error::access_denied), Outcome::permanent);
}

TEST(ClassifyException, TrapE1_WhatIsUnknownGivesNoVerdictToTheBreaker) {
  engine::Policy half = policy();
  half.breaker->consecutive_failures = 2;
  Dependency dependency("d", half);
  // Neither a failure nor a success: it does not break the row of failures.
  (void)call(dependency, [](const Attempt&) { return Outcome::transient; });
  EXPECT_EQ(call(dependency, throwing(std::runtime_error("connection reset"))).verdict(),
            Verdict::permanent);
  EXPECT_EQ(dependency.breaker().state(run::now()), admit::BreakerState::closed);
  EXPECT_EQ(dependency.latencies().samples(run::now()), 0);
  (void)call(dependency, [](const Attempt&) { return Outcome::transient; });
  EXPECT_EQ(dependency.breaker().state(run::now()), admit::BreakerState::open);
}

TEST(ClassifyException, TrapE2_ACancellationThatNobodyAskedForIsATimeout) {
  const auto ends = [](const auto& exception) {
    Dependency dependency("d", policy());
    const auto result = call(dependency, {.idempotent = true}, throwing(exception));
    EXPECT_EQ(result.attempts(), 3u);
    EXPECT_EQ(dependency.breaker().state(run::now()), admit::BreakerState::open);
    return result.failure()->report.outcome;
  };
  EXPECT_EQ(ends(boosts(boost::asio::error::operation_aborted)), Outcome::timeout);
  EXPECT_EQ(ends(std::system_error(ECANCELED, std::generic_category())), Outcome::timeout);
  Dependency dependency("d", policy());
  const auto returned = call(dependency, {.idempotent = true}, [](const Attempt&) {
    return std::make_error_code(std::errc::operation_canceled);
  });
  EXPECT_EQ(returned.verdict(), Verdict::attempts_spent);
  EXPECT_EQ(returned.failure()->report.outcome, Outcome::timeout);
}

TEST(ClassifyException, ACancellationThatWasAskedForIsOne) {
  engine::Policy hasty = policy();
  hasty.breaker->consecutive_failures = 1;
  Dependency dependency("d", hasty);
  std::stop_source stop;
  const auto stopped =
      call(dependency, {.idempotent = true, .stop = stop.get_token()}, [&](const Attempt&) {
        stop.request_stop();
        return std::make_error_code(std::errc::operation_canceled);
      });
  EXPECT_EQ(stopped.verdict(), Verdict::cancelled);
  EXPECT_EQ(stopped.attempts(), 1u);
  ASSERT_NE(stopped.failure(), nullptr);
  EXPECT_EQ(stopped.failure()->report.outcome, Outcome::cancelled);
  EXPECT_EQ(dependency.breaker().state(run::now()), admit::BreakerState::closed);
  EXPECT_EQ(dependency.latencies().samples(run::now()), 0);
  // An operation that says so itself is believed.
  const auto said =
      call(dependency, {.idempotent = true}, [](const Attempt&) { return Outcome::cancelled; });
  EXPECT_EQ(said.verdict(), Verdict::cancelled);
}

struct Busy : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct VeryBusy : Busy {
  using Busy::Busy;
};
struct Told : std::exception {};
struct Coded : boost::system::system_error {
  using boost::system::system_error::system_error;
};

TEST(ClassifyException, AnExceptionOfTheCallersIsClassifiedByItsFunction) {
  const auto report_of = [](const auto& exception) {
    Dependency dependency("d");
    return call(dependency, throwing(exception)).failure()->report;
  };
  EXPECT_EQ(report_of(Busy("a")).outcome, Outcome::permanent);
  EXPECT_TRUE(report_of(Busy("a")).unknown);
  classify<Busy>([](const Busy& busy) {
    return busy.what() == std::string("a") ? Outcome::transient : Outcome::overload;
  });
  EXPECT_EQ(report_of(Busy("a")).outcome, Outcome::transient);
  EXPECT_FALSE(report_of(Busy("a")).unknown);
  EXPECT_EQ(report_of(VeryBusy("b")).outcome, Outcome::overload);  // Derived from it.
  classify<VeryBusy>([](const VeryBusy&) { return Outcome::conflict; });
  EXPECT_EQ(report_of(VeryBusy("b")).outcome, Outcome::conflict);  // The later one.
  EXPECT_EQ(report_of(Busy("b")).outcome, Outcome::overload);
  classify<Told>(
      [](const Told&) { return Report{.outcome = Outcome::overload, .retry_after = 3s}; });
  EXPECT_EQ(report_of(Told()).retry_after, 3s);
  EXPECT_TRUE(report_of(std::logic_error("other")).unknown);
}

TEST(ClassifyException, TheCallersFunctionCountsMoreThanTheCode) {
  classify<Coded>([](const Coded&) { return Outcome::overload; });
  Dependency dependency("d");
  const Coded refused(boost::asio::error::connection_refused);
  EXPECT_EQ(call(dependency, throwing(refused)).failure()->report.outcome, Outcome::overload);
}

TEST(ClassifyException, AClassifierThatThrowsHasClassifiedNothing) {
  struct Odd {};
  classify<Odd>([](const Odd&) -> Outcome { throw std::logic_error("no"); });
  Dependency dependency("d");
  const auto result = call(dependency, throwing(Odd()));
  EXPECT_TRUE(result.failure()->report.unknown);
  EXPECT_THROW((void)result.value(), Odd);
}

}  // namespace
}  // namespace damper
