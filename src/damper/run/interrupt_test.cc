#include "damper/run/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace damper::run {
namespace {

int g_seen = 0;

TEST(Interrupt, TheFirstSignalSetsTheFlagAndTheHandlerOfBeforeComesBack) {
  const auto before = std::signal(SIGINT, [](int) { ++g_seen; });
  {
    const Interrupt interrupt;
    EXPECT_FALSE(Interrupt::flag());
    ASSERT_EQ(std::raise(SIGINT), 0);
    EXPECT_TRUE(Interrupt::flag());
    EXPECT_EQ(g_seen, 0);
  }
  ASSERT_EQ(std::raise(SIGINT), 0);
  EXPECT_EQ(g_seen, 1);
  const Interrupt again;
  EXPECT_FALSE(Interrupt::flag());
  std::signal(SIGINT, before);
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        const Interrupt interrupt;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace damper::run
