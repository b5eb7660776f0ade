#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::schedule {

// ListedDelays are the delays before the retries of a delivery, one by one, each jittered.
//
// Why: a retry over days is agreed with those who receive it, as a list; no formula gives 5 s, 5
// min, 30 min, 2 h.
// Model: the delay before retry i (from 0) is U[step - spread * step, step + spread * step), so its
// mean is the step. After the last step there is no retry.
// Invariants:
//   (1) The delay is a function of the arguments alone, and at least 1 ns.
//   (2) Every delay is jittered, unless the spread is 0.
class ListedDelays {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr Range<Duration> kStep{std::chrono::milliseconds(1), kLongest};
  static constexpr Range<Percent> kSpread{Percent(0), Percent(100)};

  constexpr ListedDelays() = default;
  // Nothing: too many steps, or one out of bounds.
  [[nodiscard]] static std::optional<ListedDelays> from(std::span<const Duration> steps,
                                                        Percent spread) noexcept;
  // The schedule that Standard Webhooks recommends: nine retries over 75 h 35 min.
  [[nodiscard]] static const ListedDelays& standard_webhooks() noexcept;

  [[nodiscard]] std::span<const Duration> steps() const noexcept { return {steps_.data(), count_}; }
  [[nodiscard]] Percent spread() const noexcept { return spread_; }
  // Nothing: there is no such retry. REQUIRES: 0 <= draw < 1.
  [[nodiscard]] std::optional<Duration> delay(std::uint32_t retry, double draw) const noexcept;

  friend bool operator==(const ListedDelays&, const ListedDelays&) = default;

 private:
  std::array<Duration, kMost> steps_{};
  std::uint32_t count_ = 0;
  Percent spread_{50};
};

}  // namespace damper::schedule
