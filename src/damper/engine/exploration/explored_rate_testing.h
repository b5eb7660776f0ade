#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "damper/admit/attempt_rate.h"
#include "damper/engine/step.h"

namespace damper::engine {

// An ExploredRate is the shadow of a dependency's attempt rate: it takes, reserves and gives back
// what invariant (5) of Call requires for the steps of a call. For tests.
class ExploredRate {
 public:
  explicit ExploredRate(const admit::AttemptRateOptions& options)
      : rate_(options),
        interval_(static_cast<std::int64_t>(1e9 / options.bucket.rate_per_second)),
        burst_(options.bucket.burst) {}

  // The call has made a step. `reserved`: when the token is due that the call now has reserved;
  // nothing: it has none. `most`: the wait that its deadline leaves. Returns the fault, or nothing.
  [[nodiscard]] std::string_view on_step(const Step& step, std::optional<Instant> reserved,
                                         Duration most, Instant now) {
    if (!step.over() && step.sends) {
      if (token_ && !step.attempt.hedge) {
        if (reserved) return "(5) a reserved token is used for two attempts";
        if (now < *token_) return "(5) an attempt is sent before its token is due";
        token_.reset();
        return {};
      }
      if (!try_take(now)) return "(5) an attempt is sent without a token";
    }
    if (token_ && reserved != token_) {
      rate_.give_back(*token_, now);
      returned_.at(returns_++) = *token_;
      token_.reset();
    }
    if (step.over()) {
      if (reserved) return "(5) a call that is over has a token";
      const bool refused = step.verdict == Verdict::rate_limited;
      if (refused && rate_.try_reserve(now, most)) return "(5) a token in time is not waited for";
    }
    if (!reserved || token_) return {};
    const std::optional<Duration> wait = rate_.try_reserve(now, most);
    if (!wait || now + *wait != *reserved) return "(5) an attempt does not wait for the next token";
    token_ = reserved;
    if (!was_returned(*reserved, *reserved)) promise(now);
    return {};
  }
  [[nodiscard]] bool try_take(Instant now) {
    if (!rate_.try_take(now)) return false;
    if (!was_returned(oldest(now), now)) promise(now);
    return true;
  }
  // REQUIRES: the same bucket as before.
  void reload(const admit::AttemptRateOptions& options, Instant now) {
    rate_.reload(options, now);
    returns_ = 0;
  }

  // What decides which tokens there are from now on: until when they are promised, and which of
  // them were given back.
  [[nodiscard]] std::uint64_t digest(Instant now) const {
    std::uint64_t hash = ticks(std::max(promised_, now));
    for (std::size_t i = 0; i < returns_; ++i) {
      if (returned_.at(i) >= oldest(now)) hash += ticks(returned_.at(i)) * 0x9e3779b97f4a7c15U;
    }
    return hash;
  }

  // Whether the next callers get the same tokens of both, at once and later; they take them.
  [[nodiscard]] bool takes_the_same(admit::AttemptRate& real, Instant now) {
    bool same = true;
    for (const Duration later : {std::chrono::milliseconds(0), std::chrono::milliseconds(40)}) {
      const Instant at = now + later;
      for (int i = 0; i < 3; ++i) same = same && real.try_take(at) == rate_.try_take(at);
      for (int i = 0; i < 3; ++i) {
        same = same && real.try_reserve(at, kMost) == rate_.try_reserve(at, kMost);
      }
    }
    return same;
  }

 private:
  static constexpr Duration kMost = std::chrono::hours(1);

  static std::uint64_t ticks(Instant at) {
    return static_cast<std::uint64_t>(at.time_since_epoch().count());
  }
  [[nodiscard]] Instant oldest(Instant now) const { return now - (burst_ - 1) * interval_; }
  void promise(Instant now) { promised_ = std::max(promised_, now) + interval_; }
  // Forgets the first token that was given back and is due from `from` to `to`, if there is one.
  [[nodiscard]] bool was_returned(Instant from, Instant to) {
    std::size_t first = returns_;
    for (std::size_t i = 0; i < returns_; ++i) {
      const bool is_in = returned_.at(i) >= from && returned_.at(i) <= to;
      if (is_in && (first == returns_ || returned_.at(i) < returned_.at(first))) first = i;
    }
    if (first == returns_) return false;
    returned_.at(first) = returned_.at(--returns_);
    return true;
  }

  admit::AttemptRate rate_;
  Duration interval_;
  std::int32_t burst_;
  std::optional<Instant> token_;  // reserved by the call
  Instant promised_{};            // the theoretical arrival time of the bucket
  std::array<Instant, 32> returned_{};
  std::size_t returns_ = 0;
};

}  // namespace damper::engine
