#include "damper/base/text/hex.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "damper/base/random.h"

namespace damper::text {
namespace {

std::string hex_of(std::uint64_t number) {
  std::array<char, 16> digits{};
  EXPECT_EQ(put_hex(number, digits.data()), digits.data() + digits.size());
  return {digits.data(), digits.size()};
}

TEST(PutHex, WritesSixteenDigitsInLowerCase) {
  EXPECT_EQ(hex_of(0), "0000000000000000");
  EXPECT_EQ(hex_of(0x0123456789abcdef), "0123456789abcdef");
  EXPECT_EQ(hex_of(~std::uint64_t{0}), "ffffffffffffffff");
}

TEST(PutHex, IsWhatPrintfWrites) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t number = random.bits();
    std::array<char, 17> expected{};
    std::snprintf(expected.data(), expected.size(), "%016llx",
                  static_cast<unsigned long long>(number));
    EXPECT_EQ(hex_of(number), expected.data());
  }
}

}  // namespace
}  // namespace damper::text
