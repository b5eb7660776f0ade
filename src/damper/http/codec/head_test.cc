#include "damper/http/codec/head.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TEST(Head, NamesHaveNoCaseAndTheFirstOfThemCounts) {
  const Field fields[] = {{"A", "1"}, {"a", "2"}};
  EXPECT_EQ(find(fields, "a"), "1");
  EXPECT_EQ(find(fields, "b"), std::nullopt);
  EXPECT_FALSE(same_name("ab", "a"));
}

}  // namespace
}  // namespace damper::http
