#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "damper/admit/attempt_rate.h"
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

// The parents of a dependency; they outlive it.
struct DependencyParents {
  admit::RetryBudget* budget = nullptr;  // also pays for each retry
  admit::Switches* switches = nullptr;   // of the process
};

// The Terms are the part of a policy that a call copies when it starts, and keeps until it ends.
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
  bool has_rate = false;
  bool plain = false;  // none of these, except perhaps retries and a breaker; no per_try_timeout

  [[nodiscard]] static constexpr Terms of(const CallPolicy& call, bool breaker,
                                          bool throttle = false, bool limit = false,
                                          bool rate = false) noexcept {
    const bool hedges = call.hedge.max_hedges > 0;
    return {.timeout = call.timeout,
            .per_try_timeout = call.per_try_timeout,
            .needed = call.needed,
            .reserve = call.reserve,
            .retries = call.max_attempts > 1,
            .hedges = hedges,
            .adapts = call.adaptive_timeout.on,
            .has_breaker = breaker,
            .has_throttle = throttle,
            .has_limit = limit,
            .has_rate = rate,
            .plain = call.per_try_timeout == Duration{0} && !hedges && !call.adaptive_timeout.on &&
                     !throttle && !limit && !rate};
  }
};

// The stand-ins for the parts that a small dependency does not have. They admit everything.
struct NoThrottle {
  explicit NoThrottle(const admit::ClientThrottleOptions& /*options*/) noexcept {}
  static bool try_admit(Instant /*now*/, double /*draw*/) noexcept { return true; }
  static void on_accept(Instant /*now*/) noexcept {}
  static void on_reject(Instant /*now*/) noexcept {}
  static double reject_probability(Instant /*now*/) noexcept { return 0; }
  static bool active(Instant /*now*/) noexcept { return false; }
  static void reload(const admit::ClientThrottleOptions& /*options*/, Instant /*now*/) noexcept {}
};
struct NoLimit {
  explicit NoLimit(const admit::ConcurrencyLimitOptions& /*options*/) noexcept {}
  static bool try_acquire() noexcept { return true; }
  static void release(Instant /*started*/, Instant /*now*/, bool /*dropped*/) noexcept {}
  static void release_ignored() noexcept {}
  static void reload(const admit::ConcurrencyLimitOptions& /*options*/) noexcept {}
};
struct NoHedgeBudget {
  explicit NoHedgeBudget(const admit::RetryBudgetOptions& /*options*/, void* /*parent*/) noexcept {}
  static void reload(const admit::RetryBudgetOptions& /*options*/, Instant /*now*/) noexcept {}
};
// The switches of the process alone.
class ParentSwitches {
 public:
  explicit ParentSwitches(const admit::Switches* parent) noexcept : parent_(parent) {}
  [[nodiscard]] bool off(admit::Switch which, Instant now) const noexcept {
    return parent_ != nullptr && parent_->off(which, now);
  }

 private:
  const admit::Switches* parent_;
};
struct NoRate {
  static bool try_take(Instant /*now*/) noexcept { return true; }
  static std::optional<Duration> try_reserve(Instant /*now*/, Duration /*most*/) noexcept {
    return std::nullopt;
  }
  static void give_back(Instant /*due*/, Instant /*now*/) noexcept {}
};
struct NoQuantile {};
struct NoWord {
  explicit NoWord(std::int64_t /*value*/) noexcept {}
};
struct NoTerms {
  explicit NoTerms(const Terms& /*terms*/) noexcept {}
  static void store(const Terms& /*terms*/) noexcept {}
};

template <Footprint kFootprint>
class BasicCall;

// A Dependency is the state that all calls to one service share: its policy, budget, breaker,
// throttle, limit, rate, latencies, switches and counters.
//
// Why: whether one more retry helps or hurts is a property of all calls together, never of one.
// Model: the parts, side by side. A part that the policy leaves out (a breaker, say) exists but is
// not used. reload() changes the policy under running calls: a call keeps the Terms that it started
// with, and its later decisions follow the new policy; the shared parts keep their state.
// A SmallDependency has the same calls and rules in 1 KiB, for one of many endpoints: a budget, a
// breaker, counters and a CoarseLatency, without shards; see find_error(Policy, Footprint) for the
// policies that it takes. The process's switches apply; it has none of its own.
// Invariants:
//   (1) A reload resets nothing: budget, breaker, throttle, limit and latencies carry over.
//   (2) Each transition is reported to the sink once.
// Thread safety: all methods may be called concurrently, reload() with all but itself.
// Cost: no allocation after construction. Large: about 90 KiB, most of it latencies and counters.
// Small: at most 1 KiB, and a name of over 15 characters.
template <Footprint kFootprint>
class BasicDependency {
 public:
  static constexpr bool kIsLarge = kFootprint == Footprint::large;
  using Budget = admit::BasicRetryBudget<kFootprint>;
  using Breaker = admit::BasicCircuitBreaker<kFootprint>;
  using Latencies = std::conditional_t<kIsLarge, Histogram, CoarseLatency>;

  // REQUIRES: !find_error(policy, kFootprint). The parents outlive the dependency.
  explicit BasicDependency(std::string name, const Policy& policy = {},
                           DependencyParents parents = {});
  BasicDependency(const BasicDependency&) = delete;
  BasicDependency& operator=(const BasicDependency&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  [[nodiscard]] Terms terms() const noexcept {
    if constexpr (kIsLarge) {
      return terms_.load();
    } else {
      return Terms::of(policy_.load(), has_breaker_.load(std::memory_order_relaxed));
    }
  }
  // The policy as it is now: decisions after the first attempt follow it.
  [[nodiscard]] CallPolicy policy() const noexcept { return policy_.load(); }

  // REQUIRES: !find_error(policy, kFootprint).
  void reload(const Policy& policy, Instant now);

  [[nodiscard]] Budget& budget() noexcept { return budget_; }
  [[nodiscard]] Breaker& breaker() noexcept { return breaker_; }
  [[nodiscard]] const Latencies& latencies() const noexcept { return latencies_; }
  [[nodiscard]] Tally tally() const noexcept { return counters_.read(); }

  // The parts of a large dependency.
  [[nodiscard]] auto& hedge_budget() noexcept
    requires kIsLarge
  {
    return hedge_budget_;
  }
  [[nodiscard]] auto& throttle() noexcept
    requires kIsLarge
  {
    return throttle_;
  }
  [[nodiscard]] auto& limit() noexcept
    requires kIsLarge
  {
    return limit_;
  }
  [[nodiscard]] auto& switches() noexcept
    requires kIsLarge
  {
    return switches_;
  }

  // nullptr: no policy of it had a rate.
  [[nodiscard]] const admit::AttemptRate* attempt_rate() const noexcept
    requires kIsLarge
  {
    return rate_.load(std::memory_order_acquire);
  }

  // Sets a switch of this dependency, and reports it to the sink.
  void flip(admit::Switch which, const admit::SwitchSetting& setting, Instant now)
    requires kIsLarge;

  // Holds the breaker open or closed by hand, or resets it, and reports it to the sink. False: the
  // policy has no breaker. Then only a reset has an effect, on one that a later policy brings back.
  bool force(const admit::BreakerForceSetting& setting, Instant now);

  // The sink outlives the dependency, or is set to nullptr before it is destroyed.
  void report_to(EventSink* sink) noexcept { sink_.store(sink, std::memory_order_release); }

 private:
  friend class BasicCall<kFootprint>;  // Only the state machine changes the shared parts.

  template <class Large, class Small>
  using Either = std::conditional_t<kIsLarge, Large, Small>;

  void emit(const Event& event) noexcept;
  void emit(EventKind kind, Instant now, std::int64_t count = 0, Duration length = {}) noexcept;

  // The reports of a call.
  void on_budget_refusal(Instant now) noexcept;
  void on_success(Instant now) noexcept {
    budget_.on_success(now);
    if (streak_.is_running() || exhausted_.load(std::memory_order_relaxed)) [[unlikely]] {
      on_recovery(now);
    }
  }
  void on_recovery(Instant now) noexcept;
  void on_failure(Instant now) noexcept;
  // An attempt timed out that had only the time `had` of the `given`, since its caller has no more.
  // Whether it counts as a failure of the dependency all the same: the dependency has answered
  // nothing for half of `given`, and `had` is ample: at least the 99th percentile of the latencies
  // before (small: four times their mean). If none are known, no time is ample.
  [[nodiscard]] bool on_cut_short(Duration had, Duration given, Instant now) noexcept;
  void learn_ample(Instant now) noexcept;
  [[nodiscard]] std::optional<Duration> ample() const noexcept;
  void on_breaker(admit::Transition transition, Instant now) noexcept;
  void on_breaker(admit::BreakerPermit permit, Instant now) noexcept;
  // The budget that pays for an attempt: a hedge pays its own and, as its parent, the retries'.
  [[nodiscard]] Budget& budget_of(bool hedge) noexcept {
    if constexpr (kIsLarge) {
      if (hedge) return hedge_budget_;
    }
    return budget_;
  }
  // REQUIRES: terms().has_rate, now or before.
  [[nodiscard]] auto& rate() noexcept {
    if constexpr (kIsLarge) {
      return *rate_.load(std::memory_order_acquire);
    } else {
      return rate_;
    }
  }
  void use_rate(const Policy& policy, Instant now);
  [[nodiscard]] std::optional<Duration> live_timeout(const CallPolicy& policy,
                                                     Instant now) noexcept;
  [[nodiscard]] std::optional<Duration> live_hedge(const CallPolicy& policy, Instant now) noexcept;

  static constexpr std::int64_t kUnknown = -1;

  const std::string name_;
  [[no_unique_address]] Either<Seqlock<Terms>, NoTerms> terms_;  // small: made of policy_
  Seqlock<CallPolicy> policy_;
  std::atomic<EventSink*> sink_{nullptr};
  std::atomic<bool> exhausted_{false};  // the budget, since the last refill
  std::atomic<bool> has_breaker_;
  Either<admit::Switches, ParentSwitches> switches_;
  Budget budget_;
  [[no_unique_address]] Either<Budget, NoHedgeBudget> hedge_budget_;  // its parent is budget_
  Breaker breaker_;
  [[no_unique_address]] Either<admit::ClientThrottle, NoThrottle> throttle_;
  [[no_unique_address]] Either<admit::ConcurrencyLimit, NoLimit> limit_;
  // Created by the first policy that has one, since most have none; then it stays.
  struct NoOwner {};
  [[no_unique_address]] Either<std::unique_ptr<admit::AttemptRate>, NoOwner> own_rate_;
  [[no_unique_address]] Either<std::atomic<admit::AttemptRate*>, NoRate> rate_{};
  FailureStreak streak_;
  QuietPeriod growing_;
  [[no_unique_address]] Either<LiveQuantile, NoQuantile> timeout_quantile_;
  [[no_unique_address]] Either<LiveQuantile, NoQuantile> hedge_quantile_;
  [[no_unique_address]] Either<LiveQuantile, NoQuantile> ample_quantile_;
  [[no_unique_address]] Either<std::atomic<std::int64_t>, NoWord> ample_{kUnknown};
  Latencies latencies_;
  BasicCounters<kFootprint> counters_;
};

using Dependency = BasicDependency<Footprint::large>;
using SmallDependency = BasicDependency<Footprint::small>;

extern template class BasicDependency<Footprint::large>;
extern template class BasicDependency<Footprint::small>;

static_assert(sizeof(SmallDependency) <= 1024);

// Emits breaker_forced for a breaker, of a dependency or of a replica.
void report_force(EventSink* sink, std::string_view key, const admit::BreakerForceSetting& setting,
                  Instant now);

// Emits switch_flipped for a scope that has no Dependency of its own: a cluster, the process.
void report_flip(EventSink* sink, std::string_view key, admit::Switch which,
                 const admit::SwitchSetting& setting, Instant now);

}  // namespace damper::engine
