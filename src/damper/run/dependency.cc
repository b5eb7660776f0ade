#include "damper/run/dependency.h"

#include <condition_variable>
#include <cstdint>
#include <string>

#include "damper/base/check.h"
#include "damper/run/clock.h"

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

// Never destroyed: neither are the switches that it listens to.
WaitingCalls& WaitingCalls::of_process() {
  static WaitingCalls& calls = *new WaitingCalls;
  return calls;
}

void WaitingCalls::add(WaitingCall& call) {
  DAMPER_CHECK(!call.in_line_);
  const std::lock_guard lock(mutex_);
  call.in_line_ = true;
  call.previous_ = nullptr;
  call.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &call;
  first_ = &call;
}

void WaitingCalls::remove(WaitingCall& call) {
  if (!call.in_line_) return;
  const std::lock_guard lock(mutex_);
  call.in_line_ = false;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
  (call.previous_ != nullptr ? call.previous_->next_ : first_) = call.next_;
}

void WaitingCalls::on_flip() noexcept {
  const std::lock_guard lock(mutex_);
  for (WaitingCall* call = first_; call != nullptr; call = call->next_) call->on_flip();
}

void wait_for_retry(engine::Call& call, const std::stop_token& stop) {
  if (stop.stop_requested()) return call.on_cancel(now());
  const std::uint64_t flips = waiting_threads().flips();
  call.on_timer(now(), draw());  // Sees every flip before that count.
  if (call.step().over() || call.step().sends) return;
  waiting_threads().wait_until(call.step().wake, flips, stop);
  if (stop.stop_requested()) return call.on_cancel(now());
  call.on_timer(now(), draw());
}

}  // namespace run

void Dependency::check_unused() const noexcept {
  const std::uint64_t calls = tally().in_flight();
  if (calls == 0) [[likely]]
    return;
  const std::string sentence = "the dependency " + name() + " is destroyed while calls of it (" +
                               std::to_string(calls) + ") are in flight; it must outlive its calls";
  check_failed(sentence.c_str(), __FILE__, __LINE__);
}

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
