#include "damper/timer/event_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "damper/base/random.h"

namespace damper::timer {
namespace {

// A pool that grows by itself.
template <class Pool = EventPool>
struct Growing : Pool {
  typename Pool::Id put(std::uint64_t at, const TimedEvent& event) {
    if (this->full()) this->grow();
    return this->add(at, event);
  }
};

TEST(EventPool, KeepsWhatItWasGiven) {
  Growing pool;
  const auto a = pool.put(5, {.kind = 1, .subject = 2, .detail = 3});
  const auto b = pool.put(7, {.kind = 4, .subject = 5, .detail = ~0ULL});
  EXPECT_EQ(pool[EventPool::index(a)].at, 5u);
  EXPECT_EQ(pool[EventPool::index(a)].id, a);
  EXPECT_EQ(pool[EventPool::index(a)].event, (TimedEvent{.kind = 1, .subject = 2, .detail = 3}));
  EXPECT_EQ(pool[EventPool::index(b)].at, 7u);
  EXPECT_EQ(pool[EventPool::index(b)].event,
            (TimedEvent{.kind = 4, .subject = 5, .detail = ~0ULL}));
}

TEST(EventPool, HoldsAnEventUntilItIsRemoved) {  // Invariant 2.
  Growing pool;
  EXPECT_FALSE(pool.holds(0));
  const auto a = pool.put(5, {});
  const auto b = pool.put(5, {});
  EXPECT_TRUE(pool.holds(a));
  EXPECT_TRUE(pool.holds(b));
  pool.remove(EventPool::index(a));
  EXPECT_FALSE(pool.holds(a));
  EXPECT_TRUE(pool.holds(b));
  EXPECT_FALSE(pool.holds(0));
}

TEST(EventPool, UsesTheSlotLastFreedUnderAnotherName) {  // Invariant 1.
  Growing pool;
  const auto a = pool.put(5, {});
  const auto b = pool.put(6, {});
  pool.remove(EventPool::index(b));
  pool.remove(EventPool::index(a));
  const auto c = pool.put(7, {});
  EXPECT_EQ(EventPool::index(c), EventPool::index(a));
  EXPECT_NE(c, a);
  EXPECT_TRUE(pool.holds(c));
  EXPECT_FALSE(pool.holds(a));
  EXPECT_EQ(EventPool::index(pool.put(8, {})), EventPool::index(b));
  EXPECT_TRUE(pool.full());
}

TEST(EventPool, HasAsManySlotsAsThereWereEventsAtOnce) {  // Invariants 1 and 3.
  Random random(1);
  Growing pool;
  std::vector<EventPool::Id> held;
  std::set<EventPool::Id> seen;
  std::size_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (held.empty() || random.draw() < 0.505) {
      held.push_back(pool.put(1, {}));
      EXPECT_TRUE(seen.insert(held.back()).second);
      most = std::max(most, held.size());
    } else {
      std::swap(held[random.bits() % held.size()], held.back());
      pool.remove(EventPool::index(held.back()));
      held.pop_back();
    }
    ASSERT_EQ(pool.slots(), most + 1);
  }
}

TEST(EventPool, NeverUsesASlotWhoseGenerationsAreUsedUp) {  // Invariant 1.
  using Short = BasicEventPool<62>;                         // Two bits of generation: 1, 2, 3.
  Growing<Short> pool;
  std::vector<Short::Id> ids;
  for (int i = 0; i < 7; ++i) {
    ids.push_back(pool.put(1, {}));
    EXPECT_EQ(Short::index(ids.back()), 1u + static_cast<unsigned>(i) / 3);
    pool.remove(Short::index(ids.back()));
    for (const auto id : ids) EXPECT_FALSE(pool.holds(id));
  }
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 7u);
  EXPECT_EQ(pool.slots(), 4u);
}

TEST(EventPoolDeathTest, HasABound) {  // Invariant 3.
  Growing<BasicEventPool<2>> pool;
  for (int i = 0; i < 3; ++i) pool.put(1, {});
  EXPECT_DEATH(pool.put(1, {}), "check failed: slots_.size\\(\\) < kGeneration");
}

}  // namespace
}  // namespace damper::timer
