#pragma once

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

// ReadyLines are the keys of a work queue that wait for a worker, and select the next one.
//
// Why: with a single FIFO a tenant with ten thousand keys delays one with a single key (trap Q9);
// strict priorities starve the low classes (trap Q8).
// Model: round robin over groups (tenants, namespaces), one key each. A group is eligible while it
// has a waiting key and fewer than `most_running` running ones. A group has a FIFO for each
// criticality; a key of class c (0 is the most critical) is ranked as if it had become ready
// c * ageing later, and the first of the four front keys is next.
// Invariants:
//   (1) Within one group and class, first in, first out.
//   (2) A key is overtaken only by keys of its group that became ready at most (difference of
//       class) * ageing after it: waits are bounded. A better class never delays a key.
//   (3) Of g eligible groups, each gets one of g consecutive pops.
//   (4) No group has more than most_running running keys.
// Thread safety: none.
// Cost: push, pop, remove: O(1). Groups exist while they have keys. No allocation once warm.
// [[gnu::always_inline]]: see NodeList.
//
// Table is the KeyTable of the keys; its values have links, group, priority and since.
template <class Table>
class ReadyLines {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = Table::kNone;

  // most_running: 0 for no bound.
  ReadyLines(Duration ageing, std::uint32_t most_running)
      : ageing_(ageing), most_running_(most_running), no_group_(insert({})) {}

  // Counts a new key of the group; "" is the group of keys without one.
  [[nodiscard, gnu::always_inline]] Index join(std::string_view group) {
    const Index index = group.empty() ? no_group_ : find_or_insert(group);
    ++groups_.value(index).keys;
    return index;
  }
  [[gnu::always_inline]] void leave(Index group) noexcept {
    if (--groups_.value(group).keys == 0 && group != no_group_) groups_.erase(group);
  }
  // The number of keys of a group, waiting or not.
  [[nodiscard]] std::size_t keys(Index group) const noexcept { return groups_.value(group).keys; }
  [[nodiscard]] std::size_t keys(std::string_view group) const {
    const Index index = groups_.find(group);
    return index == kNone ? 0 : keys(index);
  }
  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size() - 1; }

  // Appends the key to its FIFO. REQUIRES: it is in no list.
  [[gnu::always_inline]] void push(Table& table, Index key) noexcept {
    const auto& node = table.value(key);
    Group& group = groups_.value(node.group);
    line(group, node.priority).push_back(table, key);
    ++group.waiting;
    ++size_;
    list_if_eligible(node.group, group);
  }

  // REQUIRES: the key is here.
  void remove(Table& table, Index key) noexcept {
    const auto& node = table.value(key);
    Group& group = groups_.value(node.group);
    line(group, node.priority).remove(table, key);
    --group.waiting;
    --size_;
    if (group.is_listed && group.waiting == 0) unlist(node.group, group);
  }

  // Moves the key to the end of a better class's FIFO, unless its waiting time is such that this
  // would delay it. REQUIRES: the key is here.
  void raise(Table& table, Index key, admit::Criticality priority, Instant now) noexcept {
    auto& node = table.value(key);
    const auto steps = static_cast<int>(node.priority) - static_cast<int>(priority);
    if (steps <= 0 || between(node.since, now) >= ageing_ * steps) return;
    Group& group = groups_.value(node.group);
    line(group, node.priority).remove(table, key);
    node.priority = priority;
    line(group, priority).push_back(table, key);
  }

  // Whether pop() would return a key.
  [[nodiscard]] bool has_next() const noexcept { return !eligible_.empty(); }
  // Removes the next key, which counts as running; kNone when no group is eligible.
  [[nodiscard, gnu::always_inline]] Index pop(Table& table) noexcept {
    if (eligible_.empty()) return kNone;
    const Index next = eligible_.front();
    Group& group = groups_.value(next);
    NodeList& first = choose(table, group);
    const Index key = first.front();
    first.remove(table, key);
    --group.waiting;
    --size_;
    ++group.running;
    if (!is_eligible(group)) {
      unlist(next, group);
    } else if (eligible_.size() > 1) {
      eligible_.remove(groups_, next);
      eligible_.push_back(groups_, next);
    }
    return key;
  }

  // The run of a popped key is over.
  [[gnu::always_inline]] void on_done(Index group) noexcept {
    Group& freed = groups_.value(group);
    --freed.running;
    list_if_eligible(group, freed);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // The earliest `since` of the front keys; kNever when there is none. A raised key that is not in
  // front may be older, by less than its (difference of class) * ageing. O(groups).
  [[nodiscard]] Instant oldest(const Table& table) const noexcept {
    Instant oldest = kNever;
    for_each_group([&](const Group& group) {
      for (const NodeList& line : group.lines) {
        if (!line.empty()) oldest = std::min(oldest, table.value(line.front()).since);
      }
    });
    return oldest;
  }

  // The key of this class to shed: the newest of the group with the most of them; kNone when there
  // is none. O(groups).
  [[nodiscard]] Index find_victim(admit::Criticality priority) const noexcept {
    NodeList longest;
    for_each_group([&](const Group& group) {
      const NodeList& line = group.lines[static_cast<std::size_t>(priority)];
      if (line.size() > longest.size()) longest = line;
    });
    return longest.empty() ? kNone : longest.back();
  }

  // Calls f(key) for each key, group by group; f may remove its argument.
  template <class F>
  void for_each(Table& table, F&& f) {
    for_each_group([&](const Group& group) {
      for (const NodeList& line : group.lines) line.for_each(table, f);
    });
  }

 private:
  struct Group {
    Links links;  // in eligible_
    std::array<NodeList, admit::kCriticalities> lines{};
    std::uint32_t keys = 0;
    std::uint32_t waiting = 0;
    std::uint32_t running = 0;
    bool is_listed = false;
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
  // Calls f(group) for each group with a waiting key.
  template <class F>
  void for_each_group(F&& f) const {
    std::size_t left = size_;  // waiting keys that were not visited yet
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
  void list_if_eligible(Index index, Group& group) noexcept {
    if (group.is_listed || !is_eligible(group)) return;
    group.is_listed = true;
    eligible_.push_back(groups_, index);
  }
  void unlist(Index index, Group& group) noexcept {
    group.is_listed = false;
    eligible_.remove(groups_, index);
  }
  // The FIFO whose front key is next. REQUIRES: the group has a waiting key.
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
  const Index no_group_;
  NodeList eligible_;
  std::size_t size_ = 0;
};

}  // namespace damper::queue
