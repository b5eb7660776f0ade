#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/atomic.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/seqlock.h"

namespace damper::admit {

struct TokenBucketOptions {
  static constexpr Range<double> kRatePerSecond{0.001, 100e6};
  static constexpr Range<std::int32_t> kBurst{1, 1'000'000};

  double rate_per_second = 10;
  std::int32_t burst = 100;

  friend bool operator==(const TokenBucketOptions&, const TokenBucketOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const TokenBucketOptions& options);

// A TokenBucket bounds a rate: `rate_per_second`, and a burst of `burst` after a quiet time.
//
// Why: a count with a time of last refill is two words and needs a lock, and a refill that rounds
// drifts. A reservation bounds how far ahead tokens are promised, so that the wait of the last in
// line cannot grow without end (trap Q5).
// Model: GCRA (ITU-T I.371) in one word: the theoretical arrival time, when the bucket will be
// full again. Taking n moves it n intervals ahead, from now at the earliest; it may be at most
// `burst` intervals ahead of now. Time is not kept in nanoseconds but in units of 2^-k token, k
// chosen so that a unit is 2 to 4 ns: an interval is 2^k units, exactly, for every rate. An Instant
// becomes units by one multiplication, rounded down; nothing is rounded twice, so a rate of 3/s
// gives 3,000 tokens in 1,000 s, not one less. Instants before the epoch count as the epoch.
// Invariants:
//   (1) In any time t, tokens taken <= burst + rate * t (to the unit).
//   (2) A refusal changes nothing.
//   (3) A reserved token cannot be taken by another caller; at the end of its wait try_take would
//       have succeeded.
//   (4) A reload keeps the fill in proportion to the burst, and the tokens promised ahead.
// Thread safety: all methods may be called concurrently, reload() with all but itself; a take only
// repeats itself while another one, or a reload, is under way.
// Cost: a few loads, a multiplication and a compare-and-swap; a refusal only reads.
class TokenBucket {
 public:
  // Starts full. REQUIRES: !find_error(options).
  explicit TokenBucket(const TokenBucketOptions& options);

  // All of them or none; more than `burst` at once never. REQUIRES: tokens >= 1.
  [[nodiscard]] bool try_take(Instant now, std::int32_t tokens = 1) noexcept;

  // Takes a token that may still have to come, and says how long to wait for it; nothing when that
  // is over max_ahead, which counts as 30 days at most.
  [[nodiscard]] std::optional<Duration> reserve(Instant now, Duration max_ahead) noexcept;

  // How long until there is an unreserved token, if none is taken meanwhile:
  // try_take(now + wait(now)) has it and a nanosecond earlier it has not. 0 when it is there now.
  [[nodiscard]] Duration wait(Instant now) const noexcept;

  // Whole tokens that try_take would give now.
  [[nodiscard]] std::int32_t balance(Instant now) const noexcept;

  // REQUIRES: !find_error(options).
  void reload(const TokenBucketOptions& options, Instant now) noexcept;

 private:
  struct Scale {
    std::uint64_t per_nanosecond = 0;  // units, times 2^64: in [2^62, 2^63]
    std::int64_t token = 1;            // units: 2^k
    std::int64_t capacity = 1;         // units: burst tokens
  };
  struct Reading {
    std::int64_t arrival;
    Scale scale;
  };

  static Scale scale(const TokenBucketOptions& options) noexcept;
  static std::int64_t units(const Scale& scale, Instant now) noexcept;
  static std::int64_t ahead(const Reading& reading, Instant now) noexcept;
  static Duration until(const Scale& scale, std::int64_t next, Instant now) noexcept;
  [[nodiscard]] Reading read() const noexcept;

  Atomic<std::int64_t> arrival_{0};  // the theoretical arrival time, in units
  Seqlock<Scale> scale_;
};

}  // namespace damper::admit
