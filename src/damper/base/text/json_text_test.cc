#include "damper/base/text/json_text.h"

#include <gtest/gtest.h>

namespace damper::text {
namespace {

TEST(JsonText, IsQuotedEscapedAndCutOff) {
  EXPECT_EQ(json_text("db"), "\"db\"");
  EXPECT_EQ(json_text("a\"b\\c\n\x1b"), R"("a\"b\\c\n\u001b")");
  EXPECT_EQ(json_text("\xff"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(json_text(std::string(20'000, 'x')).size(), kLongestJsonText + 2);
}

}  // namespace
}  // namespace damper::text
