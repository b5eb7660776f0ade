#include "damper/cli/terminal.h"

#include <gtest/gtest.h>

#include <sstream>

namespace damper::cli {
namespace {

TEST(Terminal, AStringIsNoTerminalAndGetsNoColour) {
  const std::ostringstream out;
  EXPECT_FALSE(is_terminal(out));
  EXPECT_FALSE(wants_colour(out));
}

TEST(Progress, ElsewhereThanOnATerminalItTellsTenTimes) {
  std::ostringstream out;
  {
    Progress progress(out, "runs");
    for (std::size_t done = 0; done <= 1000; ++done) progress.on_progress(done, 1000);
  }
  EXPECT_EQ(out.str(),
            "100 of 1000 runs, 10 %\n200 of 1000 runs, 20 %\n300 of 1000 runs, 30 %\n"
            "400 of 1000 runs, 40 %\n500 of 1000 runs, 50 %\n600 of 1000 runs, 60 %\n"
            "700 of 1000 runs, 70 %\n800 of 1000 runs, 80 %\n900 of 1000 runs, 90 %\n"
            "1000 of 1000 runs, 100 %\n");
}

TEST(Progress, WhatIsOverAtOnceIsNotTold) {
  std::ostringstream out;
  Progress progress(out, "runs");
  for (std::size_t done = 0; done <= 19; ++done) progress.on_progress(done, 19);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace damper::cli
