#include "damper/run/waiting_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "damper/run/dependency.h"

namespace damper::run {
namespace {

struct Counting final : WaitingCall {
  void on_flip() noexcept override { ++flips; }
  std::atomic<int> flips{0};
};

TEST(WaitingCalls, AFlipWakesThoseThatAreInTheList) {
  WaitingCalls calls;
  Counting first;
  Counting second;
  Counting third;
  calls.add(first);
  calls.add(second);
  calls.add(third);
  calls.on_flip();
  calls.remove(second);
  calls.on_flip();
  calls.remove(third);
  calls.on_flip();
  calls.remove(first);
  calls.on_flip();
  EXPECT_EQ(first.flips, 3);
  EXPECT_EQ(second.flips, 1);
  EXPECT_EQ(third.flips, 2);
}

TEST(WaitingCalls, WhoIsNotThereIsRemovedWithoutHarm) {
  WaitingCalls calls;
  Counting call;
  calls.remove(call);
  calls.add(call);
  EXPECT_TRUE(call.is_in_line());
  calls.remove(call);
  calls.remove(call);
  EXPECT_FALSE(call.is_in_line());
  calls.add(call);
  calls.remove(call);
}

TEST(WaitingCalls, TheProcessHearsOfTheSwitchesOfEveryDependency) {
  Dependency dependency("test");
  Counting call;
  WaitingCalls::of_process().add(call);
  dependency.switches().set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(call.flips, 1);
  switches().set(admit::Switch::hedging, {.off = true});
  switches().clear(admit::Switch::hedging);
  EXPECT_EQ(call.flips, 3);
  WaitingCalls::of_process().remove(call);
  dependency.switches().clear(admit::Switch::retries);
  EXPECT_EQ(call.flips, 3);
}

TEST(WaitingCalls, AFlipBesideThoseWhoComeAndGo) {
  WaitingCalls calls;
  std::thread flips([&] {
    for (int i = 0; i < 2'000; ++i) calls.on_flip();
  });
  for (int i = 0; i < 2'000; ++i) {
    Counting call;  // Gone when it is removed.
    calls.add(call);
    calls.remove(call);
  }
  flips.join();
}

}  // namespace
}  // namespace damper::run
