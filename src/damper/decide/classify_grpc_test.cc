#include "damper/decide/classify_grpc.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace damper::decide {
namespace {

TEST(ClassifyGrpc, EveryCodeIsInTheTable) {
  const std::array<Outcome, 17> table = {
      Outcome::success,    // OK
      Outcome::cancelled,  // CANCELLED
      Outcome::permanent,  // UNKNOWN
      Outcome::permanent,  // INVALID_ARGUMENT
      Outcome::overload,   // DEADLINE_EXCEEDED
      Outcome::permanent,  // NOT_FOUND
      Outcome::permanent,  // ALREADY_EXISTS
      Outcome::permanent,  // PERMISSION_DENIED
      Outcome::overload,   // RESOURCE_EXHAUSTED
      Outcome::permanent,  // FAILED_PRECONDITION
      Outcome::conflict,   // ABORTED
      Outcome::permanent,  // OUT_OF_RANGE
      Outcome::permanent,  // UNIMPLEMENTED
      Outcome::permanent,  // INTERNAL
      Outcome::transient,  // UNAVAILABLE
      Outcome::permanent,  // DATA_LOSS
      Outcome::permanent,  // UNAUTHENTICATED
  };
  for (int code = 0; code < 17; ++code) {
    EXPECT_EQ(classify_grpc(code), table[static_cast<std::size_t>(code)]) << code;
  }
}

TEST(ClassifyGrpc, AnUnknownCodeIsPermanent) {
  for (const int code :
       {std::numeric_limits<int>::min(), -1, 17, 999, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(classify_grpc(code), Outcome::permanent) << code;
  }
}

}  // namespace
}  // namespace damper::decide
