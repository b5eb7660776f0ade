#ifndef DAMPER_QUEUE_CONTROLLER_CONTROLLER_CORE_H_
#define DAMPER_QUEUE_CONTROLLER_CONTROLLER_CORE_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  // At once, and at most half of the queue's capacity; one more waits for about its longest
  // backoff.
  std::size_t most_parked = 100'000;
};
[[nodiscard]] std::optional<std::string> find_error(const ControllerCoreOptions& options);

// The last moment for which something can wait: at kNever nothing would ever happen.
inline constexpr Instant kLatest = kNever - Duration{1};

// When a key runs again that should have been parked: after half of the longest backoff or more.
[[nodiscard]] Instant wait_instead_of_parking(const schedule::BackoffOptions& backoff, Instant now,
                                              double draw) noexcept;

// What a controller has counted, beside what its queue has.
struct ControllerCounts {
  std::array<std::uint64_t, kFinishNames.size()> finished{};     // by Finish::How
  std::array<std::uint64_t, kVerdictNames.size()> parked_for{};  // ever, by why
  std::uint64_t not_parked = 0;                                  // since most_parked were
};

// What a controller keeps with a key.
struct KeyMemory {
  engine::KeyRecord record;
  Verdict parked_for = Verdict::none;
  std::string why;       // of the last failure, if it was said; at most kLongestWhy bytes
  Instant due = kNever;  // of one that is not to run again, since the queue is closed
};

// A ControllerCore is a work queue whose runs may fail: which key runs next, and what becomes of it
// then. Time is an argument: Controller (controller.h) brings threads, the lab virtual time.
//
// Model: a WorkQueueCore, in which each key carries its engine::KeyRecord, and a Requeue, which
// decides. next() takes a key from the queue and asks the Requeue; a key that is held goes back to
// wait. finish() tells the Requeue how the run went and does what it says.
// Invariants: those of WorkQueueCore and Requeue, and
//   (1) A key that fails is in the queue until it succeeds or is given up, and then it is parked:
//       it is never lost. With most_parked of them it waits on, and is not parked until it fails
//       again.
//   (2) An event for a parked key runs it, anew: nothing of its past counts. One that came during
//       its last run does too, and it is not parked. One for a key that waits in its backoff runs
//       it early, if the budget allows; never before the server said.
// Thread safety: none. Cost: as the parts'.
template <class Key>
class ControllerCore {
 public:
  using View = KeyView<Key>;
  using Memory = KeyMemory;
  using Core = WorkQueueCore<Key, Memory>;
  using AddResult = typename Core::AddResult;
  using Unfinished = typename Core::Unfinished;
  static constexpr std::size_t kLongestWhy = 256;

  // The key's name in the log. The view is read at once.
  using NameOf = std::string_view (*)(const Key&, std::string& scratch);

  // REQUIRES: !find_error(options). Parents and sink outlive it.
  explicit ControllerCore(const ControllerCoreOptions& options,
                          engine::DependencyParents parents = {}, engine::EventSink* sink = nullptr,
                          NameOf name_of = default_name)
      : options_(options),
        most_parked_(std::min(options.most_parked, options.queue.capacity / 2)),
        queue_(options.queue),
        requeue_(options.retries, parents),
        sink_(sink),
        name_of_(name_of) {
    DAMPER_CHECK(!find_error(options));
  }

  AddResult add(View key, const AddOptions& how, Instant due, Instant now) {
    return queue_.add(key, how, std::min(due, kLatest), now);
  }

  struct Run {
    Ticket ticket;
    std::uint32_t attempt;  // from 1: how often it has run since it was well
    Duration waited;        // ready, until now
    Instant deadline;
  };
  struct Next {
    std::optional<Run> run;
    Instant wake = kNever;      // without a run: when to ask again, unless something is added
    bool rate_limited = false;  // without a run: a key is ready, and `rate` makes it wait
  };
  // What runs now. Asked again at `wake`, and after every add, revive and finish. 0 <= draw < 1.
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
    return {std::nullopt, now};  // So many were held: let others in between.
  }

  // The run is over.
  typename Core::AfterRun finish(Ticket ticket, const Finish& how, Instant now, double draw);

  // REQUIRES: the ticket is out. The reference is good until finish().
  [[nodiscard]] const Key& key(Ticket ticket) const { return queue_.key(ticket); }

  struct Parked {
    Key key;
    Verdict verdict;
    std::uint32_t failures;
    Instant since;
    std::string why;
  };
  // The longest parked first, at most `most`.
  [[nodiscard]] std::vector<Parked> parked(std::size_t most = SIZE_MAX);
  // Lets a parked key run, anew; false when it is not parked.
  bool revive(View key, Instant now) { return queue_.revive(key, now); }
  // Lets all of them, and says how many they were.
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
  // The key waits for hand_back(), which says `due`.
  AfterRun set_aside(Ticket ticket, Instant due, Instant now) {
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
  if (!queue_.is_outstanding(ticket)) return queue_.done(ticket, now);  // Counted there.
  ++counts_.finished[static_cast<std::size_t>(how.how)];
  Memory& memory = queue_.payload(ticket);
  const decide::Report report = report_of(how, queue_.is_closed());
  engine::Requeue::Next next = requeue_.on_outcome(memory.record, report, now, draw);
  if (next.what == engine::Requeue::What::park &&
      queue_.parked_size() >= most_parked_) {  // Not lost, nor forgotten: it waits long.
    ++counts_.not_parked;
    memory.record.retry_at = std::max(wait_instead_of_parking(options_.retries.backoff, now, draw),
                                      memory.record.not_before);
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
  // Closed, what did not run or asked to run again is handed back. To run it until the end comes
  // would never empty the queue.
  const bool closed = queue_.is_closed();
  if (closed && report.outcome == decide::Outcome::cancelled) return set_aside(ticket, now, now);
  if (next.what == engine::Requeue::What::wait) {
    return queue_.done_until(ticket, std::min(next.due, kLatest), now);
  }
  memory = {};
  if (how.how == Finish::How::done) return queue_.done(ticket, now);
  const Instant due = std::min(damper::add(now, how.after), kLatest);
  return closed ? set_aside(ticket, due, now) : queue_.done_until(ticket, due, now);
}

template <class Key>
auto ControllerCore<Key>::park(Ticket ticket, const engine::Requeue::Next& next, Instant now)
    -> AfterRun {
  std::string key;  // Of its own: when it is parked the ticket is not out any more.
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

// Strings and numbers have a name of their own; others are told apart by their hash.
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

#endif  // DAMPER_QUEUE_CONTROLLER_CONTROLLER_CORE_H_
