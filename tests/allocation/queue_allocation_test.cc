#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "counted_malloc.h"
#include "damper/queue/work_queue/work_queue_core.h"

// What the work queue's core does with memory: none once it is warm, little for each key, and
// nothing is lost when there is no more.

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using admit::Criticality;
using Core = WorkQueueCore<std::string, int>;

// 24 characters, as the names of objects have them.
std::string name_of(std::size_t number) {
  std::string digits = std::to_string(number);
  return "namespace/object" + std::string(8 - digits.size(), '0') + digits;
}

TEST(QueueAllocation, BytesAreCounted) {  // Or all the others would pass without a reason.
  const std::int64_t before = counted.bytes;
  counted.peak = 0;
  {
    std::vector<char> block(10'000);
    block[0] = 'x';
    EXPECT_GE(counted.bytes - before, 10'000);
    EXPECT_LE(counted.bytes - before, 10'100);
  }
  EXPECT_EQ(counted.bytes, before);
  EXPECT_GE(counted.peak - before, 10'000);
}

TEST(QueueAllocation, AWorkQueueThatIsWarmMakesNone) {
  Core queue;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 1000; ++i) keys.push_back(name_of(i));
  const std::array<std::string, 3> groups = {"", "a tenant", "a tenant whose name is on the heap"};
  Instant now{1s};
  const auto storm = [&] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const AddOptions how{.priority = static_cast<Criticality>(i % 4), .group = groups[i % 3]};
      const Duration delay{i % 2 == 0 ? 0 : i % 300 * 1'000'000};
      (void)queue.add(keys[i], how, now + delay, now);
      (void)queue.add(keys[i], {}, now + 100ms, now);  // Merged, some of them sooner.
      (void)queue.add(keys[i], {.priority = Criticality::critical_plus}, now + 500ms, now);
    }
    std::size_t runs = 0;
    for (int round = 0; round < 4; ++round) {
      now += 500ms;
      while (const auto taken = queue.get(now)) {
        const Ticket ticket = taken->ticket;
        switch (round < 3 ? runs++ % 4 : 0) {
          case 0: (void)queue.done(ticket, now); break;
          case 1: (void)queue.done_until(ticket, now + 200ms, now); break;
          case 2:
            (void)queue.add(queue.key(ticket), {}, now + 5ms, now);  // Marked.
            (void)queue.done(ticket, now);
            break;
          default: (void)queue.park(ticket, now);
        }
      }
      for (const std::string& key : keys) (void)queue.revive(key, now);
      (void)queue.stats(now);
      (void)queue.next_due();
    }
    while (const auto taken = queue.get(now)) (void)queue.done(taken->ticket, now);
    ASSERT_EQ(queue.stats(now).ready + queue.stats(now).delayed, 0u);
  };
  storm();
  EXPECT_EQ(count(storm), 0u);
}

TEST(QueueAllocation, ARefusedAddMakesNone) {
  Core queue({.capacity = 1});
  const Instant now{1s};
  (void)queue.add("the one", {}, now, now);
  const std::string other = name_of(1);
  EXPECT_EQ(count([&] { (void)queue.add(other, {}, now, now); }), 0u);
}

// 118 on glibc, at the peak too: the arrays that grow by copying last did so at half the size.
TEST(QueueAllocation, AMillionDelayedKeysCostLessThan200BytesEachBeyondTheKey) {
  constexpr std::size_t kMany = 1'000'000;
  const std::int64_t empty = counted.bytes;
  const std::string key = name_of(0);
  const std::int64_t of_key = counted.bytes - empty + static_cast<std::int64_t>(sizeof key);
  const std::int64_t before = counted.bytes;
  counted.peak = before;
  Core queue;
  for (std::size_t i = 0; i < kMany; ++i) {
    const Instant due = Instant{1h} + Duration{(i * 7'919) % kMany * 1'000};
    ASSERT_EQ(queue.add(name_of(i), {}, due, Instant{}).added, Added::delayed);
  }
  const auto each = [&](std::int64_t bytes) {
    return static_cast<double>(bytes - before) / kMany - static_cast<double>(of_key);
  };
  EXPECT_LT(each(counted.bytes), 200);
  EXPECT_LT(each(counted.peak), 200);
  EXPECT_EQ(queue.stats(Instant{}).delayed, kMany);
  RecordProperty("bytes_each", std::to_string(each(counted.bytes)));
  RecordProperty("bytes_each_at_peak", std::to_string(each(counted.peak)));
  Instant last{};
  for (std::size_t i = 0; i < kMany; ++i) {  // And they are all there.
    ASSERT_LE(last, queue.next_due());
    last = queue.next_due();
    const auto taken = queue.get(last);
    ASSERT_TRUE(taken);
    ASSERT_EQ(queue.done(taken->ticket, last), Core::AfterRun::removed);
  }
}

// ---- Without memory ----------------------------------------------------------------------------

bool same(const QueueStats& a, const QueueStats& b) {
  return a.ready == b.ready && a.delayed == b.delayed && a.running == b.running &&
         a.parked == b.parked && a.groups == b.groups && a.adds == b.adds && a.shed == b.shed &&
         a.merged == b.merged && a.marked == b.marked && a.refused == b.refused;
}

// Does `what` again and again, with one more allocation that goes well each time, until it is done.
// All the times before, nothing may have changed. Returns how often it failed.
template <class What>
int press_through(Core& queue, Instant now, What what) {
  for (int failures = 0;; ++failures) {
    const QueueStats before = queue.stats(now);
    counted.failing_in = failures;
    try {
      what();
      counted.failing_in = -1;
      return failures;
    } catch (const std::bad_alloc&) {
      counted.failing_in = -1;
      EXPECT_TRUE(same(before, queue.stats(now)));
    }
    if (testing::Test::HasFailure()) return failures;
  }
}

TEST(QueueAllocation, WithoutMemoryNothingChangesAndNothingIsLost) {  // Invariant (7) of the core.
  Core queue({.capacity = 400, .at_limit = AtLimit::shed_least_important});
  const Instant now{1s};
  int failed_adds = 0;
  int failed_ends = 0;
  int failed_changes = 0;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 600; ++i) keys.push_back(name_of(i));
  std::string group = "a group whose name is on the heap, 000";
  for (std::size_t i = 0; i < 400; ++i) {
    group.replace(group.size() - 3, 3, keys[i], keys[i].size() - 3, 3);
    const AddOptions how{.priority = Criticality::sheddable, .group = group};
    const Instant due = i % 4 == 0 ? now + 1min : now;
    failed_adds += press_through(queue, now, [&] { (void)queue.add(keys[i], how, due, now); });
  }
  EXPECT_GT(failed_adds, 800);  // For each, its key and its group's name; and for what grew.
  for (std::size_t i = 400; i < 600; ++i) {  // Each sheds one: 100 that are delayed, then others.
    failed_adds += press_through(
        queue, now, [&] { ASSERT_TRUE(queue.add(keys[i], {}, now, now).shed.has_value()); });
  }
  EXPECT_EQ(queue.stats(now).shed, 200u);
  while (const auto taken = queue.get(now)) {
    const Ticket ticket = taken->ticket;
    if (ticket.index % 2 == 0) {
      failed_changes +=
          press_through(queue, now, [&] { (void)queue.add(queue.key(ticket), {}, now + 1h, now); });
    }
    failed_ends += press_through(queue, now, [&] {
      ASSERT_TRUE(queue.is_outstanding(ticket));
      ASSERT_EQ(queue.done_until(ticket, now + 2h, now), Core::AfterRun::delayed);
    });
  }
  EXPECT_GE(failed_ends, 2);  // When the timers grew.
  EXPECT_EQ(failed_changes, 0);
  EXPECT_EQ(queue.stats(now).delayed, 400u);
  for (const std::string& key : keys) {
    if (testing::Test::HasFailure()) break;
    press_through(queue, now, [&] { (void)queue.add(key, {}, now + 30min, now); });
  }
  std::size_t back = 0;
  EXPECT_GT(press_through(queue, now, [&] { back = queue.hand_back().size(); }), 400);
  EXPECT_EQ(back, 400u);
  const QueueStats end = queue.stats(now);
  EXPECT_EQ(end.ready + end.delayed + end.running + end.parked + end.groups, 0u);
}

}  // namespace
}  // namespace damper::queue
