#ifndef DAMPER_ENGINE_DEPENDENCY_H_
#define DAMPER_ENGINE_DEPENDENCY_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/client_throttle.h"
#include "damper/admit/concurrency_limit.h"
#include "damper/admit/retry_budget.h"
#include "damper/admit/switches.h"
#include "damper/base/histogram.h"
#include "damper/base/seqlock.h"
#include "damper/engine/event.h"
#include "damper/engine/failure_streak.h"
#include "damper/engine/policy.h"
#include "damper/engine/tally.h"

namespace damper::engine {

// Whom a dependency is under; they outlive it.
struct DependencyParents {
  admit::RetryBudget* budget = nullptr;  // has to agree to each retry
  admit::Switches* switches = nullptr;   // the process's
};

// A Dependency is what all calls to one service share: its policy, budget, breaker, throttle,
// limit, latencies, switches and counters.
//
// Why: whether one more retry helps or hurts is a property of all calls together, never of one.
// Model: the parts, side by side. A part that the policy leaves out (a breaker, say) is there but
// not asked. reload() changes the policy under running calls: a call keeps the deadline that it
// started with, and its later decisions follow the new policy; the shared parts keep their state.
// Invariants:
//   (1) A reload resets nothing: budget, breaker, throttle, limit and latencies carry over.
//   (2) Each transition is reported to the sink once.
// Thread safety: all methods may be called concurrently, reload() with all but itself.
// Cost: about 90 KiB, most of it latencies and counters; no allocation after construction.
class Dependency {
 public:
  // REQUIRES: !find_error(policy). The parents outlive the dependency.
  explicit Dependency(std::string name, const Policy& policy = {}, DependencyParents parents = {});
  Dependency(const Dependency&) = delete;
  Dependency& operator=(const Dependency&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // What a call needs of the policy when it starts, and keeps.
  struct Terms {
    Duration timeout{0};
    Duration per_try_timeout{0};
    Duration needed{0};
    Duration reserve{0};
    bool retries = false;  // more than one attempt
    bool hedges = false;
    bool adapts = false;  // the timeout of an attempt follows the live latencies
    bool has_breaker = false;
    bool has_throttle = false;
    bool has_limit = false;
    bool plain = false;  // nothing of it but perhaps a breaker and retries
  };
  [[nodiscard]] Terms terms() const noexcept { return terms_.load(); }
  // All of it, as it is now: what a decision after the first attempt goes by.
  [[nodiscard]] CallPolicy policy() const noexcept { return policy_.load(); }

  // REQUIRES: !find_error(policy).
  void reload(const Policy& policy, Instant now);

  [[nodiscard]] admit::RetryBudget& budget() noexcept { return budget_; }
  [[nodiscard]] admit::RetryBudget& hedge_budget() noexcept { return hedge_budget_; }
  [[nodiscard]] admit::CircuitBreaker& breaker() noexcept { return breaker_; }
  [[nodiscard]] admit::ClientThrottle& throttle() noexcept { return throttle_; }
  [[nodiscard]] admit::ConcurrencyLimit& limit() noexcept { return limit_; }
  [[nodiscard]] admit::Switches& switches() noexcept { return switches_; }
  [[nodiscard]] const Histogram& latencies() const noexcept { return latencies_; }
  [[nodiscard]] Tally tally() const noexcept { return counters_.read(); }

  // Turns a switch of this dependency, and tells the sink.
  void flip(admit::Switch which, const admit::SwitchSetting& setting, Instant now);

  // The sink outlives the dependency, or is set to nullptr before it goes.
  void report_to(EventSink* sink) noexcept { sink_.store(sink, std::memory_order_release); }

 private:
  friend class Call;  // The state machine alone moves what is shared.

  static admit::RetryBudgetOptions hedge_budget_options(const Policy& policy) noexcept;
  void emit(const Event& event) noexcept;
  void emit(EventKind kind, Instant now, std::int64_t count = 0, Duration length = {}) noexcept;

  // What a call tells, and what becomes of it.
  void on_budget_refusal(Instant now) noexcept;
  [[gnu::always_inline]] void on_success(Instant now) noexcept {
    budget_.on_success(now);
    if (streak_.is_running() || exhausted_.load(std::memory_order_relaxed)) [[unlikely]] {
      on_recovery(now);
    }
  }
  void on_recovery(Instant now) noexcept;
  void on_failure(Instant now) noexcept;
  void on_breaker(admit::Transition transition, Instant now) noexcept;
  [[nodiscard]] std::optional<Duration> live_timeout(const CallPolicy& policy,
                                                     Instant now) noexcept;
  [[nodiscard]] std::optional<Duration> live_hedge(const CallPolicy& policy, Instant now) noexcept;

  const std::string name_;
  Seqlock<Terms> terms_;
  Seqlock<CallPolicy> policy_;
  std::atomic<EventSink*> sink_{nullptr};
  std::atomic<bool> exhausted_{false};  // the budget, since the last refill
  admit::Switches switches_;
  admit::RetryBudget budget_;
  admit::RetryBudget hedge_budget_;  // inside budget_: a hedge pays both
  admit::CircuitBreaker breaker_;
  admit::ClientThrottle throttle_;
  admit::ConcurrencyLimit limit_;
  FailureStreak streak_;
  Quiet growing_;
  LiveQuantile timeout_quantile_;
  LiveQuantile hedge_quantile_;
  Histogram latencies_;
  Counters counters_;
};

// Emits switch_flipped for a scope that has no Dependency of its own: a cluster, the process.
void report_flip(EventSink* sink, std::string_view key, admit::Switch which,
                 const admit::SwitchSetting& setting, Instant now);

}  // namespace damper::engine

#endif  // DAMPER_ENGINE_DEPENDENCY_H_
