#include "damper/demo/storm.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "damper/run/blocking.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::demo {
namespace {

// Never returns early: nobody arrives before his time.
void sleep_until(Instant until) {
  for (Instant now = run::now(); now < until; now = run::now()) {
    std::this_thread::sleep_for(until - now);
  }
}

// Where all clients wait until everybody is there.
class Gate {
 public:
  void open(Instant start) {
    {
      const std::lock_guard lock(mutex_);
      start_ = start;
    }
    opened_.notify_all();
  }
  [[nodiscard]] Instant wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return start_.has_value(); });
    return *start_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::optional<Instant> start_;
};

// One client's wire to the backend, with a tape on it. Only his thread touches it.
class Wire {
 public:
  explicit Wire(const StormOptions& options) {
    const auto calls = static_cast<std::size_t>(options.end() / options.every + 1);
    record_.calls.reserve(calls);
    record_.arrivals.reserve(2 * calls);
  }
  void connect(Backend& backend, Instant start) {
    backend_ = &backend;
    start_ = start;
  }

  // One attempt: waits for the answer, but not for longer than `patience`.
  [[nodiscard]] decide::Outcome send(std::uint32_t attempt, Instant patience = kNever) {
    const Instant now = run::now();
    const std::optional<Instant> answer = backend_->admit(now, attempt);
    record_.arrivals.push_back(
        {.at = now - start_, .attempt = attempt, .served = answer.has_value()});
    if (!answer) return decide::classify_http(503);
    sleep_until(std::min(*answer, patience));
    return *answer <= patience ? decide::Outcome::success : decide::Outcome::timeout;
  }

  // Keeps the schedule until the end: `call` makes a call and says whether it succeeded.
  template <class Call>
  void keep_calling(const StormOptions& options, const Call& call) {
    for (std::int64_t number = 0; number * options.every < options.end();
         number = next_call(run::now() - start_, options.every)) {
      sleep_until(start_ + number * options.every);
      const std::size_t arrivals = record_.arrivals.size();
      const Instant started = run::now();
      const bool succeeded = call(*this);
      record_.calls.push_back(
          {.started = started - start_,
           .ended = run::now() - start_,
           .attempts = static_cast<std::uint32_t>(record_.arrivals.size() - arrivals),
           .succeeded = succeeded});
    }
  }

  [[nodiscard]] const FleetRecord& record() const { return record_; }

 private:
  Backend* backend_ = nullptr;
  Instant start_{};
  FleetRecord record_;
};

// The loop that everybody has written once: back off exponentially, give up after a few attempts.
bool call_naively(Wire& wire, const StormOptions& options) {
  Duration delay = options.naive_delay;
  for (std::uint32_t attempt = 1;; ++attempt) {
    if (wire.send(attempt) == decide::Outcome::success) return true;
    if (attempt == options.naive_attempts) return false;
    sleep_until(run::now() + delay);
    delay = std::min(delay * 2, options.naive_cap);
  }
}

bool call_guarded(Wire& wire, Dependency& dependency) {
  return static_cast<bool>(call(dependency, {.idempotent = true}, [&](const Attempt& attempt) {
    return wire.send(attempt.number(), attempt.deadline());
  }));
}

FleetRecord merged(const std::vector<Wire>& wires) {
  FleetRecord all;
  for (const Wire& wire : wires) {
    const FleetRecord& one = wire.record();
    all.arrivals.insert(all.arrivals.end(), one.arrivals.begin(), one.arrivals.end());
    all.calls.insert(all.calls.end(), one.calls.begin(), one.calls.end());
  }
  return all;
}

}  // namespace

StormRecord run_storm(const StormOptions& options,
                      const std::function<void(const StormProgress&)>& watch) {
  const auto clients = static_cast<std::size_t>(options.clients);
  Dependency dependency("drill", options.policy);
  std::vector<Wire> naive_wires(clients, Wire(options));
  std::vector<Wire> guarded_wires(clients, Wire(options));
  std::optional<Backend> naive;
  std::optional<Backend> guarded;
  Gate gate;
  const auto naively = [&](Wire& wire) { return call_naively(wire, options); };
  const auto with_damper = [&](Wire& wire) { return call_guarded(wire, dependency); };
  const auto client = [&](Wire& wire, std::optional<Backend>& backend, const auto& make_call) {
    const Instant start = gate.wait();
    if (start == kNever) return;
    wire.connect(*backend, start);
    wire.keep_calling(options, make_call);
  };
  {
    std::vector<std::jthread> threads;  // Joined at the end of this block, and if one fails.
    threads.reserve(2 * clients);
    try {
      for (std::size_t i = 0; i < clients; ++i) {
        threads.emplace_back([&, i] { client(naive_wires[i], naive, naively); });
        threads.emplace_back([&, i] { client(guarded_wires[i], guarded, with_damper); });
      }
    } catch (...) {
      gate.open(kNever);
      throw;
    }
    // All threads are awake by then, so that the first calls arrive together.
    const Instant start = run::now() + std::chrono::milliseconds(200);
    naive.emplace(options, start);
    guarded.emplace(options, start);
    gate.open(start);
    for (Duration at{0}; at <= options.end(); at += kBucket) {
      sleep_until(start + at);
      const Duration now = run::now() - start;
      watch({.at = now,
             .down = options.is_down(now),
             .naive = naive->count(),
             .guarded = guarded->count()});
    }
  }
  return {merged(naive_wires), merged(guarded_wires), dependency.tally()};
}

}  // namespace damper::demo
