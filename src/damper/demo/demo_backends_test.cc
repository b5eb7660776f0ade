#include "damper/demo/demo_backends.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "damper/demo/load_generator.h"
#include "damper/run/clock.h"

namespace damper::demo {
namespace {

using std::chrono::milliseconds;

TEST(DemoBackends, ASlowOneIsSlowAlone) {
  auto backends = DemoBackends::start({.service = milliseconds(2)});
  ASSERT_TRUE(backends);
  (*backends)->set_slowness(1, 1'000);
  for (std::size_t i = 0; i < kDemoBackends; ++i) {
    auto load = LoadGenerator::start({.targets = {(*backends)->endpoints()[i]},
                                      .rate_per_second = 100,
                                      .attempt_timeout = milliseconds(300)},
                                     run::now());
    ASSERT_TRUE(load);
    std::vector<LoadCall> calls;
    for (const Instant until = in(std::chrono::seconds(2)); calls.empty() && run::now() < until;) {
      std::this_thread::sleep_for(milliseconds(1));
      calls = (*load)->take();
    }
    ASSERT_FALSE(calls.empty());
    EXPECT_EQ(calls.front().answered, i != 1) << i;
  }
}

}  // namespace
}  // namespace damper::demo
