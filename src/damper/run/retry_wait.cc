#include "damper/run/retry_wait.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "damper/admit/switches.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"
#include "damper/run/waiting_calls.h"

namespace damper {
namespace run {
namespace {

// The threads of the process that wait for a retry. Never destroyed: a detached thread may still
// wait when the program ends.
class WaitingThreads final : public admit::FlipListener {
 public:
  void on_flip() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      ++flips_;
    }
    flipped_.notify_all();
  }

  [[nodiscard]] std::uint64_t flips() {
    const std::lock_guard lock(mutex_);
    return flips_;
  }

  void wait_until(Instant until, std::uint64_t flips, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    flipped_.wait_until(lock, stop, steady_time(until), [&] { return flips_ != flips; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any flipped_;
  std::uint64_t flips_ = 0;
};

WaitingThreads& waiting_threads() {
  static WaitingThreads& threads = *new WaitingThreads;
  return threads;
}

}  // namespace

const engine::Step& wait_for_retry(engine::Call& call, const std::stop_token& stop) {
  if (stop.stop_requested()) return call.on_cancel(now());
  const std::uint64_t flips = waiting_threads().flips();
  const engine::Step& step = call.on_timer(now(), draw());  // Sees every flip before that count.
  if (step.over() || step.sends) return step;
  waiting_threads().wait_until(step.wake, flips, stop);
  return stop.stop_requested() ? call.on_cancel(now()) : call.on_timer(now(), draw());
}

}  // namespace run

admit::Switches& switches() {
  static admit::Switches& switches = *[] {
    auto* process = new admit::Switches;
    process->listen(run::waiting_threads());
    process->listen(run::WaitingCalls::of_process());
    return process;
  }();
  return switches;
}

}  // namespace damper
