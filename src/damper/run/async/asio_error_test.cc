#include "damper/run/async/asio_error.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <system_error>

namespace damper {
namespace {

namespace asio = boost::asio;
using decide::Outcome;

Outcome outcome_of(const boost::system::error_code& error) {
  return failed(error).error.report.outcome;
}

TEST(AsioError, IsClassifiedByItsCode) {
  EXPECT_EQ(outcome_of(asio::error::connection_refused), Outcome::unavailable);
  EXPECT_EQ(outcome_of(asio::error::connection_reset), Outcome::transient);
  EXPECT_EQ(outcome_of(asio::error::timed_out), Outcome::timeout);
  EXPECT_EQ(outcome_of(asio::error::operation_aborted), Outcome::cancelled);
  EXPECT_EQ(outcome_of(asio::error::access_denied), Outcome::permanent);
}

TEST(AsioError, AnEndOfStreamIsAConnectionThatWasClosedOnUs) {
  EXPECT_EQ(outcome_of(asio::error::eof), Outcome::transient);
}

TEST(AsioError, WithoutAnAddressNothingWasSent) {
  EXPECT_EQ(outcome_of(asio::error::host_not_found), Outcome::unavailable);
  EXPECT_EQ(outcome_of(asio::error::host_not_found_try_again), Outcome::unavailable);
}

TEST(AsioError, KeepsTheCodeAndTheException) {
  Unexpected<Failure> failure = failed(decide::Outcome::success);
  try {
    throw boost::system::system_error(asio::error::connection_refused);
  } catch (...) {
    failure = run::failed_by_asio_exception();
  }
  EXPECT_EQ(failure.error.error, std::errc::connection_refused);
  EXPECT_EQ(failure.error.report.outcome, Outcome::unavailable);
  EXPECT_THROW(std::rethrow_exception(failure.error.exception), boost::system::system_error);
}

TEST(AsioError, OtherExceptionsAreWhatTheyAreElsewhere) {
  try {
    throw std::system_error(std::make_error_code(std::errc::timed_out));
  } catch (...) {
    EXPECT_EQ(run::failed_by_asio_exception().error.report.outcome, Outcome::timeout);
  }
  try {
    throw std::runtime_error("no");
  } catch (...) {
    EXPECT_EQ(run::failed_by_asio_exception().error.report.outcome, Outcome::permanent);
  }
}

}  // namespace
}  // namespace damper
