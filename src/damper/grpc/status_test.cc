#include "damper/grpc/status.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace damper::grpc {
namespace {

TEST(GrpcStatus, AFailureKeepsTheStatus) {
  const ::grpc::Status status(::grpc::StatusCode::NOT_FOUND, "no such row");
  const Failure failure = failed(status, {.outcome = decide::Outcome::permanent}).error;
  EXPECT_EQ(failure.error.value(), 5);
  EXPECT_EQ(failure.error.category(), category());
  EXPECT_EQ(failure.error.message(), "NOT_FOUND");
  const auto found = find_status(failure);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->error_message(), "no such row");
  try {
    std::rethrow_exception(failure.exception);
  } catch (const StatusError& error) {
    EXPECT_STREQ(error.what(), "grpc: NOT_FOUND: no such row");
  }
}

TEST(GrpcStatus, OtherFailuresHaveNone) {
  EXPECT_FALSE(find_status(damper::failed(decide::Outcome::transient).error));
  Failure thrown = damper::failed(decide::Outcome::permanent).error;
  thrown.exception = std::make_exception_ptr(std::runtime_error("no"));
  EXPECT_FALSE(find_status(thrown));
}

TEST(GrpcStatus, ACodeOfALaterVersionIsANumber) {
  EXPECT_EQ(category().message(16), "UNAUTHENTICATED");
  EXPECT_EQ(category().message(17), "code 17");
  EXPECT_EQ(category().message(-1), "code -1");
  EXPECT_STREQ(category().name(), "grpc");
}

}  // namespace
}  // namespace damper::grpc
