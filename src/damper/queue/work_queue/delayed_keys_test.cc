#include "damper/queue/work_queue/delayed_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/queue/work_queue/key_table.h"

namespace damper::queue {
namespace {

using admit::Criticality;

struct Node {
  Instant due{};
  timer::EventQueue::Timer timer{};
  Links links{};
  Criticality priority = Criticality::critical;
};
using Table = KeyTable<std::string, Node>;

constexpr Instant at(std::int64_t ns) { return Instant{Duration{ns}}; }

class Delayed {
 public:
  explicit Delayed(bool by_class = true) : keys_(by_class) {}
  void push(std::string_view key, Instant due, Criticality priority = Criticality::critical) {
    const auto index = table_.insert(key, Table::hash(key));
    Node& node = table_.value(index);
    node.due = due;
    node.priority = priority;
    node.timer = keys_.schedule(index, due);
    keys_.push(table_, index);
  }
  void remove(std::string_view key) {
    const auto index = table_.find(key);
    keys_.remove(table_, index);
    table_.erase(index);
  }
  std::string pop(Instant now) {
    const auto index = keys_.pop(table_, now);
    if (index == Table::kNone) return "";
    std::string key = table_.key(index);
    table_.erase(index);
    return key;
  }
  std::string newest(Criticality priority) const {
    const auto index = keys_.newest(priority);
    return index == Table::kNone ? "" : table_.key(index);
  }
  void set_priority(std::string_view key, Criticality priority) {
    keys_.set_priority(table_, table_.find(key), priority);
  }
  DelayedKeys<Table>* operator->() { return &keys_; }

 private:
  Table table_;
  DelayedKeys<Table> keys_;
};

TEST(DelayedKeys, StartEmpty) {
  Delayed keys;
  EXPECT_EQ(keys->size(), 0u);
  EXPECT_EQ(keys->next_due(), kNever);
  EXPECT_EQ(keys.pop(kNever), "");
  EXPECT_EQ(keys.newest(Criticality::sheddable), "");
}

TEST(DelayedKeys, ComeAtTheirTimeInOrder) {  // Invariant (1).
  Delayed keys;
  keys.push("c", at(30));
  keys.push("a", at(10), Criticality::sheddable);
  keys.push("b", at(20));
  keys.push("b2", at(20));
  EXPECT_EQ(keys->size(), 4u);
  EXPECT_EQ(keys->next_due(), at(10));
  EXPECT_EQ(keys.pop(at(9)), "");
  EXPECT_EQ(keys.pop(at(10)), "a");
  EXPECT_EQ(keys.pop(at(10)), "");
  EXPECT_EQ(keys.pop(at(25)), "b");
  EXPECT_EQ(keys.pop(at(25)), "b2");
  EXPECT_EQ(keys.pop(at(25)), "");
  EXPECT_EQ(keys->next_due(), at(30));
  EXPECT_EQ(keys.pop(kNever), "c");
  EXPECT_EQ(keys->size(), 0u);
}

TEST(DelayedKeys, WhoIsRemovedDoesNotCome) {
  Delayed keys;
  keys.push("a", at(10));
  keys.push("b", at(20));
  keys.remove("a");
  EXPECT_EQ(keys->next_due(), at(20));
  EXPECT_EQ(keys.pop(kNever), "b");
  EXPECT_EQ(keys.pop(kNever), "");
}

TEST(DelayedKeys, WhoIsDueNeverWaitsUntilItIsTakenOut) {
  Delayed keys;
  keys.push("never", kNever);
  EXPECT_EQ(keys->size(), 1u);
  EXPECT_EQ(keys->next_due(), kNever);
  EXPECT_EQ(keys.pop(kNever), "");
  keys.remove("never");
  EXPECT_EQ(keys->size(), 0u);
}

TEST(DelayedKeys, TheNewestOfAClassIsKnown) {
  Delayed keys;
  keys.push("a", at(30), Criticality::sheddable);
  keys.push("b", at(10), Criticality::sheddable);
  keys.push("c", at(20), Criticality::critical);
  EXPECT_EQ(keys.newest(Criticality::sheddable), "b");
  EXPECT_EQ(keys.newest(Criticality::critical), "c");
  EXPECT_EQ(keys.newest(Criticality::critical_plus), "");
  keys.remove("b");
  EXPECT_EQ(keys.newest(Criticality::sheddable), "a");
}

TEST(DelayedKeys, AnotherClassChangesNoTime) {
  Delayed keys;
  keys.push("a", at(30), Criticality::sheddable);
  keys.push("b", at(30), Criticality::sheddable);
  keys.set_priority("a", Criticality::critical);
  EXPECT_EQ(keys.newest(Criticality::critical), "a");
  EXPECT_EQ(keys.newest(Criticality::sheddable), "b");
  EXPECT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys.pop(at(30)), "a");
  EXPECT_EQ(keys.pop(at(30)), "b");
}

TEST(DelayedKeys, ComeAtTheirTimeWithoutListsByClassToo) {
  Delayed keys(false);
  keys.push("c", at(30));
  keys.push("a", at(10), Criticality::sheddable);
  keys.push("b", at(20));
  keys.set_priority("c", Criticality::critical_plus);
  keys.remove("b");
  EXPECT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys.pop(kNever), "a");
  EXPECT_EQ(keys.pop(kNever), "c");
  EXPECT_EQ(keys->size(), 0u);
}

}  // namespace
}  // namespace damper::queue
