#ifndef DAMPER_HTTP_SERVER_ADMISSION_H_
#define DAMPER_HTTP_SERVER_ADMISSION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/concurrency_limit.h"
#include "damper/admit/criticality.h"
#include "damper/admit/places.h"
#include "damper/admit/shed_queue.h"
#include "damper/base/histogram.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/server/admission_tally.h"
#include "damper/timer/event_queue.h"

namespace damper::http {

struct AdmissionOptions {
  // Requests that are worked on at once. A server sees many; a window of 200 tells a longer latency
  // from chance, where a client's of 10 would wander.
  admit::ConcurrencyLimitOptions limit{.window_samples = 200, .latency_tolerance = Percent(110)};
  // Those that wait for a place. While the queue is healthy it is FIFO and may wait for `interval`;
  // 20 ms of that is enough to see that it does not empty.
  admit::ShedQueueOptions queue{.interval = std::chrono::milliseconds(20)};
  Duration longest_wait = std::chrono::seconds(1);  // 1 ms to 1 h: then it is shed, pop or no pop

  friend bool operator==(const AdmissionOptions&, const AdmissionOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const AdmissionOptions& options);

// An AdmissionLine is the queues of several Admissions as one: how many wait in them, and since
// when there was always somebody.
//
// Why: a queue that empties now and then looks healthy, while beside it requests are shed for want
// of the same places. Who waits in it is to be as quick then as in a single queue.
// Thread safety: all methods may be called concurrently; lock-free.
class AdmissionLine {
 public:
  // REQUIRES: capacity > 0, here and in reload().
  explicit AdmissionLine(std::size_t capacity) noexcept : places_(capacity) {}
  void reload(std::size_t capacity) noexcept { places_.reload(capacity); }

  [[nodiscard]] bool try_join(Instant now) noexcept {
    const std::size_t waiting = places_.try_take();
    if (waiting == 1) busy_since_.store(now, std::memory_order_relaxed);
    return waiting > 0;
  }
  void leave() noexcept { places_.give_back(); }

  [[nodiscard]] std::size_t depth() const noexcept { return places_.taken(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return places_.limit(); }
  // While somebody waits.
  [[nodiscard]] Instant busy_since() const noexcept {
    return busy_since_.load(std::memory_order_relaxed);
  }

 private:
  admit::Places places_;
  std::atomic<Instant> busy_since_{Instant::min()};
};

// An Admission decides which requests a server works on: now, after a wait, or not at all.
//
// Why: a server that takes whatever comes is slow for everybody, and then works for callers who
// have given up. A limit alone sends away what a moment's patience would serve; a queue alone has
// no idea when to stop.
// Model: a request takes a place in flight when nobody waits and one is free; else it waits in the
// shed queue. When one is finished the next of the queue takes its place. Nobody waits past its
// deadline or for longer than `longest_wait`: the queue sheds at a pop, and when nothing finishes
// there is none, so wake() says when somebody has to be told. Nothing is called back: who has to be
// told no is in a list that the caller hands in.
// Several may share a limit and a line, each with a queue of its own, on a thread of its own. A
// place that one gives back may be another's then: who shares has to see to that, and has next()
// instead of try_next(). Invariants:
//   (1) Every item offered is run once or refused once or withdrawn once, and counted once.
//   (2) An item is run only while in_flight < limit, in that very step.
//   (3) No item is run with less than `queue.needed` left before its deadline (trap D3).
//   (4) Nobody waits at wake() or later, once expire() was called then.
//   (5) At most `queue.capacity` wait, with all that share the line.
// Thread safety: none, but for tally(), which any thread may read.
// Cost: no allocation but for the list of refusals and, where the line is shared, when more wait
// than ever did; O(1) for each item.
class Admission {
 public:
  // One that asks to be run. Whoever owns it keeps it where it is while it waits or runs.
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
    std::uint32_t place_ = 0;  // in the queue
    Instant deadline_ = kNever;
    Instant since_{};  // waiting, or running
    timer::EventQueue::Timer timer_{};
  };

  // Who was refused, and why: shed, deadline_passed or deadline_too_close.
  struct Refusal {
    Item* item;
    Verdict verdict;
    Duration retry_after;  // jittered; 0 when coming back is of no use
  };
  using Refusals = std::vector<Refusal>;

  // REQUIRES: !find_error(options).
  explicit Admission(const AdmissionOptions& options);
  // What is shared with other Admissions outlives it, and is reloaded by its owner.
  struct Shared {
    admit::ConcurrencyLimit& limit;
    AdmissionLine& line;
  };
  Admission(const AdmissionOptions& options, const Shared& shared);
  // What runs and what waits stays, and the limit, held within the new bounds. Who waits leaves
  // when it would have. Ask try_next() after it. REQUIRES: !find_error(options).
  void reload(const AdmissionOptions& options);

  enum class Answer : std::uint8_t { runs, waits, refused };
  // Asks for a place. `refusals` gets the item itself when it is refused, and whoever had to make
  // room for it. REQUIRES: the item neither waits nor runs.
  [[nodiscard]] Answer offer(Item& item, Instant now, double draw, Refusals& refusals);

  // The next one to run; nullptr when nobody waits or no place is free. Ask until it is nullptr,
  // after each finished() and expire().
  [[nodiscard]] Item* try_next(Instant now, double draw, Refusals& refusals);
  // The next one to run in a place that somebody else has acquired for it; nullptr: nobody waits,
  // and the place is still the caller's. REQUIRES: a successful try_acquire of the limit.
  [[nodiscard]] Item* next(Instant now, double draw, Refusals& refusals);

  // The work is over; `abandoned`: its caller went away, so its latency says nothing. Work that
  // ended after its deadline tells the limit that there was too much. REQUIRES: item.runs().
  void on_finished(Item& item, Instant now, bool abandoned);

  // The caller went away. False: it does not wait.
  bool try_withdraw(Item& item, Instant now);

  // Refuses those that have waited long enough.
  void expire(Instant now, double draw, Refusals& refusals);
  // Refuses all that wait: the server stops.
  void drain(Instant now, double draw, Refusals& refusals);
  // When expire() has something to do; kNever when nobody waits.
  [[nodiscard]] Instant wake() noexcept { return leaving_.next(); }

  [[nodiscard]] const AdmissionTally& tally() const noexcept { return tally_; }
  [[nodiscard]] std::size_t depth() const noexcept { return queue_.depth(); }
  // Of those that wait; nothing: nobody does.
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
  timer::EventQueue leaving_;  // when each that waits has to leave
  AdmissionTally tally_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_ADMISSION_H_
