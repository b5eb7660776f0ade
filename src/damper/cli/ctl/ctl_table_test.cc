#include "damper/cli/ctl/ctl_table.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace damper::cli {
namespace {

TEST(Table, ColumnsAreAlignedByTheWidestCell) {
  Table table({{"name", Table::Side::left}, {"n"}, {"state", Table::Side::left}});
  table.add({{"a"}, {"1,000"}, {"up"}});
  table.add({{"longer"}, {"7"}, {"down"}});
  std::ostringstream out;
  table.print(out, {});
  EXPECT_EQ(out.str(),
            "  name        n  state\n"
            "  a       1,000  up\n"
            "  longer      7  down\n");
}

TEST(Table, InkTakesNoRoom) {
  Table table({{"a", Table::Side::left}, {"b"}});
  table.add({{"xx", text::Ink::alarm}, {"1", text::Ink::alarm}});
  std::ostringstream out;
  table.print(out, {.colour = true});
  EXPECT_NE(out.str().find("\x1b["), std::string::npos);
  std::ostringstream plain;
  table.print(plain, {});
  EXPECT_EQ(plain.str(), "  a   b\n  xx  1\n");
}

TEST(Table, ANameCannotDriveTheTerminal) {
  Table table({{"a", Table::Side::left}});
  table.add({{"\x1b[2J\nforged"}});
  std::ostringstream out;
  table.print(out, {});
  EXPECT_EQ(out.str(), "  a\n  \\u001b[2J\\nforged\n");
}

TEST(Table, RowsThatDoNotFitAreCounted) {
  Table table({{"a", Table::Side::left}});
  for (const char* text : {"x", "y", "z"}) table.add({{text}});
  std::ostringstream out;
  table.print(out, {}, 1);
  EXPECT_EQ(out.str(), "  a\n  x\n  and 2 more\n");
}

TEST(Table, LengthsHaveTwoOrThreeDigits) {
  using std::chrono::milliseconds;
  EXPECT_EQ(rough(milliseconds(80)), "80ms");
  EXPECT_EQ(rough(milliseconds(2500)), "2.5s");
  EXPECT_EQ(rough(std::chrono::minutes(29) + std::chrono::seconds(40)), "30m");
  EXPECT_EQ(rough(std::chrono::seconds(90)), "1.5m");
  EXPECT_EQ(rough(std::chrono::hours(3)), "3h");
  EXPECT_EQ(rough(std::chrono::hours(60)), "2.5d");
  EXPECT_EQ(rough(std::chrono::microseconds(250)), "250us");
  EXPECT_EQ(rough(Duration{0}), "-");
  EXPECT_EQ(rough(kForever), "forever");
}

TEST(Table, AShareIsNeverRoundedUpToAll) {
  EXPECT_EQ(share_text(1), "100%");
  EXPECT_EQ(share_text(0.9999), "99.9%");
  EXPECT_EQ(share_text(0.909), "90.9%");
  EXPECT_EQ(share_text(0), "0.0%");
  EXPECT_EQ(share_text(-1), "0.0%");
}

}  // namespace
}  // namespace damper::cli
