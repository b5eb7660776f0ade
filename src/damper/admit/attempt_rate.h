#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "damper/admit/token_bucket.h"
#include "damper/base/atomic.h"
#include "damper/base/bounds.h"
#include "damper/base/histogram.h"
#include "damper/base/instant.h"

namespace damper::admit {

struct AttemptRateOptions {
  static constexpr Range<Duration> kMaxWait{Duration{0}, std::chrono::hours(1)};

  TokenBucketOptions bucket;
  Duration max_wait{0};  // an attempt without a token waits this long at most; 0: it is refused

  friend bool operator==(const AttemptRateOptions&, const AttemptRateOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const AttemptRateOptions& options);

// ReturnedTokens are reserved tokens of a TokenBucket whose callers gave up before they used them.
// Each is an instant: at it, or later within the burst, one attempt may be sent in their place.
//
// Why: the bucket is one word, which cannot take a reservation back: the tokens after it are
// promised for their instants. If a reservation of a caller that hung up is lost, the others wait
// behind callers that are gone, also after the load has fallen below the rate.
// Model: a cell for each token, which holds when it is due. A new caller gets the first that is due
// after now, and sends at exactly that instant, as the caller before it would have. A token that is
// due is taken at once, as long as it is younger than `burst` - 1 intervals of the bucket: reserved
// tokens are an interval apart, so c of them, the youngest of age a, fit into the burst together
// with the a tokens that the bucket has gained since. An older one is dropped.
// Invariants:
//   (1) Each returned token is taken once at most.
//   (2) With a bucket of that rate and burst, attempts in any time t <= burst + rate * t.
// Thread safety: all methods may be called concurrently. Lock-free.
// Cost: without returned tokens one load; else a load for each cell. 8 bytes a cell. Tokens that
// find no free cell are lost.
template <std::size_t kCells = 256>
class ReturnedTokens {
 public:
  // The token was reserved, had to be waited for, and is not used. `oldest` as below.
  void give_back(Instant due, Instant oldest) noexcept {
    if (due < oldest) return;
    count_.fetch_add(1, std::memory_order_relaxed);  // First: never less than there are.
    for (Cell& cell : cells_) {
      std::int64_t seen = cell.due.load(std::memory_order_relaxed);
      if (seen >= ticks(oldest)) continue;
      if (cell.due.compare_exchange_strong(seen, ticks(due), std::memory_order_relaxed)) {
        if (seen != kFree) count_.fetch_sub(1, std::memory_order_relaxed);
        return;
      }
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Takes a token that is due, and not before `oldest`: the one that is dropped soonest.
  [[nodiscard]] bool try_take(Instant now, Instant oldest) noexcept {
    return take_first(oldest, now, oldest).has_value();
  }
  // Takes the first token that is due after now, but not after `latest`: returns when it is due.
  [[nodiscard]] std::optional<Instant> try_reserve(Instant now, Instant latest,
                                                   Instant oldest) noexcept {
    return take_first(add(now, Duration{1}), latest, oldest);
  }

  void clear() noexcept {
    for (Cell& cell : cells_) drop(cell, cell.due.load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::int64_t kFree = std::numeric_limits<std::int64_t>::min();
  struct Cell {
    Atomic<std::int64_t> due{kFree};  // in nanoseconds of the driver's timeline
  };

  static std::int64_t ticks(Instant at) noexcept { return at.time_since_epoch().count(); }

  // Frees a cell, if it still holds that. The orders are relaxed: an instant is all that it says.
  bool drop(Cell& cell, std::int64_t seen) noexcept {
    if (seen == kFree || !cell.due.compare_exchange_strong(seen, kFree, std::memory_order_relaxed))
      return false;
    count_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

  // The earliest in [from, to], taken; those before `oldest` are dropped.
  std::optional<Instant> take_first(Instant from, Instant to, Instant oldest) noexcept {
    for (;;) {
      if (count_.load(std::memory_order_relaxed) == 0) [[likely]]
        return std::nullopt;
      Cell* first = nullptr;
      std::int64_t due = std::numeric_limits<std::int64_t>::max();
      for (Cell& cell : cells_) {
        const std::int64_t seen = cell.due.load(std::memory_order_relaxed);
        if (seen < ticks(oldest)) {
          drop(cell, seen);
        } else if (seen >= ticks(from) && seen <= ticks(to) && (first == nullptr || seen < due)) {
          first = &cell;
          due = seen;
        }
      }
      if (first == nullptr) return std::nullopt;
      if (drop(*first, due)) return Instant{Duration{due}};
    }
  }

  Atomic<std::int32_t> count_{0};
  std::array<Cell, kCells> cells_;
};

// An AttemptRate bounds the rate at which attempts are sent to a dependency: a quota that the
// dependency, or a contract, imposes.
//
// Why: a concurrency limit follows the latency, and a budget follows the requests; neither keeps a
// fixed number of attempts per second, retries and hedges included.
// Model: a TokenBucket. An attempt takes a token when it is sent. Without one it reserves the next
// token that is not promised, if that comes within `max_wait` and within the time that the caller
// has; the reservation keeps the order of the waiting attempts. A token that is reserved and not
// used is given back: see ReturnedTokens.
// Invariants:
//   (1) In any time t, attempts <= burst + rate * t, if those with a reservation are sent when it
//       is due and no reload comes in between.
//   (2) A reservation that was given back delays no later caller.
// Thread safety: all methods may be called concurrently, reload() with all but itself.
// Cost: as the TokenBucket's. About 40 KiB, for the histogram of the waits.
class AttemptRate {
 public:
  // REQUIRES: !find_error(options).
  explicit AttemptRate(const AttemptRateOptions& options)
      : bucket_(options.bucket),
        max_wait_(options.max_wait.count()),
        longest_unused_(longest_unused(options.bucket)) {}

  [[nodiscard]] bool try_take(Instant now) noexcept {
    return returned_.try_take(now, oldest(now)) || bucket_.try_take(now);
  }
  // Takes a token of the future and returns the wait for it; nothing: it comes after max_wait or
  // after `most`, and nothing has changed.
  [[nodiscard]] std::optional<Duration> try_reserve(Instant now, Duration most) noexcept {
    const Duration bound{std::min(max_wait_.load(std::memory_order_relaxed), most.count())};
    if (bound <= Duration{0}) return std::nullopt;
    std::optional<Duration> wait;
    if (const auto due = returned_.try_reserve(now, add(now, bound), oldest(now))) {
      wait = between(now, *due);
    } else {
      wait = bucket_.reserve(now, bound);
    }
    if (wait) waits_.record(*wait, now);
    return wait;
  }
  // The attempt that has the reservation for `due` is not sent. REQUIRES: it was to wait.
  void give_back(Instant due, Instant now) noexcept { returned_.give_back(due, oldest(now)); }
  // Waits of attempts for their token; an attempt that had one at once is not in it.
  [[nodiscard]] const Histogram& waits() const noexcept { return waits_; }
  [[nodiscard]] std::int32_t balance(Instant now) const noexcept { return bucket_.balance(now); }

  // REQUIRES: !find_error(options).
  void reload(const AttemptRateOptions& options, Instant now) noexcept {
    returned_.clear();  // They are an interval of the old rate apart.
    bucket_.reload(options.bucket, now);
    max_wait_.store(options.max_wait.count(), std::memory_order_relaxed);
    longest_unused_.store(longest_unused(options.bucket), std::memory_order_relaxed);
  }

 private:
  // How long after its instant a returned token is kept, in nanoseconds: burst - 1 intervals, less
  // the rounding.
  static std::int64_t longest_unused(const TokenBucketOptions& options) noexcept;
  [[nodiscard]] Instant oldest(Instant now) const noexcept {
    return add(now, Duration{-longest_unused_.load(std::memory_order_relaxed)});
  }

  TokenBucket bucket_;
  ReturnedTokens<> returned_;
  std::atomic<std::int64_t> max_wait_;
  std::atomic<std::int64_t> longest_unused_;
  Histogram waits_;
};

}  // namespace damper::admit
