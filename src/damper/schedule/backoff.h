#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"

namespace damper::schedule {

// How the delay before a retry is spread over its interval.
enum class Jitter : std::uint8_t {
  none,          // The ceiling itself. Clients that failed together retry together.
  full,          // U[0, ceiling): the widest spread, the default.
  equal,         // ceiling/2 + U[0, ceiling/2): a least delay, at the price of a narrower spread.
  decorrelated,  // U[base, min(cap, 3 * previous)): wide, and grows with what was drawn before.
};

inline constexpr EnumNames<Jitter::decorrelated> kJitterNames = {"none", "full", "equal",
                                                                 "decorrelated"};
[[nodiscard]] constexpr std::string_view name(Jitter jitter) noexcept {
  return kJitterNames[jitter];
}

struct BackoffOptions {
  static constexpr Range<Duration> kBase{Duration{1}, kLongest};

  Jitter jitter = Jitter::full;
  Duration base = std::chrono::milliseconds(500);
  Duration cap = std::chrono::seconds(5);  // [base, kLongest]; over base if decorrelated

  friend bool operator==(const BackoffOptions&, const BackoffOptions&) = default;
};

// The first invalid field, with its value and bound; nothing when the options are valid.
[[nodiscard]] std::optional<std::string> find_error(const BackoffOptions& options);

// The delay before retry number `retry` (from 0), and the state that the next one needs.
//
// Model: ceiling = min(cap, base * 2^retry), saturating. The cap bounds the interval *before* the
// draw, so no strategy puts probability mass on the cap (the textbook's min(cap, U(...)) puts up
// to two thirds of it there: a herd at the ceiling).
// Invariants:
//   (1) 0 <= delay <= cap; with any jitter but none, delay < cap unless the interval is empty.
//   (2) The delay is a function of the arguments alone.
//   (3) Every attempt is jittered, the first and the capped ones included.
// Cost: a few arithmetic instructions.
class Backoff {
 public:
  Backoff() = default;
  // Continues where another one, of which `previous` was stored, has stopped.
  explicit Backoff(Duration previous) noexcept : previous_(previous) {}
  [[nodiscard]] Duration previous() const noexcept { return previous_; }

  // REQUIRES: 0 <= draw < 1; the options are valid.
  [[nodiscard]] Duration next(const BackoffOptions& options, std::uint32_t retry,
                              double draw) noexcept;

 private:
  Duration previous_{0};  // The last delay of decorrelated; 0 before the first.
};

// min(cap, base * 2^retry), saturating. REQUIRES: valid options.
[[nodiscard]] Duration ceiling(const BackoffOptions& options, std::uint32_t retry) noexcept;

}  // namespace damper::schedule
