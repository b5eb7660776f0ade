#include "damper/decide/layering.h"

#include <gtest/gtest.h>

#include "damper/base/random.h"

namespace damper::decide {
namespace {

constexpr Layer kTop = {.owned_above = false, .attempt = 1};

TEST(Layering, WithoutHeadersNobodyAboveRetries) { EXPECT_EQ(read_layer({}), kTop); }

TEST(Layering, AnOwnersNameIsEnough) {
  EXPECT_EQ(read_layer({.retry_owner = "checkout"}), (Layer{.owned_above = true, .attempt = 1}));
  EXPECT_EQ(read_layer({.retry_owner = "checkout", .attempt = "3"}),
            (Layer{.owned_above = true, .attempt = 3}));
}

TEST(Layering, AnAttemptAboveTheFirstShowsThatSomebodyRetries) {
  EXPECT_EQ(read_layer({.attempt = "2"}), (Layer{.owned_above = true, .attempt = 2}));
  EXPECT_EQ(read_layer({.envoy_attempt_count = "2"}), (Layer{.owned_above = true, .attempt = 2}));
  EXPECT_EQ(read_layer({.grpc_previous_attempts = "1"}),
            (Layer{.owned_above = true, .attempt = 2}));
}

TEST(Layering, AFirstAttemptAloneShowsNothing) {
  EXPECT_EQ(read_layer({.attempt = "1"}), kTop);
  EXPECT_EQ(read_layer({.envoy_attempt_count = "1"}), kTop);
  EXPECT_EQ(read_layer({.grpc_previous_attempts = "0"}), kTop);
}

TEST(Layering, TheLargestCountStands) {
  EXPECT_EQ(read_layer({.attempt = "2", .envoy_attempt_count = "4", .grpc_previous_attempts = "2"}),
            (Layer{.owned_above = true, .attempt = 4}));
}

// Invariant 1.
TEST(Layering, AttemptsAreHeldWithinTheirBounds) {
  EXPECT_EQ(read_layer({.attempt = "0"}), kTop);
  EXPECT_EQ(read_layer({.attempt = "1000"}).attempt, 1000U);
  EXPECT_EQ(read_layer({.attempt = "1001"}).attempt, 1000U);
  EXPECT_EQ(read_layer({.grpc_previous_attempts = "1000"}).attempt, 1000U);
  EXPECT_EQ(read_layer({.grpc_previous_attempts = "4294967295"}).attempt, 1000U);
  EXPECT_EQ(read_layer({.attempt = "4294967297"}).attempt, 1000U);  // 2^32 + 1
  const std::string nines(10'000, '9');
  EXPECT_EQ(read_layer({.envoy_attempt_count = nines}).attempt, 1000U);
}

// Invariant 2.
TEST(Layering, WhatIsMalformedIsIgnored) {
  for (const char* value :
       {"", " ", "-2", "+2", "2 ", " 2", "2,3", "2.0", "0x2", "two", "9999999999x"}) {
    EXPECT_EQ(
        read_layer(
            {.attempt = value, .envoy_attempt_count = value, .grpc_previous_attempts = value}),
        kTop)
        << value;
  }
  for (const std::string& value :
       {std::string(""), std::string("a b"), std::string("a\r\nx: y"), std::string("caf\xc3\xa9"),
        std::string("a,b"), std::string(1, '\0'), std::string(65, 'a'),
        std::string(1'000'000, 'a')}) {
    EXPECT_EQ(read_layer({.retry_owner = value}), kTop) << value.substr(0, 70);
  }
}

TEST(Layering, AnOwnersNameIsAShortToken) {
  EXPECT_TRUE(valid_owner("a"));
  EXPECT_TRUE(valid_owner("AZaz09._-"));
  EXPECT_TRUE(valid_owner(std::string(64, 'z')));
  EXPECT_FALSE(valid_owner(std::string(65, 'z')));
  EXPECT_FALSE(valid_owner(""));
  for (const char c : {'@', '[', '`', '{', '/', ':', ' ', ','}) {
    EXPECT_FALSE(valid_owner(std::string(1, c))) << c;
  }
}

TEST(Layering, TheOwnersAttemptIsPassedOnAndOursIsSentWhereWeOwn) {
  EXPECT_EQ(format_attempt({}, 2), "2");
  EXPECT_EQ(format_attempt({.owned_above = true, .attempt = 3}, 1), "3");
  EXPECT_EQ(format_attempt({}, 0), "1");
  EXPECT_EQ(format_attempt({}, 4'000'000'000), "1000");
}

// Invariants 1 and 2, and what is written reads back.
TEST(Layering, AnyBytesGiveAValidLayer) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed);
    std::string text;
    for (std::uint64_t size = random.bits() % 12; size > 0; --size) {
      const bool digit = random.draw() < 0.8;
      text += static_cast<char>(digit ? '0' + random.bits() % 10 : random.bits() % 256);
    }
    const Layer layer = read_layer({.retry_owner = text,
                                    .attempt = text,
                                    .envoy_attempt_count = text,
                                    .grpc_previous_attempts = text});
    ASSERT_GE(layer.attempt, 1U) << "seed " << seed;
    ASSERT_LE(layer.attempt, Layer::kMostAttempt) << "seed " << seed;
    ASSERT_EQ(read_layer({.attempt = format_attempt(layer, 1)}).attempt, layer.attempt)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::decide
