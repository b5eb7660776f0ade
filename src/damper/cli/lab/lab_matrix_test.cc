#include <gtest/gtest.h>

#include <string>

#include "damper/cli/commands.h"
#include "damper/cli/program_testing.h"

// Under tsan: the runs are on several threads.

namespace damper::cli {
namespace {

TEST(LabMatrix, PrintsATableAndTheCommandThatRepeatsIt) {
  const Result ran =
      damper({"lab", "matrix", "--defence", "retries", "--trouble", "errors-5", "--runs", "2"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("1 cells: 1 hold"), std::string::npos) << ran.out;
  EXPECT_NE(
      ran.out.find("damper lab matrix --defence retries --trouble errors-5 --runs 2 --seed 1"),
      std::string::npos)
      << ran.out;
}

TEST(LabMatrix, AnUnknownTroubleIsOneSentence) {
  const Result ran = damper({"lab", "matrix", "--trouble", "rain"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("there is no trouble"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace damper::cli
