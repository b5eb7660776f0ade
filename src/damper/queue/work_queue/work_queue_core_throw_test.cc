#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <stdexcept>

#include "damper/queue/work_queue/work_queue_core.h"

// Keys that throw when they are copied; tests/allocation/ has what happens without memory.

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using enum admit::Criticality;

// A key whose copy throws once `copies_left` is used up.
struct Fragile {
  int number = 0;
  inline static int copies_left = 1'000'000;

  Fragile() = default;
  explicit Fragile(int n) : number(n) {}
  Fragile(const Fragile& other) : number(other.number) { count(); }
  Fragile& operator=(const Fragile& other) {
    count();
    number = other.number;
    return *this;
  }
  Fragile(Fragile&&) noexcept = default;
  Fragile& operator=(Fragile&&) noexcept = default;
  ~Fragile() = default;
  bool operator==(const Fragile&) const = default;
  static void count() {
    if (copies_left-- == 0) throw std::runtime_error("no copy");
  }
};

}  // namespace
}  // namespace damper::queue

template <>
struct std::hash<damper::queue::Fragile> {
  std::size_t operator()(const damper::queue::Fragile& key) const noexcept {
    return static_cast<std::size_t>(key.number);
  }
};

namespace damper::queue {
namespace {

TEST(WorkQueueCore, AKeyThatCannotBeCopiedChangesNothing) {  // Invariant (7).
  for (int copies = 0; copies < 2; ++copies) {  // Of the one who is shed, then of the newcomer.
    WorkQueueCore<Fragile> queue({.capacity = 2, .at_limit = AtLimit::shed_least_important});
    const auto add = [&](int key, const AddOptions& how) {
      return queue.add(Fragile(key), how, Instant{1s}, Instant{1s}).added;
    };
    add(1, {.priority = sheddable, .group = "x"});
    add(2, {.priority = sheddable, .group = "x"});
    Fragile::copies_left = copies;
    EXPECT_THROW(add(3, {.group = "y"}), std::runtime_error);
    Fragile::copies_left = 1'000'000;
    const QueueStats stats = queue.stats(Instant{1s});
    EXPECT_EQ(stats.ready, 2u);
    EXPECT_EQ(stats.groups, 1u);
    EXPECT_EQ(stats.adds, 2u);
    EXPECT_EQ(stats.shed, 0u);
    EXPECT_EQ(add(2, {}), Added::merged);
    EXPECT_EQ(add(3, {.group = "y"}), Added::queued);
    EXPECT_EQ(queue.stats(Instant{1s}).shed, 1u);
  }
}

TEST(WorkQueueCore, AHandBackThatFailsLosesNothing) {  // Invariant (7).
  for (int copies = 0; copies < 3; ++copies) {
    WorkQueueCore<Fragile, int> queue;
    queue.add(Fragile(1), {}, Instant{1s}, Instant{1s});
    queue.add(Fragile(2), {}, Instant{9s}, Instant{1s});
    queue.add(Fragile(3), {}, Instant{1s}, Instant{1s});
    const auto parked = queue.get(Instant{1s});
    queue.payload(parked->ticket) = 4;
    queue.park(parked->ticket, Instant{1s});
    Fragile::copies_left = copies;
    EXPECT_THROW((void)queue.hand_back(), std::runtime_error);
    Fragile::copies_left = 1'000'000;
    const auto back = queue.hand_back();
    ASSERT_EQ(back.size(), 3u);
    EXPECT_EQ(back[0].key, Fragile(3));
    EXPECT_EQ(back[1].key, Fragile(1));
    EXPECT_TRUE(back[1].parked);
    EXPECT_EQ(back[1].payload, 4);
    EXPECT_EQ(back[2].key, Fragile(2));
    EXPECT_EQ(back[2].due, Instant{9s});
  }
}

}  // namespace
}  // namespace damper::queue
