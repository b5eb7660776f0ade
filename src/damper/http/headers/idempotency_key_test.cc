#include "damper/http/headers/idempotency_key.h"

#include <gtest/gtest.h>

#include <set>

namespace damper::http {
namespace {

TEST(IdempotencyKey, IsThirtyTwoDigitsAndNeverTheSame) {
  std::set<std::string> keys;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = make_idempotency_key();
    EXPECT_EQ(key.size(), 32U);
    EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 1000U);
}

}  // namespace
}  // namespace damper::http
