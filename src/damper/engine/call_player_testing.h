#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"
#include "damper/engine/call.h"
#include "damper/engine/call_script_testing.h"

namespace damper::engine {

// A Player plays a script in virtual time and writes down what the call wanted done: the driver
// that all others are compared with, in tests.
template <Footprint kFootprint>
class BasicPlayer {
 public:
  using Dependency = BasicDependency<kFootprint>;
  static constexpr Instant kStart{std::chrono::seconds(1000)};

  explicit BasicPlayer(Dependency& dependency,
                       CallOptions options = {.request = {.idempotent = true, .safe = true}},
                       double draw = 0.5)
      : call_(dependency, options), draw_(draw) {}

  std::string play(std::string_view text, Instant start = kStart) {
    script_ = parse_script(text);
    now_ = start;
    call_.start(now_, draw_);
    apply(call_.step());
    for (int i = 0; i < 1'000 && !over_; ++i) next();
    DAMPER_CHECK(over_);  // Or the call does not end.
    return trace_.text();
  }

  [[nodiscard]] BasicCall<kFootprint>& call() { return call_; }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  struct Pending {
    Instant due{};
    decide::Report report;
  };

  void next() {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i] && (!first || lanes_[i]->due < lanes_[*first]->due)) first = i;
    }
    if (first && lanes_[*first]->due <= wake_) {
      const Pending pending = *lanes_[*first];
      lanes_[*first].reset();
      now_ = std::max(now_, pending.due);
      call_.on_outcome(static_cast<int>(*first), pending.report, now_, draw_);
      apply(call_.step());
    } else {
      if (!first) trace_.waited(between(now_, wake_));
      now_ = wake_;
      call_.on_timer(now_, draw_);
      apply(call_.step());
    }
  }

  void apply(const Step& step) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((step.cancels >> lane & 1) == 0) continue;
      trace_.cancelled(lane);
      lanes_[static_cast<std::size_t>(lane)].reset();
    }
    wake_ = step.wake;
    if (step.over()) {
      trace_.ended(name(step.verdict));
      over_ = true;
      return;
    }
    if (!step.sends) return;
    trace_.sent(step.attempt.hedge);
    DAMPER_CHECK(step.attempt.number <= script_.size());
    const ScriptedAttempt& scripted = script_[step.attempt.number - 1];
    lanes_[step.attempt.lane] = Pending{now_ + scripted.takes, scripted.report};
  }

  BasicCall<kFootprint> call_;
  double draw_;
  std::vector<ScriptedAttempt> script_;
  std::array<std::optional<Pending>, kLanes> lanes_;
  Instant now_{};
  Instant wake_ = kNever;
  bool over_ = false;
  Trace trace_;
};

using Player = BasicPlayer<Footprint::large>;

// The policy of most scripts: backoff of 25 and 50 ms, so that a draw of 0.5 waits 12 and 25, and a
// budget that never runs out.
[[nodiscard]] inline Policy scripted_policy() {
  using std::chrono::milliseconds;
  Policy policy;
  policy.call.timeout = milliseconds(1000);
  policy.call.backoff = {.base = milliseconds(25), .cap = milliseconds(250)};
  policy.budget = {.percent = Percent(1000), .reserve = 100};
  return policy;
}

inline constexpr CallOptions kRead = {.request = {.idempotent = true, .safe = true}};

// Hedging: a hundred answers of 10 ms are known; a hedge is sent after their 95th percentile.
[[nodiscard]] inline Policy hedging(std::int32_t max_hedges = 1) {
  Policy policy = scripted_policy();
  policy.call.hedge = {.max_hedges = max_hedges, .min_samples = 100, .ratio = Percent(100)};
  return policy;
}

inline void warm(Dependency& dependency) {
  const Instant before = Player::kStart - std::chrono::seconds(10);
  for (int i = 0; i < 100; ++i) (void)Player(dependency, {}).play(".10", before);
}

// Twenty quick calls: each pays for a hedge.
inline void pay_for_hedges(Dependency& dependency) {
  for (int i = 0; i < 20; ++i) (void)Player(dependency).play(".5");
}

}  // namespace damper::engine
