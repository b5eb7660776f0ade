#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/concurrency_limit.h"
#include "damper/admit/criticality.h"
#include "damper/admit/quota.h"
#include "damper/admit/shed_queue.h"
#include "damper/base/bounds.h"
#include "damper/base/histogram.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/timer/event_queue.h"

namespace damper::http {

// The verdicts that a request at a server's door can get; `success`: it was run. `limited` is for
// doors without a queue.
inline constexpr std::array<Verdict, 6> kAdmissionVerdicts = {
    Verdict::success,         Verdict::shed,      Verdict::limited, Verdict::deadline_too_close,
    Verdict::deadline_passed, Verdict::cancelled,
};

// An AdmissionTally counts the decisions of an admission, for metrics.
//
// Thread safety: any thread may read and count. Cost: an atomic add for each request.
class AdmissionTally {
 public:
  void count(Verdict verdict, admit::Criticality c) noexcept {
    cell(verdict, c).fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t requests(Verdict verdict, admit::Criticality c) const noexcept {
    return const_cast<AdmissionTally*>(this)->cell(verdict, c).load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t requests(Verdict verdict) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < admit::kCriticalities; ++i) {
      sum += requests(verdict, static_cast<admit::Criticality>(i));
    }
    return sum;
  }

  // Work that ended after its deadline.
  std::atomic<std::uint64_t> overruns{0};
  // The queue now: its length, and the arrival of its oldest item; kNever: it is empty.
  std::atomic<std::size_t> depth{0};
  std::atomic<Instant> oldest{kNever};
  Histogram waits;  // from the offer to the work
  Histogram works;  // from the start of the work to its end

 private:
  std::atomic<std::uint64_t>& cell(Verdict verdict, admit::Criticality c) noexcept {
    return counts_[static_cast<std::size_t>(verdict)][static_cast<std::size_t>(c)];
  }

  std::array<std::array<std::atomic<std::uint64_t>, admit::kCriticalities>, kVerdictNames.size()>
      counts_{};
};

struct AdmissionOptions {
  static constexpr Range<Duration> kLongestWait{std::chrono::milliseconds(1),
                                                std::chrono::hours(1)};

  // Limit of requests in progress. A window of 200 samples, which a server soon has, separates a
  // longer latency from noise; a client's window of 10 does not.
  admit::ConcurrencyLimitOptions limit{.window_samples = 200, .latency_tolerance = Percent(110)};
  // The queue of requests that wait for a slot. FIFO while it empties within each `interval`; 20 ms
  // are enough to see that it does not.
  admit::ShedQueueOptions queue{.interval = std::chrono::milliseconds(20)};
  Duration longest_wait = std::chrono::seconds(1);  // in the queue; then the request is shed

  friend bool operator==(const AdmissionOptions&, const AdmissionOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const AdmissionOptions& options);

// An AdmissionLine is the shared view of several Admissions' queues: how many requests wait in
// them, and since when at least one has.
//
// Why: one queue may empty now and then and look healthy, while another sheds requests for lack of
// the same slots. With the line all of them shed as a single queue would.
// Thread safety: all methods may be called concurrently; lock-free.
class AdmissionLine {
 public:
  // REQUIRES: capacity > 0, here and in reload().
  explicit AdmissionLine(std::size_t capacity) noexcept : quota_(capacity) {}
  void reload(std::size_t capacity) noexcept { quota_.reload(capacity); }

  [[nodiscard]] bool try_join(Instant now) noexcept {
    const std::size_t waiting = quota_.try_take();
    if (waiting == 1) busy_since_.store(now, std::memory_order_relaxed);
    return waiting > 0;
  }
  void leave() noexcept { quota_.give_back(); }

  [[nodiscard]] std::size_t depth() const noexcept { return quota_.taken(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return quota_.limit(); }
  // REQUIRES: depth() > 0.
  [[nodiscard]] Instant busy_since() const noexcept {
    return busy_since_.load(std::memory_order_relaxed);
  }

 private:
  admit::Quota quota_;
  std::atomic<Instant> busy_since_{Instant::min()};
};

// An Admission decides which requests a server works on: now, after a wait, or not at all.
//
// Why: a server that accepts everything is slow for all clients, and then works for those that have
// timed out. A limit alone refuses requests that a short wait would serve; a queue alone does not
// know when to stop.
// Model: a request takes a slot if one is free and the queue is empty; else it waits in the shed
// queue. A finished request's slot is taken by the next of the queue. No request waits past its
// deadline or longer than `longest_wait`: the queue sheds at a pop, and for the case that no
// request finishes wake() is the time of the next expire(). There are no callbacks: refused items
// are appended to a list of the caller. Several Admissions may share a limit and a line, each with
// its own queue and thread. With a shared limit a released slot may belong to another Admission.
// The owner of the shared limit distributes slots and calls next() instead of try_next().
// Invariants:
//   (1) Every item offered is run once or refused once or withdrawn once, and counted once.
//   (2) An item is run only if in_flight < limit, in one atomic step.
//   (3) No item is run with less than `queue.needed` left before its deadline (trap D3).
//   (4) After expire() at wake(), no item waits whose time has come.
//   (5) At most `queue.capacity` items wait, over all that share the line.
// Thread safety: none, but for tally(), which any thread may read.
// Cost: O(1) for each item; no allocation but for the list of refusals and, with a shared line,
// when more items wait than ever before.
class Admission {
 public:
  // A request. Its owner must not move it while it waits or runs.
  class Item {
   public:
    Item() = default;
    Item(admit::Criticality criticality, Instant deadline) noexcept
        : criticality_(criticality), deadline_(deadline) {}
    [[nodiscard]] admit::Criticality criticality() const noexcept { return criticality_; }
    [[nodiscard]] Instant deadline() const noexcept { return deadline_; }
    [[nodiscard]] bool waits() const noexcept { return state_ == State::waiting; }
    [[nodiscard]] bool runs() const noexcept { return state_ == State::running; }

   private:
    friend class Admission;
    enum class State : std::uint8_t { outside, waiting, running };
    admit::Criticality criticality_ = admit::Criticality::critical;
    State state_ = State::outside;
    std::uint32_t handle_ = 0;  // its node in the queue
    Instant deadline_ = kNever;
    Instant since_{};  // of waiting, or of running
    timer::EventQueue::Timer timer_{};
  };

  // A refused item and its verdict: shed, deadline_passed or deadline_too_close.
  struct Refusal {
    Item* item;
    Verdict verdict;
    Duration retry_after;  // jittered; 0: a retry is of no use
  };
  using Refusals = std::vector<Refusal>;

  // REQUIRES: !find_error(options).
  explicit Admission(const AdmissionOptions& options);
  // Shared with other Admissions: outlives them, and is reloaded by its owner.
  struct Shared {
    admit::ConcurrencyLimit& limit;
    AdmissionLine& line;
  };
  Admission(const AdmissionOptions& options, const Shared& shared);
  // Items that run or wait stay, with their times; the limit is clamped to the new bounds. Call
  // try_next() after it. REQUIRES: !find_error(options).
  void reload(const AdmissionOptions& options);

  enum class Answer : std::uint8_t { runs, waits, refused };
  // Requests a slot. `refusals` gets the item itself if it is refused, and an item that was evicted
  // for it. REQUIRES: the item neither waits nor runs.
  [[nodiscard]] Answer offer(Item& item, Instant now, double draw, Refusals& refusals);

  // The next item to run; nullptr if none waits or no slot is free. Call it until it returns
  // nullptr, after each on_finished() and expire().
  [[nodiscard]] Item* try_next(Instant now, double draw, Refusals& refusals);
  // The next item to run in a slot that the caller has acquired; nullptr: none waits, and the slot
  // is still the caller's. REQUIRES: a successful try_acquire of the limit.
  [[nodiscard]] Item* next(Instant now, double draw, Refusals& refusals);

  // The request is finished; `abandoned`: its client has disconnected, and its latency is not
  // recorded. A request that ended after its deadline counts as overload. REQUIRES: item.runs().
  void on_finished(Item& item, Instant now, bool abandoned);

  // The same, and neither a latency nor an overload is recorded: the caller determined the time.
  // REQUIRES: item.runs().
  void on_finished_unrated(Item& item) noexcept;

  // The client has disconnected. False: the item does not wait.
  bool try_withdraw(Item& item, Instant now);

  // Refuses items whose time is over.
  void expire(Instant now, double draw, Refusals& refusals);
  // Refuses all waiting items: the server stops.
  void drain(Instant now, double draw, Refusals& refusals);
  // The time of the next expire(); kNever if no item waits.
  [[nodiscard]] Instant wake() noexcept { return leaving_.next(); }

  [[nodiscard]] const AdmissionTally& tally() const noexcept { return tally_; }
  [[nodiscard]] std::size_t depth() const noexcept { return queue_.depth(); }
  // Of the waiting items.
  [[nodiscard]] std::optional<admit::Criticality> most_critical() const noexcept;
  [[nodiscard]] std::int32_t limit() const noexcept { return limit_.limit(); }
  [[nodiscard]] std::int32_t in_flight() const noexcept { return limit_.in_flight(); }

 private:
  using Queue = admit::ShedQueue<Item*>;

  Admission(const AdmissionOptions& options, const Shared* shared);
  void run(Item& item, Instant now, Duration waited);
  void make_way(Item& evicted, bool inherits, Instant now, double draw, Refusals& refusals);
  void leave(Item& item);
  void refuse(Item& item, Verdict verdict, Duration retry_after, Refusals& refusals);
  [[nodiscard]] Verdict late(const Item& item, Instant now) const noexcept;
  void publish(Instant now);

  AdmissionOptions options_;
  std::optional<admit::ConcurrencyLimit> own_limit_;  // unless it is shared
  admit::ConcurrencyLimit& limit_;
  AdmissionLine* const line_;  // nullptr: the queue's capacity alone counts
  Queue queue_;
  timer::EventQueue leaving_;  // the time at which each waiting item expires
  AdmissionTally tally_;
};

}  // namespace damper::http
