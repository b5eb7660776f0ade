// Ten thousand POSTs over connections that break, before the work and after it.
#include <cstdlib>

#include "drill.h"

namespace damper::drills {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

void play(const std::string& store, std::int64_t posts, std::int64_t rate_per_second,
          const std::string& work = "0s", Duration per_try_timeout = 0s) {
  Node node({"slots=100", "work=" + work, "reset_percent=10", "store=" + store});
  engine::Policy policy;
  policy.call.timeout = 10s;
  policy.call.max_attempts = 20;
  policy.call.per_try_timeout = per_try_timeout;
  policy.call.backoff = {.base = 1ms, .cap = 50ms};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  Clients clients(
      policy, http::GuardedClientOptions{.endpoints = {node.url()}, .make_idempotency_key = true});
  std::map<std::string, int> verdicts;
  clients.set_call([&](std::uint64_t number, std::function<void(bool)> done) {
    clients.client().post("/effects", std::to_string(number), run::now() + 10s,
                          [&, done = std::move(done)](http::HttpResult result) {
                            if (!result) ++verdicts[std::string(name(result.verdict()))];
                            done(static_cast<bool>(result));
                          });
  });
  clients.load().play(static_cast<double>(rate_per_second), posts * Duration(1s) / rate_per_second);
  const Load::Summary summary = clients.load().summary();
  auto stats = node.stats();
  std::printf("%lld posts, %lld answered, %lld attempts; %lld effects, %lld repeated\n",
              static_cast<long long>(summary.calls), static_cast<long long>(summary.good),
              static_cast<long long>(clients.attempts()), static_cast<long long>(stats["effects"]),
              static_cast<long long>(stats["repeated"]));
  for (const auto& [verdict, count] : verdicts) std::printf("%s: %d\n", verdict.c_str(), count);
  EXPECT_EQ(summary.calls, posts);
  EXPECT_EQ(summary.good, posts);
  EXPECT_GT(clients.attempts(), posts);  // Connections did break.
  EXPECT_EQ(stats["effects"], posts);
  EXPECT_EQ(stats["repeated"], 0);
}

TEST(IdempotencyDrill, TenThousandPostsOverBreakingConnectionsHappenOnceEach) {
  play("memory", kTimed ? 10'000 : 1'000, kTimed ? 2'000 : 500);
}

// Attempts that time out while their work goes on: the next one meets the first (409), waits as it
// is told, and is given its answer.
TEST(IdempotencyDrill, ARetryThatOvertakesItsFirstAttemptIsGivenItsAnswer) {
  play("memory", kTimed ? 200 : 50, 100, "60ms", 40ms);
}

TEST(IdempotencyDrill, AThousandPostsWithADurableStoreHappenOnceEach) {
  const std::string file = testing::TempDir() + "drill-" + std::to_string(getpid()) + ".sqlite";
  play(file, kTimed ? 1'000 : 200, 200);
  for (const char* end : {"", "-wal", "-shm"}) (void)std::remove((file + end).c_str());
}

}  // namespace
}  // namespace damper::drills
