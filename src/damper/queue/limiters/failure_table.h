#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "damper/base/bounds.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/key_table.h"
#include "damper/queue/work_queue/node_list.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

struct FailureTableOptions {
  static constexpr Range<std::size_t> kCapacity{1, 10'000'000};
  static constexpr Range<Duration> kForgetAfter{Duration{1}, kLongest};

  std::size_t capacity = 100'000;  // keys
  Duration forget_after = std::chrono::hours(1);
};

// `longest_delay` is the longest delay of the limiter that uses the table.
[[nodiscard]] inline std::optional<std::string> find_error(const FailureTableOptions& options,
                                                           Duration longest_delay = Duration{1}) {
  return BoundsCheck()
      .field("capacity", options.capacity, options.kCapacity)
      .field("forget_after", options.forget_after, options.kForgetAfter)
      .field("forget_after", options.forget_after, {longest_delay, kLongest})
      .error();
}

// The state of one failing key.
struct FailingKey {
  Links links{};
  std::uint32_t failures = 0;           // consecutive, saturating
  Instant last{};                       // failure
  Instant not_before = Instant::min();  // the latest time set by a Retry-After
  schedule::Backoff backoff{};          // the last draw, for decorrelated jitter

  // `delay` counted from the server's time. A later failure without retry_after does not cancel
  // that of an earlier one.
  [[nodiscard]] Duration wait(const decide::Report& why, Instant now, Duration delay) const {
    return wait_after(std::max(why.retry_after, between(now, not_before)), delay);
  }
};

// A FailureTable stores the consecutive failures of keys and the server's Retry-After times.
//
// Why: client-go's map of failures removes a key only in forget(); keys that are deleted while they
// fail stay in it forever (trap Q6).
// Model: a KeyTable and a list of its keys in order of their last failure. A new key in a full
// table evicts the key with the oldest last failure. A key without a failure for forget_after
// counts as forgotten; this is checked on access, so there is no background work. The time counts
// from the last failure or from not_before, whichever is later.
// Invariants:
//   (1) At most `capacity` keys are stored.
//   (2) Only the key with the oldest last failure is evicted, and only for a new key.
//   (3) The next failure of a forgotten key counts as its first.
// Thread safety: none.
// Cost: one table lookup for each method; 40 bytes a key in addition to KeyTable's. No allocation
// below the largest size so far.
template <class Key>
class FailureTable {
 public:
  using View = KeyView<Key>;

  // REQUIRES: !find_error(options).
  explicit FailureTable(const FailureTableOptions& options = {}) : options_(options) {
    DAMPER_CHECK_VALID(find_error(options));
  }

  // Counts a failure. The reference is valid until the next call.
  FailingKey& on_failure(View key, const decide::Report& why, Instant now) {
    latest_ = std::max(latest_, now);
    FailingKey& failing = table_.value(renew(key, now));
    constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
    if (failing.failures < kMost) ++failing.failures;
    failing.last = now;
    if (why.server_said_when()) {
      failing.not_before = std::max(failing.not_before, add(now, why.retry_after));
    }
    return failing;
  }

  void forget(View key) noexcept {
    const Index index = table_.find(key);
    if (index != Table::kNone) erase(index);
  }

  // The consecutive failures as of the last failure of any key.
  [[nodiscard]] std::uint32_t failures(View key) const {
    const Index index = table_.find(key);
    if (index == Table::kNone || is_forgotten(table_.value(index), latest_)) return 0;
    return table_.value(index).failures;
  }

  [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }
  [[nodiscard]] LimiterStats stats() const noexcept {
    return {.keys = size(), .capacity = options_.capacity, .evicted = evicted_};
  }

 private:
  using Table = KeyTable<Key, FailingKey>;
  using Index = typename Table::Index;

  // Moves the key's entry to the end of the list; a new entry if it has none or was forgotten.
  Index renew(View key, Instant now) {
    const std::uint32_t hash = Table::hash(key);
    Index index = table_.find(key, hash);
    if (index == Table::kNone) {
      if (table_.size() >= options_.capacity) evict(now);
      index = table_.insert(key, hash);
      table_.value(index) = {};
    } else {
      line_.remove(table_, index);
      if (is_forgotten(table_.value(index), now)) table_.value(index) = {};
    }
    line_.push_back(table_, index);
    return index;
  }
  // Does not count the eviction of a key that was forgotten already.
  void evict(Instant now) noexcept {
    const Index oldest = line_.front();
    if (!is_forgotten(table_.value(oldest), now)) ++evicted_;
    erase(oldest);
  }
  void erase(Index index) noexcept {
    line_.remove(table_, index);
    table_.erase(index);
  }
  [[nodiscard]] bool is_forgotten(const FailingKey& failing, Instant now) const noexcept {
    return between(std::max(failing.last, failing.not_before), now) > options_.forget_after;
  }

  const FailureTableOptions options_;
  Table table_;
  NodeList line_;  // by last failure, newest at the back
  Instant latest_ = Instant::min();
  std::uint64_t evicted_ = 0;
};

}  // namespace damper::queue
