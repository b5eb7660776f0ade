#include "damper/cli/commands.h"

#include <gtest/gtest.h>

#include "damper/cli/program_testing.h"

namespace damper::cli {
namespace {

TEST(Lab, HelpHasExamplesAndEverySubcommand) {
  const Result help = damper({"lab", "--help"});
  EXPECT_EQ(help.status, kOk);
  for (const char* word : {"list", "run", "compare", "map", "reproduce", "new", "Examples:"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
  for (const char* verb : {"run", "compare", "map", "reproduce", "new"}) {
    EXPECT_NE(damper({"lab", verb, "--help"}).out.find("Examples:"), std::string::npos) << verb;
  }
}

TEST(Lab, WithoutASubcommandOrWithAnUnknownOneItIsTrouble) {
  EXPECT_EQ(damper({"lab"}).status, kTrouble);
  EXPECT_EQ(damper({"lab", "fly"}).status, kTrouble);
}

}  // namespace
}  // namespace damper::cli
