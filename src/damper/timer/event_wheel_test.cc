#include "damper/timer/event_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper::timer {
namespace {

constexpr std::uint64_t kEnd = EventWheel::kEnd;

// A wheel with its pool; each event's detail is the number of those added before it.
class Wheel {
 public:
  EventPool::Index add(std::uint64_t at) {
    const auto slot = allocate(at);
    wheel_.add(slot, at);
    EXPECT_TRUE(wheel_.holds(slot));
    return slot;
  }
  EventPool::Index put_back(std::uint64_t at) {
    const auto slot = allocate(at);
    wheel_.put_back(slot, at);
    EXPECT_TRUE(wheel_.holds(slot));
    return slot;
  }
  void remove(EventPool::Index slot) {
    wheel_.remove(slot);
    EXPECT_FALSE(wheel_.holds(slot));
    pool_.remove(slot);
  }
  // What is taken, in order: instant and number. Each is out of wheel and pool then.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> take(std::uint64_t until = kEnd) {
    std::array<EventWheel::Key, EventWheel::kTake> keys;
    const auto taken = wheel_.take(pool_, until, keys);
    rest_ = taken.rest;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (std::size_t i = taken.count; i-- > 0;) {
      const auto slot = EventPool::index(keys[i].id);
      EXPECT_FALSE(wheel_.holds(slot));
      EXPECT_EQ(keys[i].id, pool_[slot].id);
      found.emplace_back(keys[i].at, pool_[slot].event.detail);
      pool_.remove(slot);
    }
    return found;
  }
  void rebase(std::uint64_t base) { wheel_.rebase(base); }
  [[nodiscard]] bool empty() const { return wheel_.empty(); }
  [[nodiscard]] std::uint64_t rest() const { return rest_; }  // of the last take

 private:
  EventPool::Index allocate(std::uint64_t at) {
    if (pool_.full()) {
      pool_.grow();
      wheel_.grow(pool_.slots());
    }
    const auto slot = EventPool::index(pool_.add(at, {.detail = added_++}));
    EXPECT_FALSE(wheel_.holds(slot));
    return slot;
  }

  EventPool pool_;
  EventWheel wheel_;
  std::uint64_t added_ = 0;
  std::uint64_t rest_ = 0;
};

using Found = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(EventWheel, GivesNothingWhenEmpty) {
  Wheel wheel;
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.take(), Found{});
  EXPECT_EQ(wheel.rest(), kEnd);
}

TEST(EventWheel, GivesTheFirstBucketInOrder) {  // Invariant 3.
  Wheel wheel;
  for (const std::uint64_t at : {200u, 130u, 4096u, 191u, 130u, 128u}) wheel.add(at);
  EXPECT_EQ(wheel.take(), (Found{{128, 5}, {130, 1}, {130, 4}, {191, 3}}));
  EXPECT_EQ(wheel.rest(), 192u);
  EXPECT_EQ(wheel.take(), (Found{{200, 0}}));
  EXPECT_EQ(wheel.rest(), 256u);
  EXPECT_FALSE(wheel.empty());
  EXPECT_EQ(wheel.take(), (Found{{4096, 2}}));
  EXPECT_EQ(wheel.rest(), kEnd);  // Nothing is left.
  EXPECT_TRUE(wheel.empty());
}

TEST(EventWheel, IsExactAtEveryLevelUpToTheLastInstant) {
  Wheel wheel;
  Found expected;
  for (unsigned bit = 0; bit < 63; ++bit) {
    for (const std::uint64_t less : {1u, 0u}) {
      const std::uint64_t at = (std::uint64_t{1} << bit) - less;
      expected.emplace_back(at, expected.size());
      wheel.add(at);
    }
  }
  expected.emplace_back(kEnd - 2, expected.size());
  wheel.add(kEnd - 2);
  Found found;
  while (!wheel.empty()) {
    for (const auto& each : wheel.take()) found.push_back(each);
  }
  EXPECT_EQ(found, expected);
}

TEST(EventWheel, GivesSixtyFourOfAnInstantAtATimeInOrderOfInsertion) {  // Invariants 2 and 3.
  Wheel wheel;
  for (int i = 0; i < 130; ++i) wheel.add(1'000'000);
  std::uint64_t next = 0;
  for (const std::size_t size : {64u, 64u, 3u}) {
    const Found found = wheel.take();
    ASSERT_EQ(found.size(), size);
    for (const auto& each : found) EXPECT_EQ(each, (std::pair{std::uint64_t{1'000'000}, next++}));
    EXPECT_EQ(wheel.rest(), size == 64 ? 1'000'000 : kEnd);
    if (next == 64) wheel.add(1'000'000);  // After the others.
  }
}

TEST(EventWheel, SpreadsABucketOfMoreThanSixtyFour) {
  Wheel wheel;
  for (std::uint64_t i = 0; i < 64; ++i) wheel.add(4096 + 64 * i);
  EXPECT_EQ(wheel.take().size(), 64u);  // One bucket of the third level.
  for (std::uint64_t i = 0; i < 65; ++i) wheel.add(8192 + 63 * i);
  EXPECT_EQ(wheel.take(), (Found{{8192, 64}}));
  EXPECT_EQ(wheel.rest(), 8193u);  // The first is where the base is: at the lowest level.
  EXPECT_EQ(wheel.take(), (Found{{8255, 65}}));
  EXPECT_EQ(wheel.take(), (Found{{8318, 66}}));
  EXPECT_EQ(wheel.rest(), 8320u);
}

TEST(EventWheel, GivesNothingFromABucketThatBeginsLater) {  // Invariant 3.
  Wheel wheel;
  wheel.add(4096 + 5);
  wheel.add(9000);
  EXPECT_EQ(wheel.take(4095), Found{});
  EXPECT_EQ(wheel.rest(), 4096u);
  wheel.add(4095);  // The base has not moved: this is no earlier.
  EXPECT_EQ(wheel.take(4095), (Found{{4095, 2}}));
  EXPECT_EQ(wheel.take(4096), (Found{{4101, 0}}));
}

TEST(EventWheel, ForgetsWhatIsRemoved) {  // Invariant 4.
  Wheel wheel;
  const auto a = wheel.add(100);
  const auto b = wheel.add(100);
  const auto c = wheel.add(100);
  wheel.add(5000);
  wheel.remove(b);
  wheel.remove(a);
  EXPECT_EQ(wheel.take(), (Found{{100, 2}}));
  EXPECT_EQ(wheel.take(), (Found{{5000, 3}}));
  const auto d = wheel.add(1'000'000);
  EXPECT_NE(c, d);
  wheel.remove(d);
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.take(), Found{});
}

TEST(EventWheel, PutsBackBeforeThoseOfTheSameInstant) {  // Invariant 2.
  Wheel wheel;
  wheel.add(100);
  wheel.add(101);
  wheel.put_back(101);
  wheel.put_back(100);
  wheel.put_back(100);
  EXPECT_EQ(wheel.take(), (Found{{100, 4}, {100, 3}, {100, 0}, {101, 2}, {101, 1}}));
}

TEST(EventWheel, GoesForthOnlyIfNothingHasToMove) {
  Wheel wheel;
  wheel.add(5000);
  wheel.rebase(4999);  // It stays at 0: the event, at the third level, would have to move.
  wheel.add(1);
  EXPECT_EQ(wheel.take(), (Found{{1, 1}}));
  wheel.rebase(4000);  // To where the event is at the same place.
  wheel.add(4001);
  EXPECT_EQ(wheel.take(), (Found{{4001, 2}}));
  EXPECT_EQ(wheel.rest(), 4002u);  // At the lowest level: the base was near.
  EXPECT_EQ(wheel.take(), (Found{{5000, 0}}));
}

TEST(EventWheel, GoesBackWithAllThatItHolds) {
  Wheel wheel;
  for (std::uint64_t i = 0; i < 66; ++i) wheel.add(1'000'000'000 + 999 * i);
  const Found found = wheel.take();  // The others are spread over the lower levels now.
  wheel.rebase(7);
  wheel.add(7);
  wheel.add(70);
  Found rest;
  while (!wheel.empty()) {
    for (const auto& each : wheel.take()) rest.push_back(each);
  }
  ASSERT_EQ(found.size() + rest.size(), 68u);
  EXPECT_TRUE(std::is_sorted(rest.begin(), rest.end()));
  EXPECT_EQ(rest.front(), (std::pair{std::uint64_t{7}, std::uint64_t{66}}));
  EXPECT_EQ(rest[2], (std::pair{1'000'000'000 + 999 * found.size(), found.size()}));
}

// Invariants 1 to 3 over many seeds: adds from the rest on, removals, takes, moves back and forth.
TEST(EventWheel, AgreesWithASortedList) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Wheel wheel;
    struct Entry {
      std::uint64_t at, number;
      EventPool::Index slot;
    };
    std::vector<Entry> entries;
    std::uint64_t number = 0;
    std::uint64_t floor = 0;  // No event may be added before it.
    const std::uint64_t spread = 1 + random.bits() % 40;
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t i = random.bits() % 200; i-- > 0;) {
        const std::uint64_t at = floor + random.bits() % (1ULL << (1 + random.bits() % spread));
        entries.push_back({at, number++, wheel.add(at)});
      }
      for (std::uint64_t i = random.bits() % 50; i-- > 0 && !entries.empty();) {
        const auto any = entries.begin() + static_cast<int>(random.bits() % entries.size());
        wheel.remove(any->slot);
        entries.erase(any);
      }
      std::stable_sort(entries.begin(), entries.end(),
                       [](const Entry& a, const Entry& b) { return a.at < b.at; });
      for (std::uint64_t takes = random.bits() % 5; takes-- > 0;) {
        const std::uint64_t until = random.bits() % 2 == 0 ? kEnd : floor + random.bits() % 10'000;
        const Found found = wheel.take(until);
        ASSERT_LE(found.size(), entries.size());
        ASSERT_EQ(wheel.rest() == kEnd, found.size() == entries.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_EQ(found[i], (std::pair{entries[i].at, entries[i].number}));
        }
        ASSERT_TRUE(!found.empty() || entries.empty() || entries.front().at > until);
        entries.erase(entries.begin(), entries.begin() + static_cast<int>(found.size()));
        ASSERT_TRUE(entries.empty() || entries.front().at >= wheel.rest());
        if (wheel.rest() != kEnd) {
          floor = wheel.rest();
        } else {
          wheel.rebase(floor);
        }
      }
      if (random.bits() % 4 == 0) {
        const std::uint64_t first = entries.empty() ? floor : entries.front().at;
        floor = random.bits() % 2 == 0 ? first : first - random.bits() % (first / 2 + 1);
        wheel.rebase(floor);
      }
    }
  }
}

}  // namespace
}  // namespace damper::timer
