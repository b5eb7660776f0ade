#include "damper/cli/commands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/cli/program_testing.h"

namespace damper::cli {
namespace {

TEST(Drill, HelpHasExamplesAndTheExitStatus) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"drill", "--help"}, {"drill", "storm", "--help"}}) {
    const Result result = damper(arguments);
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find("damper drill storm --seconds 20"), std::string::npos);
    EXPECT_NE(result.out.find("1 when one did not"), std::string::npos);
    EXPECT_EQ(result.err, "");
  }
}

TEST(Drill, WrongUsageIsTroubleInOneLine) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"drill"},
                                                    {"drill", "strom"},
                                                    {"drill", "storm", "--clients", "99"},
                                                    {"drill", "storm", "--clients", "2001"},
                                                    {"drill", "storm", "--seconds", "9"},
                                                    {"drill", "storm", "--seconds", "61"},
                                                    {"drill", "storm", "--seconds", "ten"}}) {
    const Result result = damper(arguments);
    EXPECT_EQ(result.status, kTrouble);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("damper: ")) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
}

}  // namespace
}  // namespace damper::cli
