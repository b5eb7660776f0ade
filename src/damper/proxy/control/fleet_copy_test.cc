#include "damper/proxy/control/fleet_copy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace damper::proxy {
namespace {

namespace fs = std::filesystem;

class FleetCopyTest : public testing::Test {
 protected:
  ~FleetCopyTest() override { fs::remove_all(folder_); }
  const std::string folder_ =
      (fs::temp_directory_path() / ("damper-fleet-" + std::to_string(getpid()))).string();
};

const Fleet kFleet{"route:\n  timeout: 2s  # \"quoted\" \\ \t\x01 \xc3\xa4\n",
                   {{"route/a", R"({"off":true})"}, {"", "x"}},
                   12};

TEST_F(FleetCopyTest, WhatIsPrintedIsReadTheSame) {  // Invariant (2).
  EXPECT_EQ(*parse_fleet(print_fleet(kFleet)), kFleet);
  EXPECT_EQ(*parse_fleet(print_fleet({})), Fleet{});
  Fleet large{std::string(1'500'000, '\n'), {}, 1};
  for (std::size_t i = 0; i < kMostEtcdKeys - 1; ++i) large.switches[std::to_string(i)] = "x";
  EXPECT_EQ(*parse_fleet(print_fleet(large)), large);
}

TEST_F(FleetCopyTest, WhatIsSavedIsLoadedAndReplacesTheOneBefore) {
  EXPECT_EQ(*load_fleet(folder_), std::nullopt);
  EXPECT_EQ(save_fleet(folder_, kFleet), std::nullopt);
  EXPECT_EQ(*load_fleet(folder_), kFleet);
  EXPECT_EQ(save_fleet(folder_, {}), std::nullopt);
  EXPECT_EQ(*load_fleet(folder_), Fleet{});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), 1);
}

TEST_F(FleetCopyTest, TroubleIsASentence) {
  EXPECT_TRUE(save_fleet("/proc/nowhere", kFleet));
  fs::create_directory(folder_);
  for (const char* text :
       {"", "{}", "[]", R"({"revision":"x","switches":[]})", R"({"revision":1,"switches":[[1]]})",
        R"({"revision":1,"switches":[],"policy":5})"}) {
    std::ofstream(folder_ + "/fleet.json") << text;
    EXPECT_FALSE(load_fleet(folder_)) << text;
  }
}

}  // namespace
}  // namespace damper::proxy
