#include "damper/run/parking.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "damper/admit/switches.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"
#include "damper/run/parked_calls.h"

namespace damper {
namespace run {
namespace {

// Where the waiting threads of the process are. Never destroyed: a detached thread may still wait
// in it when the program ends.
class Parking final : public admit::FlipListener {
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

Parking& parking() {
  static Parking& parking = *new Parking;
  return parking;
}

}  // namespace

void park(engine::Call& call, const std::stop_token& stop) {
  if (stop.stop_requested()) return call.on_cancel(now());
  const std::uint64_t flips = parking().flips();
  call.on_timer(now(), draw());  // Sees every flip before that count.
  if (call.step().over() || call.step().sends) return;
  parking().wait_until(call.step().wake, flips, stop);
  if (stop.stop_requested()) return call.on_cancel(now());
  call.on_timer(now(), draw());
}

}  // namespace run

admit::Switches& switches() {
  static admit::Switches& switches = *[] {
    auto* process = new admit::Switches;
    process->listen(run::parking());
    process->listen(run::ParkedCalls::of_process());
    return process;
  }();
  return switches;
}

}  // namespace damper
