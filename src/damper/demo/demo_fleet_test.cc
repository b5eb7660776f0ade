#include "damper/demo/demo_fleet.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "damper/demo/demo_backends.h"
#include "damper/run/clock.h"

namespace damper::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Asks until it is so; false: it is not within two seconds.
bool comes(const std::function<bool()>& so) {
  for (const Instant until = in(seconds(2)); run::now() < until;) {
    if (so()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

struct Both {
  std::unique_ptr<DemoBackends> backends;
  std::unique_ptr<DemoFleet> fleet;
};

Both start(DemoFleetOptions options, const DemoBackendOptions& work = {}, bool down = false) {
  Both both;
  auto backends = DemoBackends::start(work);
  EXPECT_TRUE(backends);
  both.backends = std::move(*backends);
  both.backends->set_down(down);
  options.targets = both.backends->endpoints();
  auto fleet = DemoFleet::start(options, run::now());
  EXPECT_TRUE(fleet);
  both.fleet = std::move(*fleet);
  return both;
}

TEST(DemoFleet, HealthyBackendsAnswerWhatIsAsked) {
  const Both both = start({.rate_per_second = 500}, {.service = milliseconds(1)});
  std::vector<DemoCall> calls;
  ASSERT_TRUE(comes([&] {
    const std::vector<DemoCall> more = both.fleet->take();
    calls.insert(calls.end(), more.begin(), more.end());
    return calls.size() >= 20;
  }));
  for (const DemoCall& call : calls) {
    EXPECT_TRUE(call.answered);
    EXPECT_LE(call.started, call.ended);
  }
  EXPECT_GE(both.fleet->started(), calls.size());
}

TEST(DemoFleet, ANaiveClientTriesAsOftenAsItSays) {
  const Both both = start({.rate_per_second = 200, .attempts = 4}, {}, /*down=*/true);
  std::vector<DemoCall> calls;
  ASSERT_TRUE(comes([&] { return both.fleet->started() >= 10; }));
  both.fleet->set_rate(0);
  ASSERT_TRUE(comes([&] { return both.fleet->under_way() == 0; }));
  calls = both.fleet->take();
  EXPECT_EQ(calls.size(), both.fleet->started());
  EXPECT_EQ(both.backends->arrivals(), 4 * calls.size());
  for (const DemoCall& call : calls) EXPECT_FALSE(call.answered);
}

TEST(DemoFleet, WhoWasMarkedIsFollowedToTheEnd) {
  Both both = start({.rate_per_second = 400, .attempt_timeout = seconds(10)},
                    {.workers = 1, .service = milliseconds(100)});
  ASSERT_TRUE(comes([&] { return both.fleet->under_way() >= 10; }));
  EXPECT_EQ(both.fleet->marked_ended(), std::nullopt);
  const Instant at = run::now();
  EXPECT_GE(both.fleet->mark(), 10U);
  EXPECT_EQ(both.fleet->marked_ended(), std::nullopt);
  both.backends->set_down(true);  // Those in line are answered when a worker looks up.
  ASSERT_TRUE(comes([&] { return both.fleet->marked_ended().has_value(); }));
  EXPECT_GE(*both.fleet->marked_ended(), at);
}

}  // namespace
}  // namespace damper::demo
