#pragma once

#include "damper/http/server/guard.h"

namespace damper::http {

// Time that a test sets, in milliseconds; draws are all 0.
class FakeGuardClock final : public GuardClock {
 public:
  void set(std::int64_t ms) { now_ = Instant{std::chrono::milliseconds(ms)}; }
  [[nodiscard]] Instant now() noexcept override { return now_; }
  [[nodiscard]] UnixTime wall_now() noexcept override {
    return UnixTime{std::chrono::milliseconds(1'700'000'000'000)};
  }
  [[nodiscard]] double draw() noexcept override { return 0; }
  void set_alarm(Instant due) override { alarm = due; }

  Instant alarm = kNever;

 private:
  Instant now_{};
};

// A guard that works on `limit` at once.
[[nodiscard]] inline GuardOptions guard_options(std::int32_t limit, std::int32_t capacity = 100) {
  GuardOptions options;
  options.admission.limit.kind = admit::LimitKind::fixed;
  options.admission.limit.initial = limit;
  options.admission.queue.capacity = capacity;
  return options;
}

// The same, for a test in real time: nothing is shed however slow the machine is.
[[nodiscard]] inline GuardOptions patient_guard_options(std::int32_t limit) {
  GuardOptions options = guard_options(limit);
  options.admission.queue.interval = std::chrono::hours(1);
  options.admission.queue.target = std::chrono::hours(1);
  options.admission.queue.longest_retry_after = std::chrono::hours(1);
  return options;
}

}  // namespace damper::http
