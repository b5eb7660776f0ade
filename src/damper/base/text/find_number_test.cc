#include "damper/base/text/find_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace damper::text {
namespace {

TEST(FindNumber, ReadsAWholeNumber) {
  EXPECT_EQ(find_number<int>("42"), 42);
  EXPECT_EQ(find_number<int>("-7"), -7);
  EXPECT_EQ(find_number<std::uint16_t>("65535"), 65535);
}

TEST(FindNumber, RefusesARestASignTooManyAndWhatIsOutOfRange) {
  for (const char* text : {"", "4x", " 4", "+4", "0x4", "4 "}) EXPECT_FALSE(find_number<int>(text));
  EXPECT_FALSE(find_number<std::uint16_t>("65536"));
  EXPECT_FALSE(find_number<std::uint16_t>("-1"));
}

}  // namespace
}  // namespace damper::text
