#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/retry_budget.h"
#include "damper/admit/switches.h"
#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/engine/dependency.h"
#include "damper/engine/event.h"
#include "damper/schedule/backoff.h"

namespace damper::engine {

// The configuration of the runs of a work queue's keys. The defaults are safe: per-key
// backoff with full jitter, a 10 % budget, a deadline on every run, an end to retrying.
struct RequeuePolicy {
  static constexpr Range<Duration> kTimeout{Duration{1}, kLongest};
  static constexpr Range<std::int32_t> kMaxAttempts{0, 1'000'000};

  Duration timeout = std::chrono::seconds(30);  // of one run
  // A key that has failed this often in a row while others succeeded is parked; 0: never.
  std::int32_t max_attempts = 20;
  decide::OutcomeSet retryable = decide::kRetryableByDefault;  // beside conflict and overload
  schedule::BackoffOptions backoff{.jitter = schedule::Jitter::full,
                                   .base = std::chrono::milliseconds(5),
                                   .cap = std::chrono::seconds(1000)};
  // The base of the backoff after an overload without a retry time; with full jitter at least half
  // of it is waited.
  Duration overload_base = std::chrono::seconds(1);  // (0, backoff.cap]
  // Of all retries that fail. One a second is always allowed: without it, keys that have failed and
  // get no new events would wait for ever. The same holds for a parent. The window is short, since
  // all that it allows may be spent at once.
  admit::RetryBudgetOptions budget{.window = std::chrono::seconds(1), .min_per_second = 1};
  std::optional<admit::TokenBucketOptions> rate{};  // of all runs; none: as fast as the workers
};

// The first invalid field, with its value and bound; nothing when the policy is valid.
[[nodiscard]] std::optional<std::string> find_error(const RequeuePolicy& policy);

// The state of one key while it fails. A plain value; {} is a healthy key.
struct KeyRecord {
  schedule::Backoff backoff;
  Instant retry_at = Instant::min();    // when its backoff is over
  Instant not_before = Instant::min();  // the server's retry time
  admit::RetryBudget::Grant grant;      // of the current run, if it is a retry
  std::uint32_t failures = 0;           // in a row
  std::uint32_t singled_out = 0;        // of these, beside successes of other keys
  std::uint32_t successes = 0;  // of all keys, at its last failure or the start of its first run
  std::uint8_t holds = 0;       // in a row
  decide::Outcome outcome = decide::Outcome::success;  // of its last run
};

// A Requeue decides about the runs of all keys of a controller, as a Call decides about the
// attempts of one call: whether there is another run, when, and whether it may start now.
//
// Why: a call ends when its caller is gone. A key is never dropped: after a refusal (budget,
// switch) it waits and tries again. So a Call cannot be used here, but its parts can.
// Model: start() is called before each run. The first run of a healthy key deposits in the budget
// and starts. A retry is checked against the server's retry time, the switches and the budget, in
// this order; if one refuses, the key is held: it waits 1 to 5 s, jittered, and tries again. A
// retry that an event triggers during its backoff starts if all allow it; if one refuses, it waits
// for the rest of the backoff; before the server's retry time it waits until then, and for a
// jittered moment. on_outcome() ends a run: a success forgets the failures; a failure is judged as
// any attempt is (decide::judge; a reconcile rereads and may be repeated), and then waits for its
// backoff, or is parked: its answer is final, or max_attempts runs have failed while others
// succeeded.
//   Whether it is the key that fails or what is behind it, only the other keys can show. A failure
// singles the key out if a run of another key has succeeded since the failure before it (for the
// first: since its start). A key is parked by max_attempts if half as many failures have singled it
// out; one is not enough, since keys fail beside others that succeed while a dependency recovers.
// In an outage nothing succeeds, so no key is parked: it is retried, at the cap of its backoff in
// the end, and succeeds by itself. The same holds for a key that is alone, or whose neighbours do
// not run: nothing shows that it is the key, a run at the cap costs next to nothing, and to give up
// a key that only an outage made fail costs the object.
//   The budget is for keys whose backoff is over, first of all: an early retry is refused while one
// of those has been refused by the budget within the longest hold. Otherwise a key with many events
// would take each withdrawal as soon as it is there.
// Invariants:
//   (1) In every window of the budget, the retries that fail or are in flight keep its bound. One
//       that succeeds is refunded: it was work, not waste, and after an outage the work continues
//       as fast as it succeeds.
//   (2) No run but a first one starts before the server's retry time, or while retries are off.
//   (3) A key is parked after the first run whose answer is final; or after max_attempts failed
//       runs in a row, as soon as (max_attempts + 1) / 2 of the row have singled it out. So without
//       a success of another key it never is.
//   (4) A key that is held loses nothing: neither an attempt nor its place in the backoff.
//   (5) No more runs than `rate` allows.
//   (6) While a key whose backoff is over is held by the budget, no early retry starts.
// Thread safety: none, but for budget() and switches(), which may be used by all.
// Cost: no allocation; a few branches, and what the budget and the bucket cost.
class Requeue {
 public:
  // REQUIRES: !find_error(policy). The parents outlive it.
  explicit Requeue(const RequeuePolicy& policy, DependencyParents parents = {});
  Requeue(const Requeue&) = delete;
  Requeue& operator=(const Requeue&) = delete;

  // How long until `rate` lets another run start; 0 when one may now.
  [[nodiscard]] Duration rate_wait(Instant now) const noexcept;

  struct Admission {
    Verdict held_for = Verdict::none;  // none: it starts. switched_off, budget_spent, pushed_back
    Instant until{};                   // when it may try again
    [[nodiscard]] bool goes() const noexcept { return held_for == Verdict::none; }
  };
  // A run of the key is about to start; if admitted, it takes its token of the rate. REQUIRES:
  // rate_wait(now) == 0, 0 <= draw < 1.
  [[nodiscard]] Admission start(KeyRecord& key, Instant now, double draw) noexcept;

  // When a run that starts now must be over.
  [[nodiscard]] Instant deadline(Instant now) const noexcept { return add(now, policy_.timeout); }

  enum class What : std::uint8_t { forget, wait, park };
  struct Next {
    What what = What::forget;
    Verdict verdict = Verdict::none;   // park: why
    Instant due{};                     // wait: until then
    std::optional<EventKind> event{};  // a line for the log: first_failure, backoff_growing,
                                       // repeated_failure, recovered, parked
    std::int64_t failures = 0;         // for that line
  };
  // The run that start() admitted has ended. A cancelled one (the controller stops) does not count
  // and is due at once, so only a driver that stops may report it.
  [[nodiscard]] Next on_outcome(KeyRecord& key, const decide::Report& report, Instant now,
                                double draw) noexcept;

  // For reading, and for switches to be set.
  [[nodiscard]] admit::RetryBudget& budget() noexcept { return budget_; }
  [[nodiscard]] admit::Switches& switches() noexcept { return switches_; }
  [[nodiscard]] const RequeuePolicy& policy() const noexcept { return policy_; }

  struct Counts {
    std::uint64_t runs = 0;
    std::array<std::uint64_t, decide::kOutcomeNames.size()> retries{};  // by what made them needed
    std::uint64_t held_by_switch = 0;
    std::uint64_t held_by_budget = 0;
    std::uint64_t held_by_server = 0;
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  Admission hold(KeyRecord& key, Verdict why, Instant now, double draw) noexcept;
  [[nodiscard]] bool is_spent(const KeyRecord& key) const noexcept;
  [[nodiscard]] Duration delay(KeyRecord& key, const decide::Report& report,
                               double draw) const noexcept;

  const RequeuePolicy policy_;
  admit::Switches switches_;
  admit::RetryBudget budget_;
  std::optional<admit::TokenBucket> rate_;
  std::int64_t under_way_ = 0;
  std::uint32_t successes_ = 0;          // of all keys; it may wrap around
  Instant early_from_ = Instant::min();  // no early retry before: due ones are held by the budget
  Counts counts_;
};

}  // namespace damper::engine
