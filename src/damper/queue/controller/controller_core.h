#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/engine/event.h"
#include "damper/engine/requeue.h"
#include "damper/queue/work_queue/finish.h"
#include "damper/queue/work_queue/work_queue_core.h"
#include "damper/schedule/backoff.h"

namespace damper::queue {

struct ControllerCoreOptions {
  WorkQueueOptions queue{};
  engine::RequeuePolicy retries{};
  // Limit of parked keys, at most half of the queue's capacity. A key beyond it is retried after
  // about the longest backoff instead.
  std::size_t most_parked = 100'000;
};
[[nodiscard]] inline std::optional<std::string> find_error(const ControllerCoreOptions& options) {
  return BoundsCheck()
      .part("queue", find_error(options.queue))
      .part("retries", engine::find_error(options.retries))
      .error();
}

// The latest due time: a key that is due at kNever would never run.
inline constexpr Instant kLatest = kNever - Duration{1};

// The counters of a controller, in addition to QueueStats.
struct ControllerCounts {
  std::array<std::uint64_t, kFinishNames.size()> finished{};     // by Finish::How
  std::array<std::uint64_t, kVerdictNames.size()> parked_for{};  // total, by reason
  std::uint64_t not_parked = 0;                                  // retried because of most_parked
};

// The payload of a key in a controller's queue.
struct KeyMemory {
  engine::KeyRecord record;
  Verdict parked_for = Verdict::none;
  std::string why;       // the last failure's reason, at most kLongestWhy bytes
  Instant due = kNever;  // of a key that is not run again because the queue is closed
};

// A ControllerCore is a work queue whose runs may fail: it selects the key to run next and decides
// after each run whether the key is retried. Time is an argument: Controller (controller.h) adds
// threads, the lab adds virtual time.
//
// Model: a WorkQueueCore, in which the payload of each key is its engine::KeyRecord, and a Requeue,
// which decides. next() takes a key from the queue and consults the Requeue; a held key is delayed
// again. finish() reports the result to the Requeue and acts on its decision.
// Invariants: those of WorkQueueCore and Requeue, and
//   (1) A failing key is never lost: it stays in the queue until it succeeds or is parked. While
//       most_parked keys are parked it is retried instead, and may be parked after its next
//       failure.
//   (2) An add of a parked key runs it, without its past failures. So does an add during the run
//       after which it would be parked. An add of a key in its backoff runs it early, if the budget
//       allows, but never before the server's Retry-After.
// Thread safety: none. Cost: that of its parts.
template <class Key>
class ControllerCore {
 public:
  using View = KeyView<Key>;
  using Memory = KeyMemory;
  using Core = WorkQueueCore<Key, Memory>;
  using AddResult = typename Core::AddResult;
  using Unfinished = typename Core::Unfinished;
  static constexpr std::size_t kLongestWhy = 256;

  // The key's name in events. The view may refer to `scratch`.
  using NameOf = std::string_view (*)(const Key&, std::string& scratch);

  // REQUIRES: !find_error(options). Parents and sink must outlive this object.
  explicit ControllerCore(const ControllerCoreOptions& options,
                          engine::DependencyParents parents = {}, engine::EventSink* sink = nullptr,
                          NameOf name_of = default_name)
      : options_(options),
        most_parked_(std::min(options.most_parked, options.queue.capacity / 2)),
        queue_(options.queue),
        requeue_(options.retries, parents),
        sink_(sink),
        name_of_(name_of) {
    DAMPER_CHECK_VALID(find_error(options));
  }

  AddResult add(View key, const AddOptions& how, Instant due, Instant now) {
    return queue_.add(key, how, std::min(due, kLatest), now);
  }

  struct Run {
    Ticket ticket;
    std::uint32_t attempt;  // runs since the last success, this one included: from 1
    Duration waited;        // time in state ready
    Instant deadline;
  };
  struct Next {
    std::optional<Run> run;
    Instant wake = kNever;      // without a run: when to call next() again, at the latest
    bool rate_limited = false;  // without a run: a key is ready but waits for `rate`
  };
  // The key to run now. Call it again at `wake`, and after every add, revive and finish.
  // 0 <= draw < 1.
  [[nodiscard]] Next next(Instant now, double draw) {
    for (int looked = 0; looked < kMostHeld; ++looked) {
      const Duration wait = requeue_.rate_wait(now);
      if (wait > Duration{0}) {
        if (queue_.has_ready(now)) return {std::nullopt, damper::add(now, wait), true};
        return {std::nullopt, queue_.next_due()};
      }
      const auto taken = queue_.get(now);
      if (!taken) return {std::nullopt, queue_.next_due()};
      engine::KeyRecord& record = queue_.payload(taken->ticket).record;
      const auto admission = requeue_.start(record, now, draw);
      if (admission.goes()) {
        return {Run{taken->ticket, record.failures + 1, taken->waited, requeue_.deadline(now)}};
      }
      (void)queue_.done_until(taken->ticket, std::min(admission.until, kLatest), now);
      draw = another_draw(draw);
    }
    return {std::nullopt, now};  // kMostHeld keys were held: return so that others get the lock.
  }

  // Ends the run with its result.
  typename Core::AfterRun finish(Ticket ticket, const Finish& how, Instant now, double draw);

  // REQUIRES: the ticket is outstanding. The reference is valid until finish().
  [[nodiscard]] const Key& key(Ticket ticket) const { return queue_.key(ticket); }

  struct Parked {
    Key key;
    Verdict verdict;
    std::uint32_t failures;
    Instant since;
    std::string why;
  };
  // At most `most` parked keys, longest parked first.
  [[nodiscard]] std::vector<Parked> parked(std::size_t most = SIZE_MAX);
  // Queues a parked key without its past failures; false when it is not parked.
  bool revive(View key, Instant now) { return queue_.revive(key, now); }
  // Revives all parked keys and returns their number.
  std::size_t revive_all(Instant now);

  // See WorkQueueCore.
  void close() noexcept { queue_.close(); }
  [[nodiscard]] bool is_closed() const noexcept { return queue_.is_closed(); }
  [[nodiscard]] bool is_idle() const noexcept { return queue_.is_idle(); }
  [[nodiscard]] bool has_ready(Instant now) { return queue_.has_ready(now); }
  [[nodiscard]] Instant next_due() noexcept { return queue_.next_due(); }
  [[nodiscard]] std::vector<Unfinished> hand_back() {
    std::vector<Unfinished> unfinished = queue_.hand_back();
    for (Unfinished& left : unfinished) left.due = std::min(left.due, left.payload.due);
    std::stable_sort(unfinished.begin(), unfinished.end(),
                     [](const Unfinished& a, const Unfinished& b) { return a.due < b.due; });
    return unfinished;
  }
  [[nodiscard]] QueueStats stats(Instant now) { return queue_.stats(now); }
  [[nodiscard]] const ControllerCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] engine::Requeue& requeue() noexcept { return requeue_; }

 private:
  static constexpr int kMostHeld = 64;  // in one next()
  using AfterRun = typename Core::AfterRun;

  static std::string_view default_name(const Key& key, std::string& scratch);
  // Keeps the key for hand_back(), which returns it with `due`.
  AfterRun keep_unfinished(Ticket ticket, Instant due, Instant now) {
    queue_.payload(ticket).due = due;
    return queue_.done_until(ticket, kLatest, now);
  }
  AfterRun park(Ticket ticket, const engine::Requeue::Next& next, Instant now);
  void emit(std::string_view key, const engine::Requeue::Next& next, Instant now);

  const ControllerCoreOptions options_;
  const std::size_t most_parked_;
  Core queue_;
  engine::Requeue requeue_;
  engine::EventSink* const sink_;
  const NameOf name_of_;
  ControllerCounts counts_;
};

template <class Key>
auto ControllerCore<Key>::finish(Ticket ticket, const Finish& how, Instant now, double draw)
    -> AfterRun {
  if (!queue_.is_outstanding(ticket)) return queue_.done(ticket, now);  // Counts it.
  ++counts_.finished[static_cast<std::size_t>(how.how)];
  Memory& memory = queue_.payload(ticket);
  const decide::Report report = report_of(how, queue_.is_closed());
  engine::Requeue::Next next = requeue_.on_outcome(memory.record, report, now, draw);
  if (next.what == engine::Requeue::What::park &&
      queue_.parked_size() >= most_parked_) {  // Retried after half of the longest backoff or more.
    ++counts_.not_parked;
    const Duration cap = options_.retries.backoff.cap;
    const Duration wait = schedule::Backoff().next(
        {.jitter = schedule::Jitter::equal, .base = cap, .cap = cap}, 0, draw);
    memory.record.retry_at = std::max(damper::add(now, wait), memory.record.not_before);
    next = {.what = engine::Requeue::What::wait, .due = memory.record.retry_at};
  }
  if (report.outcome != decide::Outcome::success && report.outcome != decide::Outcome::cancelled) {
    memory.why = shortened(how.why, kLongestWhy);
  }
  if (next.what == engine::Requeue::What::park) return park(ticket, next, now);
  if (sink_ != nullptr && next.event) {
    std::string scratch;
    emit(name_of_(queue_.key(ticket), scratch), next, now);
  }
  // After close(), a cancelled or requeued key is handed back: running it again would never empty
  // the queue.
  const bool closed = queue_.is_closed();
  if (closed && report.outcome == decide::Outcome::cancelled)
    return keep_unfinished(ticket, now, now);
  if (next.what == engine::Requeue::What::wait) {
    return queue_.done_until(ticket, std::min(next.due, kLatest), now);
  }
  memory = {};
  if (how.how == Finish::How::done) return queue_.done(ticket, now);
  const Instant due = std::min(damper::add(now, how.after), kLatest);
  return closed ? keep_unfinished(ticket, due, now) : queue_.done_until(ticket, due, now);
}

template <class Key>
auto ControllerCore<Key>::park(Ticket ticket, const engine::Requeue::Next& next, Instant now)
    -> AfterRun {
  std::string key;  // A copy: park() ends the validity of the ticket.
  if (sink_ != nullptr) {
    std::string scratch;
    key = name_of_(queue_.key(ticket), scratch);
  }
  queue_.payload(ticket).parked_for = next.verdict;
  const AfterRun left = queue_.park(ticket, now);
  if (left == AfterRun::parked) {
    ++counts_.parked_for[static_cast<std::size_t>(next.verdict)];
    if (sink_ != nullptr) emit(key, next, now);
  }
  return left;
}

template <class Key>
void ControllerCore<Key>::emit(std::string_view key, const engine::Requeue::Next& next,
                               Instant now) {
  sink_->on_event(
      {.kind = *next.event,
       .key = key,
       .at = now,
       .count = next.failures,
       .length = next.what == engine::Requeue::What::wait ? between(now, next.due) : Duration{0},
       .detail = next.verdict != Verdict::none ? name(next.verdict) : std::string_view{}});
}

template <class Key>
std::size_t ControllerCore<Key>::revive_all(Instant now) {
  std::vector<Key> keys;
  keys.reserve(queue_.parked_size());
  queue_.for_each_parked([&](const Key& key, const Memory&, Instant) { keys.push_back(key); });
  std::size_t revived = 0;
  for (const Key& key : keys) {
    if (queue_.revive(key, now)) ++revived;
  }
  return revived;
}

template <class Key>
auto ControllerCore<Key>::parked(std::size_t most) -> std::vector<Parked> {
  std::vector<Parked> parked;
  queue_.for_each_parked([&](const Key& key, const Memory& memory, Instant since) {
    if (parked.size() < most) {
      parked.push_back({key, memory.parked_for, memory.record.failures, since, memory.why});
    }
  });
  return parked;
}

// Strings and integers are their own name; other keys are identified by their hash.
template <class Key>
std::string_view ControllerCore<Key>::default_name(const Key& key, std::string& scratch) {
  if constexpr (std::convertible_to<const Key&, std::string_view>) {
    return key;
  } else if constexpr (std::integral<Key>) {
    return scratch = std::to_string(key);
  } else {
    return scratch = "#" + std::to_string(KeyTraits<Key>::hash(key));
  }
}

}  // namespace damper::queue
