// Three hops: whatever the caller has given up, nobody works on.
#include "drill.h"

namespace damper::drills {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(DeadlineDrill, NothingRunsAtTheBottomAfterItsCallersDeadline) {
  // The bottom takes 15 ms, sometimes 80; the callers wait for 10 to 60.
  Node bottom({"work=15ms", "slots=20", "stall=80ms", "stall_percent=30"});
  Node middle({"slots=100", "next=" + bottom.url()});
  Node top({"slots=100", "next=" + middle.url()});
  Clients clients(engine::Policy{}, {top.url()});
  clients.set_call([&](std::uint64_t number, std::function<void(bool)> done) {
    const Instant deadline = run::now() + std::chrono::milliseconds(10 + number * 7 % 50);
    http::Request request;
    request.fields.add("drill-deadline", std::to_string(deadline.time_since_epoch().count()));
    clients.client().request(
        std::move(request), {.deadline = deadline},
        [done = std::move(done)](http::HttpResult result) { done(static_cast<bool>(result)); });
  });
  clients.load().play(300, scaled(3s));
  const Load::Summary summary = clients.load().summary();
  auto stats = bottom.stats();
  std::printf(
      "%lld calls, %lld in time; the bottom saw %lld, finished %lld, gave up %lld, and did "
      "%lld steps too late\n",
      static_cast<long long>(summary.calls), static_cast<long long>(summary.good),
      static_cast<long long>(stats["requests"]), static_cast<long long>(stats["done"]),
      static_cast<long long>(stats["cancelled"]), static_cast<long long>(stats["late"]));
  EXPECT_LE(stats["late"], summary.calls / 20);  // On a busy machine; without deadlines, half.
  EXPECT_GT(stats["cancelled"], 0);              // The drill has teeth: some were under way.
  EXPECT_GT(summary.good, 0);
  EXPECT_LT(summary.good, summary.calls);
}

}  // namespace
}  // namespace damper::drills
