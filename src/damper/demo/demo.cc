#include "damper/demo/demo.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/demo/demo_acts.h"
#include "damper/demo/demo_backends.h"
#include "damper/demo/load_generator.h"
#include "damper/proxy/data/proxy.h"
#include "damper/run/clock.h"

namespace damper::demo {
namespace {

constexpr int kSlowness = 20;

// One side of an act, running.
class Lane {
 public:
  Lane(std::unique_ptr<DemoBackends> backends, std::unique_ptr<proxy::Proxy> proxy,
       std::unique_ptr<LoadGenerator> load)
      : backends_(std::move(backends)), proxy_(std::move(proxy)), load_(std::move(load)) {}

  void apply(const ActRecord& act, Duration at) {
    const bool trouble = act.times.trouble <= at && at < act.times.over;
    load_->set_rate(rate_at(act.act, act.times, at));
    backends_->set_down(trouble && (act.act == Act::outage || act.act == Act::kill_switch));
    backends_->set_slowness(1, trouble && act.act == Act::slow_replica ? kSlowness : 1);
  }

  // Records the waiting requests, then flips the switch where there is one.
  void flip(LaneRecord& record) {
    record.waiting = load_->mark();
    flipped_ = run::now();
    if (!proxy_) return;
    admit::SwitchSetting off;
    off.off = true;
    off.reason = "the demo: the database fails over";
    (void)proxy_->flip(proxy::SwitchScope::route("patient"), admit::Switch::retries, off);
  }

  void sample(LaneRecord& record) {
    load_->sample(*backends_, record);
    if (const auto at = load_->marked_ended()) record.waiting_ended = between(flipped_, *at);
  }

 private:
  // In the order in which they are needed: the load ends first.
  std::unique_ptr<DemoBackends> backends_;
  std::unique_ptr<proxy::Proxy> proxy_;
  std::unique_ptr<LoadGenerator> load_;
  Instant flipped_ = kNever;
};

Expected<std::unique_ptr<Lane>> start_unguarded(Act act, Instant begun) {
  auto backends = DemoBackends::start({});
  if (!backends) return unexpected(backends.error());
  auto load = LoadGenerator::start(unguarded_load(act, (*backends)->endpoints()), begun);
  if (!load) return unexpected(load.error());
  return std::make_unique<Lane>(std::move(*backends), nullptr, std::move(*load));
}

Expected<std::unique_ptr<Lane>> start_guarded(Act act, Instant begun, std::string& policy) {
  auto backends = DemoBackends::start({});
  if (!backends) return unexpected(backends.error());
  policy = demo_policy((*backends)->endpoints());
  const auto config = proxy::load_proxy(policy, "the demo's policy");
  if (!config) return unexpected(to_string(config.error()));
  auto proxy = proxy::Proxy::start(*config, {});
  if (!proxy) return unexpected(proxy.error());
  const std::string address = "http://127.0.0.1:" + std::to_string((*proxy)->port("demo"));
  auto load = LoadGenerator::start(guarded_load(act, address), begun);
  if (!load) return unexpected(load.error());
  return std::make_unique<Lane>(std::move(*backends), std::move(*proxy), std::move(*load));
}

}  // namespace

Expected<DemoRecord> run_demo(const DemoOptions& options,
                              const std::function<void(const ActRecord&)>& watch,
                              const std::atomic<bool>& stop) {
  DemoRecord record;
  for (const Act act : kActs) {
    if (stop.load()) break;
    const Instant begun = run::now();
    auto guarded = start_guarded(act, begun, record.policy);
    if (!guarded) return unexpected(guarded.error());
    auto unguarded = start_unguarded(act, begun);
    if (!unguarded) return unexpected(unguarded.error());

    ActRecord& seen = record.acts.emplace_back();
    seen.act = act;
    seen.times = times_of(act, options.act);
    bool flipped = false;
    for (Duration at{0}; at < seen.times.end && !stop.load(); at += kDemoBucket) {
      for (Lane* lane : {guarded->get(), unguarded->get()}) lane->apply(seen, at);
      if (seen.times.flip && at >= *seen.times.flip && !std::exchange(flipped, true)) {
        (*guarded)->flip(seen.guarded);
        (*unguarded)->flip(seen.unguarded);
      }
      std::this_thread::sleep_until(
          std::chrono::steady_clock::time_point(begun.time_since_epoch() + at + kDemoBucket));
      (*guarded)->sample(seen.guarded);
      (*unguarded)->sample(seen.unguarded);
      seen.whole = at + kDemoBucket >= seen.times.end;
      watch(seen);
    }
  }
  return record;
}

}  // namespace damper::demo
