#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/admit/criticality.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/work_queue/delayed_keys.h"
#include "damper/queue/work_queue/key_table.h"
#include "damper/queue/work_queue/node_list.h"
#include "damper/queue/work_queue/ready_lines.h"
#include "damper/queue/work_queue/work_queue_options.h"

namespace damper::queue {

// The payload of a queue whose user keeps no data with a key.
struct Nothing {};

// Which keys hand_back() removes. Running keys always stay.
enum class HandBack : std::uint8_t { all, all_but_ready };

// A WorkQueueCore is a set of keys to work on: it hands each key to one worker at a time, and again
// if the key was added during its run. Time is an argument: WorkQueueBase (work_queue_base.h) adds
// threads and a clock, the lab adds virtual time.
//
// Why: a plain queue of events runs an object ten times for ten events, on ten workers at once.
// The semantics are those of client-go's work queue without its defects (traps Q1 to Q10).
// Model: a key has one entry in one state: ready (in ReadyLines), delayed (in DelayedKeys), running
// or parked. The entry of a running key stores the earliest time for which the key was added since
// the run began. A key added for kNever stays delayed until an add with an earlier time. A payload
// lives from the key's first add until the key is removed, so per-key state (a failure count, for
// example) is bounded by the capacity.
// Time is monotonic, except for threads that read the clock before they take the lock. Such a small
// step back never runs a key early and never makes a wait negative.
// Invariants:
//   (1) A key never runs twice at the same time.
//   (2) After an accepted add the key runs, at its time or later, or it is handed back: to the add
//       that shed it, or by hand_back(). N adds during a run cause one more run.
//   (3) Of several times for one key the earliest wins; an add never delays a key.
//   (4) At most `capacity` keys in total, and at most `group_capacity` keys of a group.
//   (5) A ticket that is not outstanding changes nothing and is counted (trap Q2).
//   (6) After close() keys are added only by running ones; is_idle() then means that no key is
//       ready, running or marked to run again (trap Q1).
//   (7) An operation that throws (out of memory, or a Key whose copy throws) has changed nothing.
// Thread safety: none, except that the key of a ticket may be read during adds: entries do not
// move.
// Cost: add, get, done: at most one table lookup, the rest O(1); shedding is O(groups). No
// allocation below the largest number of keys so far; 120 bytes a key plus payload and key.
// [[gnu::always_inline]] here and in WorkQueueBase saves 3 ns (3 %) of BM_QueueAddGetDone together.
// Key: default-constructible, copyable, with std::hash and ==. Payload: a value type whose default
// construction and moves do not throw.
template <class Key, class Payload = Nothing>
class WorkQueueCore {
 public:
  static_assert(std::is_default_constructible_v<Payload> &&
                std::is_nothrow_move_constructible_v<Payload> &&
                std::is_nothrow_move_assignable_v<Payload>);
  using View = KeyView<Key>;

  // REQUIRES: !find_error(options).
  explicit WorkQueueCore(const WorkQueueOptions& options = {})
      : options_(options),
        lines_(options.ageing, options.group_running),
        delayed_(options.at_limit == AtLimit::shed_least_important) {
    DAMPER_CHECK_VALID(find_error(options));
  }

  struct AddResult {
    Added added;
    std::optional<Key> shed;  // the key that was removed to make room
  };
  // Adds the key, to run at `due` or as soon as possible after it.
  AddResult add(View key, const AddOptions& how, Instant due, Instant now) {
    if (closed_) {
      ++counts_.closed;
      return {Added::closed, std::nullopt};
    }
    const std::uint32_t hash = Table::hash(key);
    const Index found = table_.find(key, hash);
    if (found != kNone) return {add_again(found, how.priority, due, now), std::nullopt};
    return add_new(key, hash, how, due, now);
  }

  struct Taken {
    Ticket ticket;
    Duration waited;  // time in state ready
    const Key* key;   // valid until the run is over
    Payload* payload;
  };
  // Starts a run of the next ready key; nullopt when there is none.
  [[nodiscard]] std::optional<Taken> get(Instant now) {
    promote_due(now);
    const Index index = lines_.pop(table_);
    if (index == kNone) return std::nullopt;
    Node& node = table_.value(index);
    const Duration waited = std::max(Duration{0}, between(node.since, now));
    node.state = State::running;
    node.added_again = false;
    node.since = now;
    node.due = kNever;
    running_.push_back(table_, index);
    return Taken{{index, node.generation}, waited, &table_.key(index), &node.payload};
  }

  // The state of a key after its run; stale: the ticket was not outstanding.
  enum class AfterRun : std::uint8_t { removed, ready, delayed, parked, stale };

  // Ends the run. The key is queued again if it was added during the run.
  AfterRun done(Ticket ticket, Instant now) {
    if (!is_outstanding(ticket)) return on_stale();
    const Node& node = table_.value(ticket.index);
    if (node.added_again) return run_again(ticket.index, node.due, now);
    stop_running(ticket.index);
    release(ticket.index);
    return AfterRun::removed;
  }
  // Ends the run; the key runs again at `due`, or earlier if it was added during the run.
  AfterRun done_until(Ticket ticket, Instant due, Instant now) {
    if (!is_outstanding(ticket)) return on_stale();
    return run_again(ticket.index, std::min(due, table_.value(ticket.index).due), now);
  }
  // Ends the run and parks the key until it is added again; a key that was added during the run is
  // queued instead. In both cases the next run starts with a new payload.
  AfterRun park(Ticket ticket, Instant now) {
    if (!is_outstanding(ticket)) return on_stale();
    Node& node = table_.value(ticket.index);
    if (node.added_again) {
      const AfterRun left = run_again(ticket.index, node.due, now);
      node.payload = Payload{};
      return left;
    }
    stop_running(ticket.index);
    node.state = State::parked;
    node.since = now;
    parked_.push_back(table_, ticket.index);
    return AfterRun::parked;
  }

  // REQUIRES: is_outstanding(ticket). The references are valid until the run is over.
  [[nodiscard]] const Key& key(Ticket ticket) const {
    DAMPER_CHECK(is_outstanding(ticket));
    return table_.key(ticket.index);
  }
  [[nodiscard]] Payload& payload(Ticket ticket) {
    DAMPER_CHECK(is_outstanding(ticket));
    return table_.value(ticket.index).payload;
  }
  [[nodiscard]] bool is_outstanding(Ticket ticket) const noexcept {
    return ticket.index < table_.entries() &&
           table_.value(ticket.index).generation == ticket.generation &&
           table_.value(ticket.index).state == State::running;
  }

  // Whether get() would return a key.
  [[nodiscard]] bool has_ready(Instant now) {
    promote_due(now);
    return lines_.has_next();
  }
  // The due time of the next delayed key; kNever when there is none.
  [[nodiscard]] Instant next_due() noexcept { return delayed_.next_due(); }

  // Refuses adds from now on; keys in the queue still run.
  void close() noexcept { closed_ = true; }
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  // Closed, and no key is ready or will be after a current run: get() has nothing to wait for.
  [[nodiscard]] bool is_over() const {
    if (!closed_ || lines_.size() != 0) return false;
    bool over = true;
    running_.for_each(table_, [&](Index index) { over &= !table_.value(index).added_again; });
    return over;
  }
  // Keys that wait for a worker; 0 when every group is at its limit of running keys.
  [[nodiscard]] std::size_t ready() const noexcept { return lines_.has_next() ? lines_.size() : 0; }
  // No key is ready or running, as of the last get(). Keys may be delayed or parked.
  [[nodiscard]] bool is_idle() const noexcept { return lines_.size() == 0 && running_.empty(); }

  // A key that is removed before it ran.
  struct Unfinished {
    Key key;
    Payload payload;
    Instant due;          // delayed: its time; ready or parked: the start of that state
    bool parked = false;  // it would have run only after another add
  };
  // Removes every key that is not running and returns them ordered by `due`, for a program to save
  // before it exits (trap Q4). A running key that was added again is queued after its run and can
  // be handed back then.
  [[nodiscard]] std::vector<Unfinished> hand_back(HandBack which = HandBack::all);

  // Calls f(key, payload, since) for each parked key, longest parked first.
  template <class F>
  void for_each_parked(F&& f) {
    parked_.for_each(table_, [&](Index index) {
      const Node& node = table_.value(index);
      f(table_.key(index), node.payload, node.since);
    });
  }
  [[nodiscard]] std::size_t parked_size() const noexcept { return parked_.size(); }
  // Queues a parked key with a new payload; false when it is not parked or the queue is closed.
  bool revive(View key, Instant now) {
    if (closed_) return false;
    const Index index = table_.find(key);
    if (index == kNone || table_.value(index).state != State::parked) return false;
    (void)add_again(index, table_.value(index).priority, now, now);
    return true;
  }

  [[nodiscard]] QueueStats stats(Instant now);

 private:
  enum class State : std::uint8_t { free, ready, delayed, running, parked };
  struct Node {
    Instant since{};  // start of the state ready, running or parked
    Instant due{};    // delayed: when it becomes ready; running and added_again: the next run
    timer::EventQueue::Timer timer{};  // delayed
    Links links{};
    std::uint32_t group = 0;
    std::uint32_t generation = 1;  // of the next ticket; odd, so that none equals Ticket{}
    State state = State::free;
    admit::Criticality priority = admit::Criticality::critical;
    bool added_again = false;  // running: added during this run
    [[no_unique_address]] Payload payload{};
  };
  using Table = KeyTable<Key, Node>;
  using Index = typename Table::Index;
  using Timer = timer::EventQueue::Timer;
  static constexpr Index kNone = Table::kNone;

  AddResult add_new(View key, std::uint32_t hash, const AddOptions& how, Instant due, Instant now);
  Added add_again(Index index, std::optional<admit::Criticality> priority, Instant due,
                  Instant now);
  void update_waiting(Index index, admit::Criticality priority, Instant due, Instant now);
  [[nodiscard]] Index find_victim(admit::Criticality newcomer) const noexcept;

  AfterRun on_stale() noexcept {
    ++counts_.spurious_done;
    return AfterRun::stale;
  }
  [[gnu::always_inline]] void stop_running(Index index) noexcept {
    Node& node = table_.value(index);
    node.generation += 2;
    running_.remove(table_, index);
    lines_.on_done(node.group);
  }
  AfterRun run_again(Index index, Instant due, Instant now) {
    const Timer timer = schedule(index, due, now);  // May throw: nothing has changed.
    stop_running(index);
    return enqueue(index, due, now, timer);
  }

  // The timer for enqueue(). May throw; enqueue() does not.
  [[nodiscard, gnu::always_inline]] Timer schedule(Index index, Instant due, Instant now) {
    return due > now ? delayed_.schedule(index, due) : Timer{};
  }
  // Makes a key that is in no list ready or, if its time has not come, delayed.
  [[gnu::always_inline]] AfterRun enqueue(Index index, Instant due, Instant now,
                                          Timer timer) noexcept {
    Node& node = table_.value(index);
    if (due > now) {
      node.state = State::delayed;
      node.due = due;
      node.timer = timer;
      delayed_.push(table_, index);
      return AfterRun::delayed;
    }
    promote_due(now);  // Keys that were due before this one are served before it.
    node.state = State::ready;
    node.since = now;
    lines_.push(table_, index);
    ++counts_.readied;
    return AfterRun::ready;
  }
  void stop_waiting(Index index) noexcept {
    switch (table_.value(index).state) {
      case State::ready: return lines_.remove(table_, index);
      case State::delayed: return delayed_.remove(table_, index);
      default: return parked_.remove(table_, index);
    }
  }
  // Makes every delayed key whose time has come ready.
  [[gnu::always_inline]] void promote_due(Instant now) noexcept {
    if (delayed_.size() != 0) [[unlikely]]
      promote_all_due(now);
  }
  [[gnu::noinline]] void promote_all_due(Instant now) noexcept {
    for (;;) {
      const Index index = delayed_.pop(table_, now);
      if (index == kNone) return;
      Node& node = table_.value(index);
      node.state = State::ready;
      node.since = node.due;
      lines_.push(table_, index);
      ++counts_.readied;
    }
  }
  // Removes a key that is in no list.
  [[gnu::always_inline]] void release(Index index) noexcept {
    Node& node = table_.value(index);
    node.state = State::free;
    node.payload = Payload{};
    lines_.leave(node.group);
    table_.erase(index);
  }

  const WorkQueueOptions options_;
  Table table_;
  ReadyLines<Table> lines_;
  DelayedKeys<Table> delayed_;
  NodeList running_;  // longest first
  NodeList parked_;   // longest first
  QueueStats counts_;
  bool closed_ = false;
};

template <class Key, class Payload>
auto WorkQueueCore<Key, Payload>::add_new(View key, std::uint32_t hash, const AddOptions& how,
                                          Instant due, Instant now) -> AddResult {
  const auto refuse = [&]() -> AddResult {
    ++counts_.refused;
    return {Added::refused, std::nullopt};
  };
  if (options_.group_capacity != 0 && lines_.keys(how.group) >= options_.group_capacity) {
    return refuse();
  }
  Index victim = kNone;
  std::optional<Key> shed;
  if (table_.size() >= options_.capacity) {
    promote_due(now);
    victim = find_victim(how.priority.value_or(kDefaultClass));
    if (victim == kNone) return refuse();
    shed = table_.key(victim);
  }
  const Index index = table_.insert(key, hash);
  Node& node = table_.value(index);
  node.group = kNone;
  Timer timer{};
  try {
    node.group = lines_.join(how.group);
    timer = schedule(index, due, now);
  } catch (...) {
    if (node.group != kNone) lines_.leave(node.group);
    table_.erase(index);
    throw;
  }
  if (victim != kNone) {  // From here on nothing throws.
    stop_waiting(victim);
    release(victim);
    ++counts_.shed;
  }
  node.priority = how.priority.value_or(kDefaultClass);
  ++counts_.adds;
  const AfterRun left = enqueue(index, due, now, timer);
  return {left == AfterRun::ready ? Added::queued : Added::delayed, std::move(shed)};
}

template <class Key, class Payload>
Added WorkQueueCore<Key, Payload>::add_again(Index index,
                                             std::optional<admit::Criticality> priority,
                                             Instant due, Instant now) {
  Node& node = table_.value(index);
  const auto better = std::min(priority.value_or(node.priority), node.priority);
  if (node.state == State::running) {
    node.priority = better;
    node.due = std::min(node.due, due);
    node.added_again = true;
    ++counts_.marked;
    return Added::marked;
  }
  if (node.state == State::parked) {
    const Timer timer = schedule(index, due, now);
    stop_waiting(index);
    node.priority = better;
    node.payload = Payload{};
    ++counts_.adds;
    return enqueue(index, due, now, timer) == AfterRun::ready ? Added::queued : Added::delayed;
  }
  const bool sooner = node.state == State::delayed && due < node.due;
  if (sooner || better != node.priority) [[unlikely]]
    update_waiting(index, better, due, now);
  ++counts_.merged;
  return Added::merged;
}

// Gives a ready or delayed key an earlier time, a better class or both.
template <class Key, class Payload>
void WorkQueueCore<Key, Payload>::update_waiting(Index index, admit::Criticality priority,
                                                 Instant due, Instant now) {
  promote_due(now);  // The key may be due by now.
  Node& node = table_.value(index);
  if (node.state == State::ready) {
    lines_.raise(table_, index, priority, now);
  } else if (due < node.due) {
    const Timer timer = schedule(index, due, now);
    delayed_.remove(table_, index);
    node.priority = priority;
    (void)enqueue(index, due, now, timer);
  } else {
    delayed_.set_priority(table_, index, priority);
  }
}

// The least important waiting key, if it is less important than the newcomer; delayed keys before
// ready ones.
template <class Key, class Payload>
auto WorkQueueCore<Key, Payload>::find_victim(admit::Criticality newcomer) const noexcept -> Index {
  if (options_.at_limit == AtLimit::refuse) return kNone;
  for (auto c = admit::kCriticalities - 1; c > static_cast<std::size_t>(newcomer); --c) {
    const auto priority = static_cast<admit::Criticality>(c);
    const Index delayed = delayed_.newest(priority);
    if (delayed != kNone) return delayed;
    const Index ready = lines_.find_victim(priority);
    if (ready != kNone) return ready;
  }
  return kNone;
}

template <class Key, class Payload>
auto WorkQueueCore<Key, Payload>::hand_back(HandBack which) -> std::vector<Unfinished> {
  const bool ready = which == HandBack::all;
  std::vector<Unfinished> unfinished;
  unfinished.reserve(delayed_.size() + parked_.size() + (ready ? lines_.size() : 0));
  const auto for_each = [&](const auto& f) {
    if (ready) lines_.for_each(table_, f);
    for (Index i = 0; i < table_.entries(); ++i) {
      if (table_.value(i).state == State::delayed) f(i);
    }
    parked_.for_each(table_, f);
  };
  for_each([&](Index index) {  // May throw: nothing has changed.
    const Node& node = table_.value(index);
    const Instant due = node.state == State::delayed ? node.due : node.since;
    unfinished.push_back({table_.key(index), {}, due, node.state == State::parked});
  });
  std::size_t at = 0;
  for_each([&](Index index) {
    unfinished[at++].payload = std::move(table_.value(index).payload);
    stop_waiting(index);
    release(index);
  });
  std::stable_sort(unfinished.begin(), unfinished.end(),
                   [](const Unfinished& a, const Unfinished& b) { return a.due < b.due; });
  return unfinished;
}

template <class Key, class Payload>
QueueStats WorkQueueCore<Key, Payload>::stats(Instant now) {
  promote_due(now);
  QueueStats stats = counts_;
  stats.ready = lines_.size();
  stats.delayed = delayed_.size();
  stats.running = running_.size();
  stats.parked = parked_.size();
  stats.groups = lines_.groups();
  stats.capacity = options_.capacity;
  const auto age = [now](Instant since) { return std::max(Duration{0}, between(since, now)); };
  stats.oldest_ready = age(lines_.oldest(table_));
  if (!running_.empty()) stats.longest_running = age(table_.value(running_.front()).since);
  running_.for_each(table_,
                    [&](Index index) { stats.unfinished += age(table_.value(index).since); });
  return stats;
}

}  // namespace damper::queue
