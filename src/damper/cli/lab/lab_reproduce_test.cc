#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "damper/cli/commands.h"
#include "damper/cli/program_testing.h"

// Under tsan: the runs are on several threads.

namespace damper::cli {
namespace {

TEST(LabReproduce, ShowsOursBesideTheirs) {
  const Result run = damper({"lab", "reproduce", "--only", "calls, full", "--runs", "20"});
  EXPECT_NE(run.status, kTrouble) << run.err;
  EXPECT_NE(run.out.find("calls, full, N = 100"), std::string::npos) << run.out;
}

TEST(LabReproduce, RowsAreThereForPrograms) {
  const Result csv =
      damper({"lab", "reproduce", "--only", "calls, full", "--runs", "2", "--csv", "-"});
  EXPECT_EQ(csv.out.find("result,what"), 0U) << csv.out.substr(0, 100);
  const Result json =
      damper({"lab", "reproduce", "--only", "calls, full", "--runs", "2", "--json", "-"});
  EXPECT_EQ(json.out.find(R"({"kind":"reproduction")"), 0U) << json.out.substr(0, 100);
}

TEST(LabReproduce, AnUnknownNameIsOneSentence) {
  const Result run = damper({"lab", "reproduce", "--only", "perpetual motion"});
  EXPECT_EQ(run.status, kTrouble);
  EXPECT_EQ(
      run.err,
      "damper: no published result has \"perpetual motion\" in its name; damper lab reproduce "
      "without --only shows all\n");
}

}  // namespace
}  // namespace damper::cli
