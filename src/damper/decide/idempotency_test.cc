#include "damper/decide/idempotency.h"

#include <gtest/gtest.h>

namespace damper::decide {
namespace {

TEST(Idempotency, KnowsTheIdempotentMethods) {
  for (const char* method : {"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"}) {
    EXPECT_TRUE(idempotent_method(method)) << method;
  }
  for (const char* method : {"POST", "PATCH", "CONNECT", "get", "Put", "GET ", "", "PROPFIND"}) {
    EXPECT_FALSE(idempotent_method(method)) << method;
  }
}

TEST(Idempotency, ByDefaultNothingIsRepeatable) { EXPECT_FALSE(Idempotency{}.repeatable()); }

TEST(Idempotency, AMethodOrAKeyIsEnough) {
  EXPECT_TRUE(idempotency("PUT").repeatable());
  EXPECT_FALSE(idempotency("POST").repeatable());
  EXPECT_TRUE(idempotency("POST", "8e03978e").repeatable());
  EXPECT_FALSE(idempotency("POST", "").repeatable());
}

TEST(Idempotency, TheCallersWordCountsInBothDirections) {
  Idempotency get = idempotency("GET");
  get.by_word = false;
  EXPECT_FALSE(get.repeatable());
  Idempotency post = idempotency("POST");
  post.by_word = true;
  EXPECT_TRUE(post.repeatable());
}

}  // namespace
}  // namespace damper::decide
