// A server is pushed to three times its capacity, and let go again.
#include "damper/admit/shed_queue.h"
#include "drill.h"
#include "proxied.h"

namespace damper::drills {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Retries as they are written without thinking: three attempts, at once, whoever else does so too.
engine::Policy naive() {
  engine::Policy policy;
  policy.call.timeout = 1500ms;
  policy.call.per_try_timeout = 500ms;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1ms, .cap = 1ms};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}
engine::Policy guarded() {
  engine::Policy policy;
  policy.call.timeout = 500ms;
  return policy;
}

engine::Policy once() {
  engine::Policy policy;
  policy.call.max_attempts = 1;
  policy.call.timeout = 500ms;
  return policy;
}

// The share of calls that are good in the last second of the five after an overload. `proxy`: what
// a proxy between the two does; empty: there is none.
double goodput_after_overload(const engine::Policy& policy, const std::string& guard,
                              const std::string& proxy = {}) {
  Node node({"work=10ms", "slots=4", "guard=" + guard});  // 400 requests a second.
  std::optional<Proxied> between;
  if (!proxy.empty()) between.emplace(cluster_of({node.url()}) + proxy);
  Clients clients(policy, {between ? between->url() : node.url()});
  clients.set_timeout(policy.call.timeout);
  clients.load().play_on(280, 1s);
  clients.load().play_on(1200, 2s);
  const Instant over = run::now();
  clients.load().play_on(280, 5s);
  clients.load().settle();
  const Load::Summary before = clients.load().summary(Instant::min(), over - 2s);
  const Load::Summary after = clients.load().summary(over + 4s);
  std::printf("guard=%s: good before %.3f, in the fifth second after the overload %.3f\n",
              guard.c_str(), before.goodput(), after.goodput());
  EXPECT_GT(before.goodput(), 0.95);
  return after.goodput();
}

TEST(MetastabilityDrill, AnOverloadPassesAndTheServiceIsBackByItself) {
  if (!kTimed) GTEST_SKIP() << "A sanitizer changes what the capacity is.";
  EXPECT_GT(goodput_after_overload(guarded(), "yes"), 0.95);
}

// The backend takes whatever comes, the clients just ask: the proxy alone keeps the two apart,
// however the connections fall to its loops.
constexpr const char* kGuardedProxy = R"(
routes:
  all:
    cluster: backend
    timeout: 500ms
    admission_control: { kind: fixed, initial: 4 }
)";
constexpr const char* kNaiveProxy = R"(
routes:
  all:
    cluster: backend
    timeout: 1500ms
    retry_policy: { num_retries: 2, per_try_timeout: 500ms,
                    retry_back_off: { jitter: none, base_interval: 1ms, max_interval: 1ms } }
    retry_budget: { budget_percent: 1000, reserve: 1000 }
)";

TEST(MetastabilityDrill, TheProxyLetsTheServiceComeBackByItself) {
  if (!kTimed) GTEST_SKIP() << "A sanitizer changes what the capacity is.";
  EXPECT_GT(goodput_after_overload(once(), "no", kGuardedProxy), 0.95);
  engine::Policy patient = once();
  patient.call.timeout = 1500ms;
  EXPECT_LT(goodput_after_overload(patient, "no", kNaiveProxy), 0.5);
}

TEST(MetastabilityDrill, NaiveRetriesAndAQueueStayDownAfterTheOverload) {
  if (!kTimed) GTEST_SKIP() << "A sanitizer changes what the capacity is.";
  EXPECT_LT(goodput_after_overload(naive(), "no"), 0.5);
}

struct Pushed {
  double capacity = 0;   // requests a second
  double goodput = 0;    // at three times that
  Duration unloaded{0};  // p99
  Duration accepted{0};  // p99 of those accepted, at three times the capacity
  double cost_us = 0;    // of a request, in processor time
  double refusal_us = 0;

  [[nodiscard]] bool holds() const {
    const admit::ShedQueueOptions queue;
    return goodput > 0.85 * capacity && accepted < 2 * unloaded + queue.target &&
           refusal_us < cost_us / 10;
  }
};

// Work that costs two milliseconds of a processor: capacity, latency and cost are the real ones.
// With a proxy the server takes whatever comes, and the proxy says no.
Pushed push(const char* proxy = nullptr) {
  Node node({"cpu=2ms", "slots=1", proxy == nullptr ? "guard=yes" : "guard=no"});
  std::optional<Proxied> between;
  if (proxy != nullptr) between.emplace(cluster_of({node.url()}) + proxy);
  Clients clients(once(), {between ? between->url() : node.url()});
  Pushed pushed;
  clients.load().play(100, 500ms);
  clients.load().forget();
  // Unloaded: its latency and what a request costs. Saturated by two callers: its capacity.
  auto stats = node.stats();
  clients.load().play(150, 2s);
  pushed.unloaded = clients.load().summary().percentile(99);
  auto after = node.stats();
  pushed.cost_us = static_cast<double>(after["cpu_us"] - stats["cpu_us"]) /
                   static_cast<double>(after["done"] - stats["done"]);
  pushed.capacity = clients.load().saturate(2, 1s);
  // Three times that. The first half second is the queue's to see that it is no burst.
  clients.load().forget();
  stats = node.stats();
  const Instant settled = run::now() + 500ms;
  clients.load().play_on(3 * pushed.capacity, 3s);
  const Instant over = run::now();
  after = node.stats();
  clients.load().settle();
  const Load::Summary steady = clients.load().summary(settled, over);
  const Load::Summary all = clients.load().summary();
  EXPECT_GT(all.calls, 2 * all.good);  // Most were refused.
  pushed.goodput =
      static_cast<double>(steady.good) / std::chrono::duration<double>(over - settled).count();
  pushed.accepted = steady.percentile(99);
  // What is left of the processor time when the work itself is taken away, on all requests alike:
  // more than a refusal costs.
  pushed.refusal_us = (static_cast<double>(after["cpu_us"] - stats["cpu_us"]) -
                       static_cast<double>(after["done"] - stats["done"]) * 2000) /
                      static_cast<double>(all.calls);
  std::printf(
      "capacity %.0f/s, goodput at three times %.0f/s (%.2f); p99 %.1f ms unloaded, %.1f ms "
      "of those accepted; CPU %.0f us a request, %.0f us a refusal\n",
      pushed.capacity, pushed.goodput, pushed.goodput / pushed.capacity,
      milliseconds(pushed.unloaded), milliseconds(pushed.accepted), pushed.cost_us,
      pushed.refusal_us);
  return pushed;
}

TEST(OverloadDrill, AtThreeTimesItsCapacityAServerGoesOnWorking) {
  if (!kTimed) GTEST_SKIP() << "A sanitizer changes what a request costs.";
  EXPECT_TRUE(holds_once_in_three([] { return push().holds(); }));
}

TEST(OverloadDrill, HoldsThroughTheProxy) {
  if (!kTimed) GTEST_SKIP() << "A sanitizer changes what a request costs.";
  constexpr const char* kProxy = R"(
routes:
  all:
    cluster: backend
    timeout: 500ms
    admission_control: { kind: fixed, initial: 1 }
)";
  EXPECT_TRUE(holds_once_in_three([] { return push(kProxy).holds(); }));
}

}  // namespace
}  // namespace damper::drills
