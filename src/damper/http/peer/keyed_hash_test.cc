#include "damper/http/peer/keyed_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::http {
namespace {

constexpr HashKey kPublished{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

std::string first_bytes(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(i);
  return text;
}

TEST(KeyedHash, HasThePublishedValues) {
  EXPECT_EQ(keyed_hash(kPublished, ""), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(keyed_hash(kPublished, first_bytes(1)), 0x74f839c593dc67fdU);
  EXPECT_EQ(keyed_hash(kPublished, first_bytes(8)), 0x93f5f5799a932462U);
  EXPECT_EQ(keyed_hash(kPublished, first_bytes(15)), 0xa129ca6149be45e5U);  // The paper's example.
}

TEST(KeyedHash, DependsOnTheKey) {
  EXPECT_NE(keyed_hash({1, 2}, "10.0.0.7"), keyed_hash({1, 3}, "10.0.0.7"));
}

}  // namespace
}  // namespace damper::http
