#ifndef DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_CORE_H_
#define DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_CORE_H_

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

// What a queue keeps with a key when its user keeps nothing there.
struct Nothing {};

// A WorkQueueCore is a set of keys that somebody should work on: each once, never two workers on
// one key, and again if it was added meanwhile. Time is an argument: a shell (work_queue.h) brings
// threads and a clock, the lab brings virtual time.
//
// Why: a plain queue of events runs an object ten times for ten events, on ten workers at once.
// client-go's queue is the model of all that came after it; this one keeps what people rely on and
// leaves out its defects (traps Q1 to Q10).
// Model: a key has one entry, in one state: ready (in ReadyLines), delayed (in DelayedKeys), under
// way, or parked. The entry of a key under way keeps the earliest time for which it was added
// since. A key that is added for kNever waits, delayed, until an add says better. A payload stays
// with the key from its first add until it leaves, so what a user remembers of a key (its failures,
// say) is bounded by the capacity and gone when it is.
// Time does not go back, but for the little by which threads that read a clock before they lock
// overtake each other: no key runs before its time, and no wait is negative, though it does.
// Invariants:
//   (1) No key is under way twice at once.
//   (2) A key that an add has taken runs after that add, at its time or later, or is handed back:
//       to the add that shed it, or by hand_back. N adds while it is under way are one more run.
//   (3) Of several times for one key, the earliest holds; an add never makes a key later.
//   (4) No more than `capacity` keys at once, and no more than `group_capacity` of a group.
//   (5) A ticket that is not out changes nothing, and is counted (trap Q2).
//   (6) After close() nothing is added but by what is under way; is_idle() then means empty: none
//       ready, none under way, none marked (trap Q1).
//   (7) What throws (for want of memory, or a Key that does when it is copied) has changed nothing.
// Thread safety: none, but that the key of a ticket may be read while others add: it stays put.
// Cost: add, get, done: one probe of the table or none, and O(1) beside it; to shed, O(groups). No
// allocation once as many keys have been there at once; 120 bytes a key (the payload and the key's
// own beside it).
// Key: default-constructible, copyable, with std::hash and ==. Payload: a plain value, which no
// more throws when it is made or moved than an int does.
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
    DAMPER_CHECK(!find_error(options));
  }

  struct AddResult {
    Added added;
    std::optional<Key> shed;  // who made room for it
  };
  // The key is to run, at `due` or as soon as it may be.
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
    Duration waited;  // ready, until now
    const Key* key;   // good until the ticket is not out
    Payload* payload;
  };
  // The next key that may run; nothing when there is none.
  [[nodiscard]] std::optional<Taken> get(Instant now) {
    ripen(now);
    const Index index = lines_.pop(table_);
    if (index == kNone) return std::nullopt;
    Node& node = table_.value(index);
    const Duration waited = std::max(Duration{0}, between(node.since, now));
    node.state = State::running;
    node.again = false;
    node.since = now;
    node.due = kNever;
    running_.push_back(table_, index);
    return Taken{{index, node.generation}, waited, &table_.key(index), &node.payload};
  }

  // What became of a key after its run.
  enum class Left : std::uint8_t { gone, ready, delayed, parked, stale };

  // The run is over. The key is queued again if it was added meanwhile.
  Left done(Ticket ticket, Instant now) {
    if (!is_out(ticket)) return on_stale();
    const Node& node = table_.value(ticket.index);
    if (node.again) return run_again(ticket.index, node.due, now);
    stop_running(ticket.index);
    release(ticket.index);
    return Left::gone;
  }
  // The run is over, and the key runs again at `due`, or earlier if it was added meanwhile.
  Left done_until(Ticket ticket, Instant due, Instant now) {
    if (!is_out(ticket)) return on_stale();
    return run_again(ticket.index, std::min(due, table_.value(ticket.index).due), now);
  }
  // The run is over, and the key stays until somebody adds it again; what was added meanwhile
  // counts. Parked or queued again, it starts anew: its payload does, when it leaves the parking.
  Left park(Ticket ticket, Instant now) {
    if (!is_out(ticket)) return on_stale();
    Node& node = table_.value(ticket.index);
    if (node.again) {
      const Left left = run_again(ticket.index, node.due, now);
      node.payload = Payload{};
      return left;
    }
    stop_running(ticket.index);
    node.state = State::parked;
    node.since = now;
    parked_.push_back(table_, ticket.index);
    return Left::parked;
  }

  // REQUIRES: the ticket is out. The references are good until it is not.
  [[nodiscard]] const Key& key(Ticket ticket) const {
    DAMPER_CHECK(is_out(ticket));
    return table_.key(ticket.index);
  }
  [[nodiscard]] Payload& payload(Ticket ticket) {
    DAMPER_CHECK(is_out(ticket));
    return table_.value(ticket.index).payload;
  }
  [[nodiscard]] bool is_out(Ticket ticket) const noexcept {
    return ticket.index < table_.entries() &&
           table_.value(ticket.index).generation == ticket.generation &&
           table_.value(ticket.index).state == State::running;
  }

  // Whether get() would find one.
  [[nodiscard]] bool has_ready(Instant now) {
    ripen(now);
    return lines_.has_next();
  }
  // When the next delayed key is due; kNever when there is none.
  [[nodiscard]] Instant next_due() noexcept { return delayed_.next_due(); }

  // No more adds; what is here goes on.
  void close() noexcept { closed_ = true; }
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  // Closed, and no key is ready or will be when its run is over: get() has nothing to wait for.
  [[nodiscard]] bool is_over() const {
    if (!closed_ || lines_.size() != 0) return false;
    bool over = true;
    running_.for_each(table_, [&](Index index) { over &= !table_.value(index).again; });
    return over;
  }
  // How many keys wait for a worker; 0 when no group may have another one under way.
  [[nodiscard]] std::size_t ready() const noexcept { return lines_.has_next() ? lines_.size() : 0; }
  // Nothing is ready or under way, as the last get() saw it. What is delayed or parked may be here.
  [[nodiscard]] bool is_idle() const noexcept { return lines_.size() == 0 && running_.empty(); }

  // A key that did not run, and what it waited for.
  struct Unfinished {
    Key key;
    Payload payload;
    Instant due;          // when it should have run; if it was ready or parked: since when
    bool parked = false;  // nothing but an add would have made it run
  };
  // Takes out every key that is not under way, by time: what a program keeps before it ends
  // (trap Q4). With ready = false, only what is delayed or parked. What is under way and marked
  // waits again when it is done, and can be handed back then.
  [[nodiscard]] std::vector<Unfinished> hand_back(bool ready = true);

  // Calls f(key, payload, since) for each parked key, the longest parked first.
  template <class F>
  void for_each_parked(F&& f) {
    parked_.for_each(table_, [&](Index index) {
      const Node& node = table_.value(index);
      f(table_.key(index), node.payload, node.since);
    });
  }
  [[nodiscard]] std::size_t parked_size() const noexcept { return parked_.size(); }
  // Lets a parked key run, anew; false when it is not parked, or the queue is closed.
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
    Instant since{};  // it has been ready, running or parked
    Instant due{};    // delayed: when it is ready; running: when it runs again, if it does
    timer::EventQueue::Timer timer{};  // of a delayed one
    Links links{};
    std::uint32_t group = 0;
    std::uint32_t generation = 1;  // of its next ticket; odd, so that none is like Ticket{}
    State state = State::free;
    admit::Criticality priority = admit::Criticality::critical;
    bool again = false;  // running: it was added meanwhile
    [[no_unique_address]] Payload payload{};
  };
  using Table = KeyTable<Key, Node>;
  using Index = typename Table::Index;
  using Timer = timer::EventQueue::Timer;
  static constexpr Index kNone = Table::kNone;

  AddResult add_new(View key, std::uint32_t hash, const AddOptions& how, Instant due, Instant now);
  Added add_again(Index index, std::optional<admit::Criticality> priority, Instant due,
                  Instant now);
  void improve(Index index, admit::Criticality priority, Instant due, Instant now);
  [[nodiscard]] Index find_victim(admit::Criticality newcomer) const noexcept;

  Left on_stale() noexcept {
    ++counts_.spurious_done;
    return Left::stale;
  }
  [[gnu::always_inline]] void stop_running(Index index) noexcept {
    Node& node = table_.value(index);
    node.generation += 2;
    running_.remove(table_, index);
    lines_.on_done(node.group);
  }
  Left run_again(Index index, Instant due, Instant now) {
    const Timer timer = plan(index, due, now);  // May throw: the ticket is out still.
    stop_running(index);
    return wait(index, due, now, timer);
  }

  // What wait() needs; this may throw, that does not.
  [[nodiscard, gnu::always_inline]] Timer plan(Index index, Instant due, Instant now) {
    return due > now ? delayed_.schedule(index, due) : Timer{};
  }
  // Puts a key that is in no list where it waits.
  [[gnu::always_inline]] Left wait(Index index, Instant due, Instant now, Timer timer) noexcept {
    Node& node = table_.value(index);
    if (due > now) {
      node.state = State::delayed;
      node.due = due;
      node.timer = timer;
      delayed_.push(table_, index);
      return Left::delayed;
    }
    ripen(now);  // Who came first stands before it.
    node.state = State::ready;
    node.since = now;
    lines_.push(table_, index);
    ++counts_.readied;
    return Left::ready;
  }
  void stop_waiting(Index index) noexcept {
    switch (table_.value(index).state) {
      case State::ready:
        return lines_.remove(table_, index);
      case State::delayed:
        return delayed_.remove(table_, index);
      default:
        return parked_.remove(table_, index);
    }
  }
  // Lets those whose time has come stand in line.
  [[gnu::always_inline]] void ripen(Instant now) noexcept {
    if (delayed_.size() != 0) [[unlikely]]
      ripen_some(now);
  }
  [[gnu::noinline]] void ripen_some(Instant now) noexcept {
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
  // Takes a key out that is in no list.
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
  NodeList running_;  // the longest first
  NodeList parked_;   // the longest first
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
    ripen(now);
    victim = find_victim(how.priority.value_or(kUnsaidClass));
    if (victim == kNone) return refuse();
    shed = table_.key(victim);
  }
  const Index index = table_.insert(key, hash);
  Node& node = table_.value(index);
  node.group = kNone;
  Timer timer{};
  try {
    node.group = lines_.join(how.group);
    timer = plan(index, due, now);
  } catch (...) {
    if (node.group != kNone) lines_.leave(node.group);
    table_.erase(index);
    throw;
  }
  if (victim != kNone) {  // Only now: nothing throws any more.
    stop_waiting(victim);
    release(victim);
    ++counts_.shed;
  }
  node.priority = how.priority.value_or(kUnsaidClass);
  ++counts_.adds;
  const Left left = wait(index, due, now, timer);
  return {left == Left::ready ? Added::queued : Added::delayed, std::move(shed)};
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
    node.again = true;
    ++counts_.marked;
    return Added::marked;
  }
  if (node.state == State::parked) {
    const Timer timer = plan(index, due, now);
    stop_waiting(index);
    node.priority = better;
    node.payload = Payload{};
    ++counts_.adds;
    return wait(index, due, now, timer) == Left::ready ? Added::queued : Added::delayed;
  }
  const bool sooner = node.state == State::delayed && due < node.due;
  if (sooner || better != node.priority) [[unlikely]]
    improve(index, better, due, now);
  ++counts_.merged;
  return Added::merged;
}

// A key that waits gets an earlier time, a better class or both.
template <class Key, class Payload>
void WorkQueueCore<Key, Payload>::improve(Index index, admit::Criticality priority, Instant due,
                                          Instant now) {
  ripen(now);  // It may be ready by now.
  Node& node = table_.value(index);
  if (node.state == State::ready) {
    lines_.raise(table_, index, priority, now);
  } else if (due < node.due) {
    const Timer timer = plan(index, due, now);
    delayed_.remove(table_, index);
    node.priority = priority;
    (void)wait(index, due, now, timer);
  } else if (priority != node.priority) {
    delayed_.set_priority(table_, index, priority);
  }
}

// The least important key that waits, if it is less so than the newcomer; what is delayed before
// what is ready.
template <class Key, class Payload>
auto WorkQueueCore<Key, Payload>::find_victim(admit::Criticality newcomer) const noexcept -> Index {
  if (options_.at_limit == AtLimit::refuse) return kNone;
  for (auto c = admit::kCriticalities - 1; c > static_cast<std::size_t>(newcomer); --c) {
    const auto priority = static_cast<admit::Criticality>(c);
    const Index delayed = delayed_.newest(priority);
    if (delayed != kNone) return delayed;
    const Index ready = lines_.least_missed(priority);
    if (ready != kNone) return ready;
  }
  return kNone;
}

template <class Key, class Payload>
auto WorkQueueCore<Key, Payload>::hand_back(bool ready) -> std::vector<Unfinished> {
  std::vector<Unfinished> unfinished;
  unfinished.reserve(delayed_.size() + parked_.size() + (ready ? lines_.size() : 0));
  const auto for_each = [&](const auto& f) {
    if (ready) lines_.for_each(table_, f);
    for (Index i = 0; i < table_.entries(); ++i) {
      if (table_.value(i).state == State::delayed) f(i);
    }
    parked_.for_each(table_, f);
  };
  for_each([&](Index index) {  // May throw; nothing has changed then.
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
  ripen(now);
  QueueStats stats = counts_;
  stats.ready = lines_.size();
  stats.delayed = delayed_.size();
  stats.running = running_.size();
  stats.parked = parked_.size();
  stats.groups = lines_.groups();
  stats.capacity = options_.capacity;
  const auto age = [now](Instant since) { return std::max(Duration{0}, between(since, now)); };
  if (stats.ready > 0) stats.oldest_ready = age(lines_.oldest(table_));
  if (!running_.empty()) stats.longest_running = age(table_.value(running_.front()).since);
  running_.for_each(table_,
                    [&](Index index) { stats.unfinished += age(table_.value(index).since); });
  return stats;
}

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_WORK_QUEUE_CORE_H_
