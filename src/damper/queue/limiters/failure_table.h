#ifndef DAMPER_QUEUE_LIMITERS_FAILURE_TABLE_H_
#define DAMPER_QUEUE_LIMITERS_FAILURE_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/key_table.h"
#include "damper/queue/work_queue/node_list.h"
#include "damper/queue/work_queue/waits.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

struct FailureTableOptions {
  std::size_t capacity = 100'000;                 // keys; 1 to 10,000,000
  Duration forget_after = std::chrono::hours(1);  // over 0, at most 30 days
};

[[nodiscard]] std::optional<std::string> find_error(const FailureTableOptions& options);

// What is remembered of one failing key.
struct FailingKey {
  Links links{};
  std::uint32_t failures = 0;           // in a row, saturating
  Instant last{};                       // failure
  Instant not_before = Instant::min();  // the latest time that the server named
  schedule::Backoff backoff{};          // what decorrelated jitter drew last

  // How long the key waits whose own delay is `delay`: it counts from when the server said. A
  // later failure without a word from the server does not undo an earlier one's.
  [[nodiscard]] Duration wait(const decide::Report& why, Instant now, Duration delay) const {
    return after(std::max(why.retry_after, between(now, not_before)), delay);
  }
};

// A FailureTable remembers which keys fail, how often in a row, and when the server wants them.
//
// Why: client-go's map of failures loses a key only by forget(); keys that are deleted while they
// fail stay in it for ever (trap Q6).
// Model: a KeyTable, and a line through it by last failure. When it is full, the key at the front
// of the line, quiet for longest, makes room: most likely nobody asks for it any more. A key that
// has been quiet for longer than forget_after counts as forgotten; that is seen when somebody asks
// for it, so nothing runs in the background. Quiet is counted from the last failure or, when it is
// later, from the time that the server named.
// Invariants:
//   (1) At most `capacity` keys are remembered.
//   (2) Only the key that has been quiet for longest makes room, and only for a new one.
//   (3) A forgotten key fails as if for the first time.
// Thread safety: none.
// Cost: one probe of the table for each method; 40 bytes a key beside KeyTable's own.
// No allocation once it has been as full.
template <class Key>
class FailureTable {
 public:
  using View = KeyView<Key>;

  // REQUIRES: !find_error(options).
  explicit FailureTable(const FailureTableOptions& options = {}) : options_(options) {
    DAMPER_CHECK(!find_error(options));
  }

  // The key failed once more. The reference is good until the next call.
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

  // How often it failed in a row. What it knows of the time is the last failure of any key.
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

  // The key's entry, at the end of the line; a new one if it has none or was forgotten.
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
  // Nothing is lost with a key that was as good as forgotten: it is not counted.
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
  NodeList line_;  // by last failure, the newest at the back
  Instant latest_ = Instant::min();
  std::uint64_t evicted_ = 0;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_LIMITERS_FAILURE_TABLE_H_
