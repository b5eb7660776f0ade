#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/queue/work_queue/work_queue_core.h"

namespace damper::queue {

// A WorkQueueModel is what a WorkQueueCore does, in maps and vectors that are searched from end to
// end.
struct WorkQueueModel {
  using Criticality = admit::Criticality;
  using AfterRun = WorkQueueCore<std::string, int>::AfterRun;
  using Keys = std::vector<std::string>;
  enum class State { ready, delayed, running, parked };
  struct Entry {
    State state = State::ready;
    Criticality priority = Criticality::critical;
    std::string group;
    Instant since{};
    Instant due{};
    bool again = false;
    int payload = 0;
    int timer = 0;  // the order among those of one time
    int place = 0;  // the order in its line or list
  };

  WorkQueueOptions options;
  std::map<std::string, Entry> entries;
  Keys turns;  // groups
  QueueStats counts;
  bool closed = false;
  int number = 0;

  std::size_t count(State state, const std::string* group = nullptr) const {
    return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [&](auto& e) {
      return e.second.state == state && (group == nullptr || e.second.group == *group);
    }));
  }
  std::size_t keys_of(const std::string& group) const {
    return static_cast<std::size_t>(std::count_if(
        entries.begin(), entries.end(), [&](auto& e) { return e.second.group == group; }));
  }
  void update_turn(const std::string& group) {
    const bool may =
        count(State::ready, &group) > 0 &&
        (options.group_running == 0 || count(State::running, &group) < options.group_running);
    const auto found = std::find(turns.begin(), turns.end(), group);
    if (may && found == turns.end()) turns.push_back(group);
    if (!may && found != turns.end()) turns.erase(found);
  }

  void make_ready(Entry& entry, Instant since) {
    entry.state = State::ready;
    entry.since = since;
    entry.place = ++number;
    update_turn(entry.group);
  }
  // Those whose time has come are ready, in order of time.
  void ripen(Instant now) {
    for (;;) {
      Entry* first = nullptr;
      for (auto& [key, entry] : entries) {
        if (entry.state != State::delayed || entry.due > now) continue;
        if (first == nullptr ||
            std::pair(entry.due, entry.timer) < std::pair(first->due, first->timer)) {
          first = &entry;
        }
      }
      if (first == nullptr) return;
      make_ready(*first, first->due);
    }
  }
  AfterRun wait(Entry& entry, Instant due, Instant now) {
    if (due > now) {
      entry.state = State::delayed;
      entry.due = due;
      entry.timer = entry.place = ++number;
      return AfterRun::delayed;
    }
    ripen(now);
    make_ready(entry, now);
    return AfterRun::ready;
  }
  // Whether this key may be shed for a newcomer: the newest of its class in the group that has most
  // of them waiting, or the newest of those delayed; none that is less important waits.
  bool is_victim(const std::string& victim, Criticality newcomer) const {
    const Entry& shed = entries.at(victim);
    if (shed.priority <= newcomer) return false;
    if (shed.state != State::ready && shed.state != State::delayed) return false;
    std::map<std::string, int> waiting;
    for (const auto& [key, entry] : entries) {
      if (entry.state == State::ready && entry.priority == shed.priority) ++waiting[entry.group];
    }
    for (const auto& [key, entry] : entries) {
      if (entry.state != State::ready && entry.state != State::delayed) continue;
      if (entry.priority > shed.priority) return false;
      if (entry.priority < shed.priority) continue;
      if (shed.state == State::ready && entry.state == State::delayed) return false;
      if (shed.state != entry.state) continue;
      if (entry.state == State::delayed || entry.group == shed.group) {
        if (entry.place > shed.place) return false;
      } else if (waiting[entry.group] > waiting[shed.group]) {
        return false;
      }
    }
    return true;
  }
  bool has_victim(Criticality newcomer) const {
    return std::any_of(entries.begin(), entries.end(),
                       [&](auto& e) { return is_victim(e.first, newcomer); });
  }
  void take_out(const std::string& key) {
    const std::string group = entries.at(key).group;
    entries.erase(key);
    update_turn(group);
  }

  // `shed` is whom the core has shed: where two are equal, it may choose.
  Added add(const std::string& key, const AddOptions& how, Instant due, Instant now,
            const std::optional<std::string>& shed) {
    if (closed) return ++counts.closed, Added::closed;
    const auto found = entries.find(key);
    if (found != entries.end()) {
      EXPECT_FALSE(shed.has_value());
      return add_again(found->second, how.priority.value_or(found->second.priority), due, now);
    }
    const std::string group(how.group);
    if (options.group_capacity != 0 && keys_of(group) >= options.group_capacity) {
      return ++counts.refused, Added::refused;
    }
    const bool full = entries.size() >= options.capacity;
    if (full) ripen(now);
    if (full && (options.at_limit == AtLimit::refuse ||
                 !has_victim(how.priority.value_or(kDefaultClass)))) {
      EXPECT_FALSE(shed.has_value());
      return ++counts.refused, Added::refused;
    }
    EXPECT_EQ(shed.has_value(), full);
    if (full && shed) {
      EXPECT_TRUE(is_victim(*shed, how.priority.value_or(kDefaultClass))) << *shed;
      take_out(*shed);
      ++counts.shed;
    }
    ++counts.adds;
    Entry& entry = entries[key];
    entry.state = State::delayed;
    entry.due = kNever;
    entry.group = group;
    entry.priority = how.priority.value_or(kDefaultClass);
    return wait(entry, due, now) == AfterRun::ready ? Added::queued : Added::delayed;
  }
  Added add_again(Entry& entry, Criticality priority, Instant due, Instant now) {
    priority = std::min(priority, entry.priority);
    switch (entry.state) {
      case State::running:
        entry.due = entry.again ? std::min(entry.due, due) : due;
        entry.again = true;
        entry.priority = priority;
        return ++counts.marked, Added::marked;
      case State::parked:
        entry.payload = 0;
        entry.priority = priority;
        ++counts.adds;
        return wait(entry, due, now) == AfterRun::ready ? Added::queued : Added::delayed;
      default: break;
    }
    ++counts.merged;
    const bool sooner = entry.state == State::delayed && due < entry.due;
    if (!sooner && priority == entry.priority) return Added::merged;
    ripen(now);
    if (entry.state == State::delayed && due < entry.due) {
      entry.priority = priority;
      wait(entry, due, now);
    } else if (priority != entry.priority) {
      const int steps = static_cast<int>(entry.priority) - static_cast<int>(priority);
      if (entry.state == State::delayed || now - entry.since < options.ageing * steps) {
        entry.priority = priority;
        entry.place = ++number;
      }
    }
    return Added::merged;
  }

  // The first of each group's lines; the key that is next in its group counts from the earliest.
  std::string next_of(const std::string& group) const {
    std::map<Criticality, std::string> firsts;
    for (const auto& [key, entry] : entries) {
      if (entry.state != State::ready || entry.group != group) continue;
      std::string& first = firsts[entry.priority];
      if (first.empty() || entry.place < entries.at(first).place) first = key;
    }
    std::string best;
    Instant earliest{};
    for (const auto& [priority, key] : firsts) {  // The most critical first.
      const Instant from = entries.at(key).since + options.ageing * static_cast<int>(priority);
      if (best.empty() || from < earliest) {
        best = key;
        earliest = from;
      }
    }
    return best;
  }
  std::optional<std::string> get(Instant now) {
    ripen(now);
    if (turns.empty()) return std::nullopt;
    const std::string group = turns.front();
    const std::string key = next_of(group);
    turns.erase(turns.begin());
    Entry& entry = entries.at(key);
    entry.state = State::running;
    entry.since = now;
    entry.again = false;
    entry.place = ++number;
    update_turn(group);
    return key;
  }
  // Ends a run; the key runs again at `due`, if it is set.
  AfterRun finish(const std::string& key, std::optional<Instant> due, bool parks, Instant now) {
    Entry& entry = entries.at(key);
    if (entry.again) due = std::min(entry.due, due.value_or(kNever));
    entry.state = State::parked;
    update_turn(entry.group);
    if (due) {
      if (parks) entry.payload = 0;
      return wait(entry, *due, now);
    }
    if (parks) {
      entry.since = now;
      entry.place = ++number;
      return AfterRun::parked;
    }
    take_out(key);
    return AfterRun::removed;
  }
  bool revive(const std::string& key, Instant now) {
    const auto found = entries.find(key);
    if (closed || found == entries.end() || found->second.state != State::parked) return false;
    add_again(found->second, found->second.priority, now, now);
    return true;
  }
  Instant next_due() const {
    Instant next = kNever;
    for (const auto& [key, entry] : entries) {
      if (entry.state == State::delayed) next = std::min(next, entry.due);
    }
    return next;
  }
  QueueStats stats(Instant now) {
    ripen(now);
    QueueStats stats = counts;
    stats.ready = count(State::ready);
    stats.delayed = count(State::delayed);
    stats.running = count(State::running);
    stats.parked = count(State::parked);
    stats.capacity = options.capacity;
    Keys groups;
    for (const auto& [key, entry] : entries) {
      if (!entry.group.empty()) groups.push_back(entry.group);
      if (entry.state == State::running) {
        stats.unfinished += now - entry.since;
        stats.longest_running = std::max(stats.longest_running, now - entry.since);
      }
      if (entry.state != State::ready) continue;
      const bool first = std::none_of(entries.begin(), entries.end(), [&](auto& e) {
        const Entry& other = e.second;
        return other.state == State::ready && other.group == entry.group &&
               other.priority == entry.priority && other.place < entry.place;
      });
      if (first) stats.oldest_ready = std::max(stats.oldest_ready, now - entry.since);
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    stats.groups = groups.size();
    return stats;
  }
};

}  // namespace damper::queue
