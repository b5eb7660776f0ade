#include "damper/cli/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/cli/program_testing.h"

namespace damper::cli {
namespace {

TEST(Program, HelpHasExamplesAndGoesToStandardOutput) {
  for (const char* flag : {"--help", "-h"}) {
    const Result result = damper({flag});
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find("damper check damper.yaml"), std::string::npos);
    EXPECT_EQ(result.err, "");
  }
}

TEST(Program, SaysItsVersion) {
  const Result result = damper({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "damper " DAMPER_VERSION "\n");
}

TEST(Program, AnUnknownSubcommandIsTroubleWithTheNearest) {
  const Result result = damper({"chek", "x.yaml"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.substr(0, 58),
            "damper: unknown subcommand \"chek\"; did you mean check? (ac");
}

TEST(Program, AnErrorNamesTheHelpOfItsSubcommand) {
  EXPECT_EQ(damper({"proxy", "--access-log", "al"}).err,
            "damper: --access-log: must be one of off, failures, all, not \"al\"; did you mean "
            "all?; see damper proxy --help\n");
}

TEST(Program, WrongUsageIsTroubleInOneLine) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--nonsense"}, {"check"}, {"check", "--nonsense", "x"}}) {
    const Result result = damper(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("damper: ")) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
}

}  // namespace
}  // namespace damper::cli
