#include "damper/demo/load_generator.h"

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
  std::unique_ptr<LoadGenerator> load;
};

Both start(LoadOptions options, const DemoBackendOptions& work = {}, bool down = false) {
  Both both;
  auto backends = DemoBackends::start(work);
  EXPECT_TRUE(backends);
  both.backends = std::move(*backends);
  both.backends->set_down(down);
  options.targets = both.backends->endpoints();
  auto load = LoadGenerator::start(options, run::now());
  EXPECT_TRUE(load);
  both.load = std::move(*load);
  return both;
}

TEST(LoadGenerator, HealthyBackendsAnswerWhatIsAsked) {
  const Both both = start({.rate_per_second = 500}, {.service = milliseconds(1)});
  std::vector<LoadCall> calls;
  ASSERT_TRUE(comes([&] {
    const std::vector<LoadCall> more = both.load->take();
    calls.insert(calls.end(), more.begin(), more.end());
    return calls.size() >= 20;
  }));
  for (const LoadCall& call : calls) {
    EXPECT_TRUE(call.answered);
    EXPECT_LE(call.started, call.ended);
  }
  EXPECT_GE(both.load->started(), calls.size());
}

TEST(LoadGenerator, ANaiveClientTriesAsOftenAsItSays) {
  const Both both = start({.rate_per_second = 200, .attempts = 4}, {}, /*down=*/true);
  std::vector<LoadCall> calls;
  ASSERT_TRUE(comes([&] { return both.load->started() >= 10; }));
  both.load->set_rate(0);
  ASSERT_TRUE(comes([&] { return both.load->under_way() == 0; }));
  calls = both.load->take();
  EXPECT_EQ(calls.size(), both.load->started());
  EXPECT_EQ(both.backends->arrivals().all, 4 * calls.size());
  EXPECT_EQ(both.backends->arrivals().retries, 3 * calls.size());
  for (const LoadCall& call : calls) {
    EXPECT_FALSE(call.answered);
    EXPECT_EQ(call.attempts, 4U);
  }
}

TEST(LoadGenerator, ClientsInStepLeaveOutTheRequestsThatTheyMissed) {
  EXPECT_EQ(next_request(milliseconds(0), milliseconds(500)), 1);
  EXPECT_EQ(next_request(milliseconds(499), milliseconds(500)), 1);
  EXPECT_EQ(next_request(milliseconds(500), milliseconds(500)), 2);  // Due while it was busy.
  EXPECT_EQ(next_request(milliseconds(7001), milliseconds(500)), 15);
  const Both both = start({.clients = 5, .every = milliseconds(5), .until = milliseconds(50)},
                          {.service = milliseconds(1)});
  ASSERT_TRUE(comes([&] { return both.load->started() >= 5; }));
  std::this_thread::sleep_for(milliseconds(100));
  ASSERT_TRUE(comes([&] { return both.load->under_way() == 0; }));
  EXPECT_LE(both.load->started(), 50U);
}

TEST(LoadGenerator, APolicyGuardsTheRequests) {
  engine::Policy policy;
  policy.call.max_attempts = 1;
  const Both both =
      start({.clients = 5, .every = milliseconds(10), .until = milliseconds(30), .policy = policy},
            {}, /*down=*/true);
  ASSERT_TRUE(comes([&] { return both.load->started() >= 5 && both.load->under_way() == 0; }));
  EXPECT_EQ(both.load->tally().started, both.load->started());
  EXPECT_EQ(both.backends->arrivals().retries, 0U);
}

TEST(LoadGenerator, WhoWasMarkedIsFollowedToTheEnd) {
  Both both = start({.rate_per_second = 400, .attempt_timeout = seconds(10)},
                    {.workers = 1, .service = milliseconds(100)});
  ASSERT_TRUE(comes([&] { return both.load->under_way() >= 10; }));
  EXPECT_EQ(both.load->marked_ended(), std::nullopt);
  const Instant at = run::now();
  EXPECT_GE(both.load->mark(), 10U);
  EXPECT_EQ(both.load->marked_ended(), std::nullopt);
  both.backends->set_down(true);  // Those in line are answered when a worker looks up.
  ASSERT_TRUE(comes([&] { return both.load->marked_ended().has_value(); }));
  EXPECT_GE(*both.load->marked_ended(), at);
}

}  // namespace
}  // namespace damper::demo
