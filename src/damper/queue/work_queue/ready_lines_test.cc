#include "damper/queue/work_queue/ready_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using admit::Criticality;
using enum admit::Criticality;

constexpr Criticality kAll[] = {critical_plus, critical, sheddable_plus, sheddable};

struct Node {
  Instant since{};
  Links links{};
  std::uint32_t group = 0;
  Criticality priority = critical;
};
using Table = KeyTable<std::string, Node>;

// Lines with the table that they stand in, by name.
class Lines {
 public:
  explicit Lines(Duration ageing = 10s, std::uint32_t most_running = 0)
      : lines_(ageing, most_running) {}

  void push(std::string_view key, Duration since, Criticality priority = critical,
            std::string_view group = {}) {
    const auto index = table_.insert(key, Table::hash(key));
    Node& node = table_.value(index);
    node.since = Instant{since};
    node.priority = priority;
    node.group = lines_.join(group);
    lines_.push(table_, index);
  }
  void remove(std::string_view key) {
    const auto index = table_.find(key);
    lines_.remove(table_, index);
    lines_.leave(table_.value(index).group);
    table_.erase(index);
  }
  void raise(std::string_view key, Criticality priority, Duration now) {
    lines_.raise(table_, table_.find(key), priority, Instant{now});
  }
  // The next key, "" if there is none; it is running until done().
  std::string pop() {
    const auto index = lines_.pop(table_);
    return index == Table::kNone ? "" : table_.key(index);
  }
  void done(std::string_view key) {
    const auto index = table_.find(key);
    lines_.on_done(table_.value(index).group);
    lines_.leave(table_.value(index).group);
    table_.erase(index);
  }
  // All of them one after the other, each done before the next.
  std::string pop_all() {
    std::string all;
    for (std::string key = pop(); !key.empty(); key = pop()) {
      all += all.empty() ? key : " " + key;
      done(key);
    }
    return all;
  }
  std::string find_victim(Criticality priority) const {
    const auto index = lines_.find_victim(priority);
    return index == Table::kNone ? "" : table_.key(index);
  }
  Instant oldest() const { return lines_.oldest(table_); }
  ReadyLines<Table>& operator*() { return lines_; }
  ReadyLines<Table>* operator->() { return &lines_; }
  Table& table() { return table_; }

 private:
  Table table_;
  ReadyLines<Table> lines_;
};

TEST(ReadyLines, StartEmpty) {
  Lines lines;
  EXPECT_EQ(lines.pop(), "");
  EXPECT_EQ(lines->size(), 0u);
  EXPECT_EQ(lines->groups(), 0u);
  EXPECT_EQ(lines->keys(""), 0u);
  EXPECT_EQ(lines.oldest(), kNever);
  for (const Criticality c : kAll) EXPECT_EQ(lines.find_victim(c), "");
}

TEST(ReadyLines, WithinAGroupAndClassFirstComeFirstServed) {  // Invariant (1).
  for (const Criticality c : kAll) {
    Lines lines;
    for (const char* key : {"c", "a", "d", "b"}) lines.push(key, 1s, c, "tenant");
    EXPECT_EQ(lines->size(), 4u);
    EXPECT_EQ(lines.pop_all(), "c a d b");
    EXPECT_EQ(lines->size(), 0u);
  }
}

TEST(ReadyLines, OfOneInstantTheMoreCriticalGoesFirst) {
  Lines lines;
  lines.push("d", 1s, sheddable);
  lines.push("c", 1s, sheddable_plus);
  lines.push("b", 1s, critical);
  lines.push("a", 1s, critical_plus);
  EXPECT_EQ(lines.pop_all(), "a b c d");
}

// Invariant (2): to the nanosecond, for each pair of classes.
TEST(ReadyLines, AClassIsWorthExactlyItsAgeing) {
  for (std::size_t high = 0; high < 4; ++high) {
    for (std::size_t low = high; low < 4; ++low) {
      const Duration worth = 7s * (low - high);
      for (const auto& [later, first] :
           {std::pair{worth, low == high ? "low" : "high"}, std::pair{worth + 1ns, "low"}}) {
        Lines lines(7s);
        lines.push("low", 100s, kAll[low]);
        lines.push("high", 100s + later, kAll[high]);
        EXPECT_EQ(lines.pop(), first) << high << " " << low << " " << later.count();
      }
    }
  }
}

TEST(ReadyLines, WithoutAgeingTheClassIsWorthNothing) {
  Lines lines(0s);
  lines.push("low", 1s, sheddable);
  lines.push("high", 1s + 1ns, critical_plus);
  EXPECT_EQ(lines.pop_all(), "low high");
}

TEST(ReadyLines, AgeingSaturatesAtTheEndOfTime) {
  Lines lines(24h);
  lines.push("low", (kNever - 1ns).time_since_epoch(), sheddable);
  lines.push("high", (kNever - 1ns).time_since_epoch(), sheddable_plus);
  EXPECT_EQ(lines.pop_all(), "high low");
}

TEST(ReadyLines, ABetterClassBringsAKeyForward) {
  Lines lines(10s);
  lines.push("a", 1s, critical);
  lines.push("slow", 2s, sheddable);
  lines.push("b", 3s, critical);
  lines.push("c", 13s, critical);
  lines.raise("slow", critical, 14s);
  lines.push("d", 14s, critical);
  EXPECT_EQ(lines->size(), 5u);
  EXPECT_EQ(lines.pop_all(), "a b c slow d");  // Without: a b c d slow.
}

// It would stand behind all that are there, some of which it is before already.
TEST(ReadyLines, ABetterClassNeverSetsAKeyBack) {  // Invariant (2).
  for (const bool raised : {false, true}) {
    Lines lines(10s);
    lines.push("old", 0s, sheddable);
    lines.push("a", 19s, critical);
    lines.push("b", 21s, critical);
    if (raised) lines.raise("old", critical, 21s);  // It counts from 20 s as it is.
    EXPECT_EQ(lines.pop_all(), "a old b");
  }
  Lines lines(10s);
  lines.push("key", 0s, sheddable);
  lines.push("a", 0s, critical_plus);
  lines.raise("key", critical_plus, 30s - 1ns);  // 30 s are its limit.
  EXPECT_EQ(lines.find_victim(critical_plus), "key");
  lines.raise("a", critical, 0s);        // Never to a worse one,
  lines.raise("a", critical_plus, -1s);  // nor to the end of its own line.
  EXPECT_EQ(lines.pop_all(), "a key");
}

TEST(ReadyLines, GroupsTakeTurns) {  // Invariant (3).
  Lines lines;
  for (const char* key : {"a1", "a2", "a3", "a4"}) lines.push(key, 1s, critical, "a");
  for (const char* key : {"b1", "b2"}) lines.push(key, 2s, critical, "b");
  lines.push("none", 3s);
  lines.push("c1", 4s, sheddable, "c");  // A class counts within its group.
  EXPECT_EQ(lines->groups(), 3u);
  EXPECT_EQ(lines.pop_all(), "a1 b1 none c1 a2 b2 a3 a4");
  EXPECT_EQ(lines->groups(), 0u);
}

TEST(ReadyLines, AGroupThatComesBackStandsBehindTheOthers) {
  Lines lines;
  lines.push("a1", 1s, critical, "a");
  lines.push("b1", 1s, critical, "b");
  EXPECT_EQ(lines.pop(), "a1");
  lines.push("c1", 1s, critical, "c");
  lines.push("a2", 1s, critical, "a");
  EXPECT_EQ(lines.pop_all(), "b1 c1 a2");
}

TEST(ReadyLines, AGroupWithoutAWaitingKeyHasNoTurn) {
  Lines lines;
  lines.push("a1", 1s, critical, "a");
  lines.push("a2", 1s, sheddable, "a");
  lines.push("b1", 1s, critical, "b");
  lines.remove("a1");
  lines.remove("a2");
  EXPECT_EQ(lines->size(), 1u);
  EXPECT_EQ(lines.pop_all(), "b1");
}

TEST(ReadyLines, NoGroupHasMoreUnderWayThanItMay) {  // Invariant (4).
  Lines lines(10s, 2);
  for (const char* key : {"a1", "a2", "a3", "a4"}) lines.push(key, 1s, critical, "a");
  lines.push("b1", 1s, critical, "b");
  EXPECT_EQ(lines.pop(), "a1");
  EXPECT_EQ(lines.pop(), "b1");
  EXPECT_EQ(lines.pop(), "a2");
  EXPECT_EQ(lines.pop(), "");  // Two wait, and may not.
  EXPECT_EQ(lines->size(), 2u);
  lines.push("a5", 1s, critical_plus, "a");
  EXPECT_EQ(lines.pop(), "");
  lines.done("b1");
  EXPECT_EQ(lines.pop(), "");
  lines.done("a1");
  EXPECT_EQ(lines.pop(), "a5");
  EXPECT_EQ(lines.pop(), "");
  lines.done("a2");
  lines.done("a5");
  EXPECT_EQ(lines.pop(), "a3");
  EXPECT_EQ(lines.pop(), "a4");
}

TEST(ReadyLines, WhatIsRemovedWhileItsGroupIsAtItsBoundIsGone) {
  Lines lines(10s, 1);
  lines.push("a1", 1s, critical, "a");
  lines.push("a2", 1s, critical, "a");
  EXPECT_EQ(lines.pop(), "a1");
  lines.remove("a2");
  EXPECT_EQ(lines.pop(), "");
  lines.done("a1");
  EXPECT_EQ(lines.pop(), "");
  EXPECT_EQ(lines->groups(), 0u);
}

TEST(ReadyLines, AGroupIsThereWhileItHasKeysWaitingOrNot) {
  Lines lines;
  const auto group = lines->join("a");
  EXPECT_EQ(lines->join("a"), group);
  EXPECT_EQ(lines->keys("a"), 2u);
  EXPECT_EQ(lines->keys(group), 2u);
  EXPECT_EQ(lines->groups(), 1u);
  lines->leave(group);
  EXPECT_EQ(lines->keys("a"), 1u);
  lines->leave(group);
  EXPECT_EQ(lines->keys("a"), 0u);
  EXPECT_EQ(lines->groups(), 0u);
  lines->leave(lines->join(""));  // The group "" stays and is not counted.
  EXPECT_EQ(lines->keys(""), 0u);
  EXPECT_EQ(lines->groups(), 0u);
  lines.push("k", 1s, critical, "another in the same place");
  EXPECT_EQ(lines.pop_all(), "k");
}

TEST(ReadyLines, TheOldestIsTheFirstOfSomeLine) {
  Lines lines;
  lines.push("a", 7s, critical, "x");
  lines.push("b", 5s, sheddable, "y");
  lines.push("c", 6s, critical_plus);
  EXPECT_EQ(lines.oldest(), Instant{5s});
  lines.remove("b");
  EXPECT_EQ(lines.oldest(), Instant{6s});
}

TEST(ReadyLines, LeastMissedIsTheNewestOfTheGroupThatHasMostOfTheClass) {
  Lines lines;
  lines.push("a1", 1s, sheddable, "a");
  lines.push("b1", 2s, sheddable, "b");
  lines.push("b2", 3s, sheddable, "b");
  lines.push("a2", 4s, critical, "a");
  lines.push("a3", 5s, critical, "a");
  EXPECT_EQ(lines.find_victim(sheddable), "b2");
  EXPECT_EQ(lines.find_victim(critical), "a3");
  EXPECT_EQ(lines.find_victim(critical_plus), "");
  lines.remove("b2");
  lines.remove("b1");
  EXPECT_EQ(lines.find_victim(sheddable), "a1");
}

TEST(ReadyLines, EachMayBeRemovedWhileItIsNamed) {
  Lines lines;
  for (int i = 0; i < 12; ++i) {
    lines.push(std::to_string(i), 1s, kAll[i % 4], i % 3 == 0 ? "" : std::to_string(i % 3));
  }
  std::vector<std::string> kept;
  std::size_t named = 0;
  (*lines).for_each(lines.table(), [&](std::uint32_t index) {
    ++named;
    const std::string key = lines.table().key(index);
    if (named % 2 == 0) {
      lines.remove(key);
    } else {
      kept.push_back(key);
    }
  });
  EXPECT_EQ(named, 12u);
  EXPECT_EQ(lines->size(), kept.size());
  for (std::size_t i = kept.size(); i > 0; --i) EXPECT_NE(lines.pop(), "");
  EXPECT_EQ(lines.pop(), "");
}

// ---- The bound of every wait, over many seeds --------------------------------------------------

// Keys of one group are pushed and popped. When a key is popped, no waiting key is older than it by
// more than the difference of their classes allows.
TEST(ReadyLines, NoWaitIsLongerThanTheClassesAllow) {  // Invariants (1) and (2).
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Duration ageing{random.bits() % 20};
    Lines lines(ageing);
    struct Waiting {
      Duration since;
      std::size_t came_as;
      std::size_t is;
    };
    std::map<std::string, Waiting> waiting;
    Duration now{0};
    for (int step = 0; step < 400; ++step) {
      now += Duration{random.bits() % 6};
      const auto c = random.bits() % 4;
      if (random.bits() % 2 == 0) {
        const std::string key = std::to_string(step);
        lines.push(key, now, kAll[c]);
        waiting[key] = {now, c, c};
      } else if (!waiting.empty() && random.bits() % 3 == 0) {
        auto raised = waiting.begin();
        std::advance(raised, random.bits() % waiting.size());
        if (c < raised->second.is) lines.raise(raised->first, kAll[c], now);
        raised->second.is = static_cast<std::size_t>(
            lines.table().value(lines.table().find(raised->first)).priority);
      } else if (!waiting.empty()) {
        const std::string key = lines.pop();
        ASSERT_TRUE(waiting.contains(key));
        const Waiting goes = waiting[key];
        waiting.erase(key);
        lines.done(key);
        for (const auto& [other, stays] : waiting) {
          const auto steps = static_cast<int>(stays.came_as) - static_cast<int>(goes.is);
          ASSERT_LE(goes.since - stays.since, ageing * std::max(0, steps))
              << key << " overtook " << other << " in step " << step;
        }
      }
    }
  }
}

}  // namespace
}  // namespace damper::queue
