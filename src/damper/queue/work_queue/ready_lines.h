#ifndef DAMPER_QUEUE_WORK_QUEUE_READY_LINES_H_
#define DAMPER_QUEUE_WORK_QUEUE_READY_LINES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/admit/criticality.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/work_queue/key_table.h"
#include "damper/queue/work_queue/node_list.h"

namespace damper::queue {

// ReadyLines are the keys that wait for a worker: who is next.
//
// Why: one line for all lets a tenant with ten thousand keys hold up one with a single key (trap
// Q9); strict priorities starve the low class (trap Q8).
// Model: groups (tenants, namespaces) take turns, one key a turn. A group has its turn while it has
// a key that waits and fewer than `most_running` under way. Within a group there is a line for each
// criticality; a key of class c (0 is the most critical) counts as if it had come c * ageing later
// than it did, and the earliest of the four first keys goes.
// Invariants:
//   (1) Within one group and class, first come, first served.
//   (2) A key is overtaken only by keys of its group that came at most (difference of class) *
//       ageing after it: each wait is bounded. To get a better class never sets a key back.
//   (3) Of g groups that have their turn, each gets one of g in a row.
//   (4) No group has more than most_running keys under way.
// Thread safety: none.
// Cost: push, pop, remove: O(1). Groups exist while they have keys. No allocation once warm.
//
// Table is the KeyTable of the keys; its values have links, group, priority and since.
template <class Table>
class ReadyLines {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = Table::kNone;

  // most_running: 0 for no bound.
  ReadyLines(Duration ageing, std::uint32_t most_running)
      : ageing_(ageing), most_running_(most_running), nobody_(insert({})) {}

  // A key comes to be in a group; "" is the group of those that are in none.
  [[nodiscard, gnu::always_inline]] Index join(std::string_view group) {
    const Index index = group.empty() ? nobody_ : find_or_insert(group);
    ++groups_.value(index).keys;
    return index;
  }
  [[gnu::always_inline]] void leave(Index group) noexcept {
    if (--groups_.value(group).keys == 0 && group != nobody_) groups_.erase(group);
  }
  // How many keys a group has, waiting or not.
  [[nodiscard]] std::size_t keys(Index group) const noexcept { return groups_.value(group).keys; }
  [[nodiscard]] std::size_t keys(std::string_view group) const {
    const Index index = groups_.find(group);
    return index == kNone ? 0 : keys(index);
  }
  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size() - 1; }

  // The key waits, at the end of its line. REQUIRES: it is in no list.
  [[gnu::always_inline]] void push(Table& table, Index key) noexcept {
    const auto& node = table.value(key);
    Group& group = groups_.value(node.group);
    line(group, node.priority).push_back(table, key);
    ++group.waiting;
    ++size_;
    offer_turn(node.group, group);
  }

  // The key waits no more. REQUIRES: it does.
  void remove(Table& table, Index key) noexcept {
    const auto& node = table.value(key);
    Group& group = groups_.value(node.group);
    line(group, node.priority).remove(table, key);
    --group.waiting;
    --size_;
    if (group.has_turn && group.waiting == 0) end_turn(node.group, group);
  }

  // The key gets a better class, and stands at the end of that line; but one that has waited longer
  // than that is worth would lose its place, and keeps it. REQUIRES: it waits.
  void raise(Table& table, Index key, admit::Criticality priority, Instant now) noexcept {
    auto& node = table.value(key);
    const auto steps = static_cast<int>(node.priority) - static_cast<int>(priority);
    if (steps <= 0 || between(node.since, now) >= ageing_ * steps) return;
    Group& group = groups_.value(node.group);
    line(group, node.priority).remove(table, key);
    node.priority = priority;
    line(group, priority).push_back(table, key);
  }

  // Whether pop() would find one.
  [[nodiscard]] bool has_next() const noexcept { return !turns_.empty(); }
  // The next key, which is under way from now on; kNone when none may be.
  [[nodiscard, gnu::always_inline]] Index pop(Table& table) noexcept {
    if (turns_.empty()) return kNone;
    const Index turn = turns_.front();
    Group& group = groups_.value(turn);
    NodeList& first = choose(table, group);
    const Index key = first.front();
    first.remove(table, key);
    --group.waiting;
    --size_;
    ++group.running;
    if (!is_eligible(group)) {
      end_turn(turn, group);
    } else if (turns_.size() > 1) {
      turns_.remove(groups_, turn);
      turns_.push_back(groups_, turn);
    }
    return key;
  }

  // A key that was popped is under way no more.
  [[gnu::always_inline]] void on_done(Index group) noexcept {
    Group& freed = groups_.value(group);
    --freed.running;
    offer_turn(group, freed);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Since when the oldest of those waits that are first in a line; kNever when none does. Only a
  // key that was raised may wait longer, by less than its classes are worth. O(groups).
  [[nodiscard]] Instant oldest(const Table& table) const noexcept {
    Instant oldest = kNever;
    for_each_group([&](const Group& group) {
      for (const NodeList& line : group.lines) {
        if (!line.empty()) oldest = std::min(oldest, table.value(line.front()).since);
      }
    });
    return oldest;
  }

  // Of the waiting keys of this class, the one that is missed least: the newest of the group that
  // has most of them; kNone when there is none. O(groups).
  [[nodiscard]] Index least_missed(admit::Criticality priority) const noexcept {
    NodeList longest;
    for_each_group([&](const Group& group) {
      const NodeList& line = group.lines[static_cast<std::size_t>(priority)];
      if (line.size() > longest.size()) longest = line;
    });
    return longest.empty() ? kNone : longest.back();
  }

  // Calls f(key) for each that waits, group by group; f may remove the one that it is given.
  template <class F>
  void for_each(Table& table, F&& f) {
    for_each_group([&](const Group& group) {
      for (const NodeList& line : group.lines) line.for_each(table, f);
    });
  }

 private:
  struct Group {
    Links links;  // among those that have their turn
    std::array<NodeList, admit::kCriticalities> lines{};
    std::uint32_t keys = 0;
    std::uint32_t waiting = 0;
    std::uint32_t running = 0;
    bool has_turn = false;
  };

  Index find_or_insert(std::string_view group) {
    const Index index = groups_.find(group);
    return index != kNone ? index : insert(group);
  }
  Index insert(std::string_view group) {
    const Index index = groups_.insert(group, groups_.hash(group));
    groups_.value(index) = {};
    return index;
  }
  // Calls f(group) for each that has a key that waits.
  template <class F>
  void for_each_group(F&& f) const {
    std::size_t left = size_;  // of the keys: none waits beyond the last of them
    for (Index i = 0; left > 0; ++i) {
      const Group& group = groups_.value(i);
      if (group.waiting == 0) continue;
      left -= group.waiting;
      f(group);
    }
  }
  static NodeList& line(Group& group, admit::Criticality priority) noexcept {
    return group.lines[static_cast<std::size_t>(priority)];
  }
  [[nodiscard]] bool is_eligible(const Group& group) const noexcept {
    return group.waiting > 0 && (most_running_ == 0 || group.running < most_running_);
  }
  void offer_turn(Index index, Group& group) noexcept {
    if (group.has_turn || !is_eligible(group)) return;
    group.has_turn = true;
    turns_.push_back(groups_, index);
  }
  void end_turn(Index index, Group& group) noexcept {
    group.has_turn = false;
    turns_.remove(groups_, index);
  }
  // The line whose first key is next. REQUIRES: one of the group's keys waits.
  [[nodiscard]] NodeList& choose(const Table& table, Group& group) const noexcept {
    NodeList* chosen = nullptr;
    Instant earliest = kNever;
    Duration penalty{0};
    for (NodeList& line : group.lines) {
      if (!line.empty()) {
        if (line.size() == group.waiting) return line;  // The only one.
        const Instant counts_from = add(table.value(line.front()).since, penalty);
        if (chosen == nullptr || counts_from < earliest) {
          chosen = &line;
          earliest = counts_from;
        }
      }
      penalty += ageing_;
    }
    DAMPER_CHECK(chosen != nullptr);
    return *chosen;
  }

  const Duration ageing_;
  const std::uint32_t most_running_;
  KeyTable<std::string, Group> groups_;
  const Index nobody_;
  NodeList turns_;
  std::size_t size_ = 0;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_READY_LINES_H_
