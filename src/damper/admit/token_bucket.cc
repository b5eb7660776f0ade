#include "damper/admit/token_bucket.h"

#include <algorithm>
#include <cmath>

#include "damper/base/check.h"

namespace damper::admit {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMoving = -1;  // A reload is under way; no arrival is negative.
constexpr std::int64_t kFarthest = std::int64_t{1} << 61;  // Ahead of now, in units.

Wide wide(std::int64_t value) noexcept { return static_cast<Wide>(value); }

}  // namespace

std::optional<std::string> find_error(const TokenBucketOptions& options) {
  return BoundsCheck()
      .field("rate_per_second", options.rate_per_second, options.kRatePerSecond)
      .field("burst", options.burst, options.kBurst)
      .error();
}

// k is the largest for which there are under 0.5 units in a nanosecond: the last Instant there is
// has under 2^62 units. The factor is rounded up, so that a token is not late by a unit; a double
// is a whole mantissa times a power of two, so this division is the one rounding.
TokenBucket::Scale TokenBucket::scale(const TokenBucketOptions& options) noexcept {
  DAMPER_CHECK_VALID(find_error(options));
  constexpr Wide kNanoseconds = 1'000'000'000;
  int k = 0;
  while (std::ldexp(options.rate_per_second, k + 1) < 0.5e9) ++k;
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(options.rate_per_second, &exponent), 53);
  const Wide numerator = static_cast<Wide>(mantissa) << (exponent - 53 + k + 64);
  const std::int64_t token = std::int64_t{1} << k;
  return {static_cast<std::uint64_t>((numerator + kNanoseconds - 1) / kNanoseconds), token,
          token * options.burst};
}

std::int64_t TokenBucket::units(const Scale& scale, Instant now) noexcept {
  const std::int64_t since = std::max<std::int64_t>(now.time_since_epoch().count(), 0);
  return static_cast<std::int64_t>(wide(since) * scale.per_nanosecond >> 64);
}

// How much is missing from a full bucket; over the capacity when tokens are promised ahead.
std::int64_t TokenBucket::ahead(const Reading& reading, Instant now) noexcept {
  return std::max<std::int64_t>(reading.arrival - units(reading.scale, now), 0);
}

// How long until a bucket that has the arrival `next` after a take had the token for it: until next
// is `capacity` ahead. Rounded up: never too early.
Duration TokenBucket::until(const Scale& scale, std::int64_t next, Instant now) noexcept {
  if (next <= scale.capacity) return Duration{0};
  const Wide due = ((wide(next - scale.capacity) << 64) + scale.per_nanosecond - 1) /
                   scale.per_nanosecond;  // Since the epoch, in nanoseconds; under 2^64.
  const std::int64_t since = now.time_since_epoch().count();
  if (since >= 0 && wide(since) >= due) return Duration{0};
  const Wide wait = due - wide(since);  // Modulo 2^128: right for instants before the epoch, too.
  return Duration{static_cast<std::int64_t>(std::min(wait, wide(kForever.count())))};
}

// The arrival and the scale that it is in. If a reload comes later, the arrival is another one by
// the time it is swapped.
TokenBucket::Reading TokenBucket::read() const noexcept {
  for (;;) {
    const std::uint64_t version = scale_.version();
    const Scale scale = scale_.load();
    const std::int64_t arrival = arrival_.load(std::memory_order_acquire);
    if (arrival != kMoving && scale_.version() == version) return {arrival, scale};
  }
}

TokenBucket::TokenBucket(const TokenBucketOptions& options) : scale_(scale(options)) {}

bool TokenBucket::try_take(Instant now, std::int32_t tokens) noexcept {
  DAMPER_CHECK(tokens >= 1);
  for (;;) {
    Reading seen = read();
    const std::int64_t next = ahead(seen, now) + tokens * seen.scale.token;
    if (next > seen.scale.capacity) return false;
    if (arrival_.compare_exchange_weak(seen.arrival, units(seen.scale, now) + next,
                                       std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return true;
    }
  }
}

std::optional<Duration> TokenBucket::reserve(Instant now, Duration max_ahead) noexcept {
  const Duration bound = std::min(max_ahead, kLongest);
  for (;;) {
    Reading seen = read();
    const std::int64_t next = ahead(seen, now) + seen.scale.token;
    const std::int64_t arrival = units(seen.scale, now) + next;
    const Duration wait = until(seen.scale, arrival, std::max(now, Instant{}));
    if (wait > bound) return std::nullopt;
    if (arrival_.compare_exchange_weak(seen.arrival, arrival, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
      return wait;
    }
  }
}

Duration TokenBucket::wait(Instant now) const noexcept {
  const Reading seen = read();
  return until(seen.scale, seen.arrival + seen.scale.token, now);
}

std::int32_t TokenBucket::balance(Instant now) const noexcept {
  const Reading seen = read();
  const std::int64_t left = std::max<std::int64_t>(seen.scale.capacity - ahead(seen, now), 0);
  return static_cast<std::int32_t>(left / seen.scale.token);
}

void TokenBucket::reload(const TokenBucketOptions& options, Instant now) noexcept {
  const Scale next = scale(options);
  const Reading old{arrival_.exchange(kMoving, std::memory_order_acq_rel), scale_.load()};
  const std::int64_t spent = std::min(ahead(old, now), old.scale.capacity);
  const std::int64_t promised = ahead(old, now) - spent;
  const Wide carried = (wide(spent) * wide(next.capacity) + wide(old.scale.capacity) - 1) /
                           wide(old.scale.capacity) +  // Rounded up: a reload never makes a token.
                       wide(promised) * wide(next.token) / wide(old.scale.token);
  scale_.store(next);
  arrival_.store(units(next, now) + static_cast<std::int64_t>(std::min(carried, wide(kFarthest))),
                 std::memory_order_release);
}

}  // namespace damper::admit
