#include "damper/demo/storm.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "damper/demo/demo_backends.h"
#include "damper/demo/load_generator.h"
#include "damper/run/clock.h"

namespace damper::demo {
namespace {

std::optional<Duration> back_after(const LaneRecord& lane, const StormOptions& options) {
  std::vector<std::int64_t> successes(
      static_cast<std::size_t>(options.after / options.every));  // in each whole window
  for (const LoadCall& call : lane.calls) {
    if (!call.answered || call.ended < options.back_at()) continue;
    const auto window = static_cast<std::size_t>((call.ended - options.back_at()) / options.every);
    if (window < successes.size()) ++successes[window];
  }
  const auto full = std::find_if(successes.begin(), successes.end(), [&](std::int64_t count) {
    return count * 100 >= std::int64_t{options.clients} * 99;
  });
  if (full == successes.end()) return std::nullopt;
  return options.every * (full - successes.begin());
}

constexpr std::size_t kWorkers = 4;  // of each backend

// One side, running.
struct Side {
  std::unique_ptr<DemoBackends> backends;
  std::unique_ptr<LoadGenerator> load;
};

Expected<Side> start(const StormOptions& options, LoadOptions load, Instant begun) {
  const Duration all_workers = std::chrono::seconds(kWorkers * kDemoBackends);
  auto backends = DemoBackends::start(
      {.workers = kWorkers, .service = all_workers / options.capacity_per_second});
  if (!backends) return unexpected(backends.error());
  load.targets = (*backends)->endpoints();
  load.clients = options.clients;
  load.every = options.every;
  load.until = options.end();
  auto generator = LoadGenerator::start(load, begun);
  if (!generator) return unexpected(generator.error());
  return Side{std::move(*backends), std::move(*generator)};
}

}  // namespace

Expected<StormRecord> run_storm(const StormOptions& options,
                                const std::function<void(const StormRecord&)>& watch) {
  // Everything has started by then, so that the first calls arrive together.
  const Instant begun = run::now() + std::chrono::milliseconds(200);
  auto naive = start(options,
                     {.attempts = options.naive_attempts,
                      .delay = options.naive_delay,
                      .longest_delay = options.naive_cap,
                      .attempt_timeout = std::chrono::seconds(30)},
                     begun);
  if (!naive) return unexpected(naive.error());
  auto guarded = start(options, {.policy = options.policy}, begun);
  if (!guarded) return unexpected(guarded.error());
  StormRecord record;
  const auto sample = [&](bool late) {
    naive->load->sample(*naive->backends, record.naive, late);
    guarded->load->sample(*guarded->backends, record.guarded, late);
  };
  for (Duration at{0}; at < options.end(); at += kDemoBucket) {
    const Duration next = at + kDemoBucket;
    std::this_thread::sleep_until(run::steady_time(begun + next));
    for (const Side* side : {&*naive, &*guarded}) side->backends->set_down(options.is_down(next));
    sample(false);
    watch(record);
  }
  while (naive->load->under_way() + guarded->load->under_way() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  sample(true);
  record.tally = guarded->load->tally();
  return record;
}

Findings find(const LaneRecord& lane, const StormOptions& options) {
  Findings findings;
  findings.offered =
      options.clients * ((options.end() + options.every - Duration{1}) / options.every);
  findings.calls = static_cast<std::int64_t>(lane.calls.size());
  findings.attempts = std::accumulate(lane.attempts.begin(), lane.attempts.end(), std::int64_t{0});
  std::int64_t while_down = 0;
  std::int64_t their_attempts = 0;
  for (const LoadCall& call : lane.calls) {
    if (call.answered) ++findings.succeeded;
    if (!options.is_down(call.started)) continue;
    ++while_down;
    their_attempts += call.attempts;
  }
  if (while_down > 0) {
    findings.attempts_per_call =
        static_cast<double>(their_attempts) / static_cast<double>(while_down);
  }
  for (const std::uint32_t retries : lane.retries) {
    findings.tallest_retries = std::max(findings.tallest_retries, static_cast<int>(retries));
  }
  findings.back_after = back_after(lane, options);
  return findings;
}

std::array<Promise, 4> promises(const Findings& naive, const Findings& guarded) {
  return {{{"naive: more than 3 attempts for each call while it is down: a storm",
            naive.attempts_per_call > kNaiveAttemptsPerCall},
           {"guarded: at most 1.12 attempts for each call while it is down",
            guarded.attempts_per_call <= kGuardedAttemptsPerCall},
           {"guarded: the tallest 100 ms of retries at least 5 times lower",
            guarded.tallest_retries * kTimesLower <= naive.tallest_retries},
           {"guarded: 99 % of what is offered succeeds within 2 s of the return",
            guarded.back_after && *guarded.back_after <= kBackWithin}}};
}

}  // namespace damper::demo
