// What becomes of a key whose lease goes without done(), and of one that is done.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "damper/queue/work_queue/work_queue.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using Queue = WorkQueue<std::string>;

// A limiter with a fixed answer, which may throw.
class Fixed final : public RateLimiter<std::string> {
 public:
  explicit Fixed(std::optional<Duration> answer, bool throws = false)
      : answer_(answer), throws_(throws) {}
  std::optional<Duration> when(std::string_view, const decide::Report& why, Instant,
                               double) override {
    EXPECT_EQ(why.outcome, decide::Outcome::transient);
    if (throws_) throw std::bad_alloc();
    ++failures_;
    return answer_;
  }
  void forget(std::string_view) noexcept override { failures_ = 0; }
  std::uint32_t failures(std::string_view) const override { return failures_; }

 private:
  const std::optional<Duration> answer_;
  const bool throws_;
  std::uint32_t failures_ = 0;
};

TEST(WorkQueueLease, TrapQ12_AWorkerThatThrowsHandsItsKeyBackRateLimited) {
  Queue queue({}, std::make_unique<Fixed>(1h));
  queue.add("a");
  const auto work = [&] {
    while (auto item = queue.get()) {
      throw std::runtime_error(item.key());
      item.done();
    }
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_EQ(queue.stats().running, 0u);
  EXPECT_EQ(queue.stats().delayed, 1u);
  EXPECT_EQ(queue.stats().dropped, 1u);
  EXPECT_EQ(queue.failures("a"), 1u);
  EXPECT_EQ(queue.add("a").added, Added::merged);  // It is still there.
  auto again = queue.try_get();
  EXPECT_EQ(again.key(), "a");
  again.done();
  EXPECT_EQ(queue.stats().delayed, 0u);
  EXPECT_EQ(queue.stats().dropped, 1u);
}

TEST(WorkQueueLease, TrapQ12_ALeaseThatIsDroppedHandsItsKeyBack) {
  Queue queue({}, std::make_unique<Fixed>(1ms));
  queue.add("a");
  { const auto item = queue.try_get(); }
  EXPECT_EQ(queue.get().key(), "a");  // After its delay; and dropped again.
  auto item = queue.get();
  item = Queue::Lease();  // Assigned over.
  EXPECT_EQ(queue.stats().dropped, 3u);
  item = queue.get();
  const auto moved = std::move(item);
  EXPECT_EQ(moved.key(), "a");  // A move drops nothing.
  EXPECT_EQ(queue.stats().dropped, 3u);
}

TEST(WorkQueueLease, AKeyThatWasAddedDuringTheRunOfADroppedLeaseRunsAtOnce) {
  Queue queue({}, std::make_unique<Fixed>(1h));
  queue.add("a");
  {
    const auto item = queue.try_get();
    queue.add("a");
  }
  EXPECT_TRUE(queue.try_get());
}

TEST(WorkQueueLease, ALimiterThatRefusesOrThrowsLosesNoDroppedKey) {
  for (const bool throws : {false, true}) {
    Queue queue({}, std::make_unique<Fixed>(std::nullopt, throws));
    queue.add("a");
    const Instant before = run::now();
    { const auto item = queue.try_get(); }
    EXPECT_EQ(queue.stats().delayed, 1u);
    const auto left = queue.shut_down();
    ASSERT_EQ(left.size(), 1u);
    EXPECT_GE(left[0].due, before + 1s);
  }
}

TEST(WorkQueueLease, ADroppedKeyIsHandedBackAfterTheShutDown) {
  Queue queue;
  queue.add("a");
  {
    const auto item = queue.try_get();
    EXPECT_TRUE(queue.shut_down().empty());
  }
  const auto left = queue.shut_down();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].key, "a");
}

// client-go's TestForceQueueShutdownUsingShutDown.
TEST(WorkQueueLease, AShutDownReleasesADrain) {
  Queue queue;
  queue.add("a");
  auto item = queue.get();
  std::atomic<int> released = 0;
  std::atomic<bool> empty = false;
  const auto drain = [&] {
    if (queue.drain().empty) empty = true;
    ++released;
  };
  std::jthread one(drain);
  std::jthread two(drain);
  while (queue.draining() < 2) std::this_thread::yield();
  EXPECT_EQ(released, 0);  // The second drain is no reason for the first one to return.
  (void)queue.shut_down();
  one.join();
  two.join();
  EXPECT_EQ(released, 2);
  EXPECT_FALSE(empty);
  item.done();
  EXPECT_TRUE(queue.drain().empty);  // It was shut down before: that does not release it.
}

TEST(WorkQueueLease, ADrainAfterAShutDownWaits) {
  Queue queue;
  queue.add("a");
  auto item = queue.get();
  (void)queue.shut_down();
  EXPECT_FALSE(queue.drain(2ms).empty);
  std::jthread worker([&] {
    while (queue.draining() == 0) std::this_thread::yield();
    item.done();
  });
  EXPECT_TRUE(queue.drain().empty);
}

// client-go's TestGarbageCollection.
TEST(WorkQueueLease, ADoneKeyIsDestroyed) {
  using Shared = std::shared_ptr<int>;
  WorkQueue<Shared> queue({.capacity = 1, .at_limit = AtLimit::shed_least_important});
  const auto watched = [&](auto&& end) {
    auto key = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = key;
    queue.add(key, {.priority = admit::Criticality::sheddable});
    key.reset();
    EXPECT_FALSE(watch.expired());  // The queue has it.
    end();
    return watch.expired();
  };
  EXPECT_TRUE(watched([&] { queue.get().done(); }));
  EXPECT_TRUE(watched([&] {
    queue.get().park();
    EXPECT_EQ(queue.hand_back().size(), 1u);
  }));
  EXPECT_TRUE(watched([&] { EXPECT_EQ(queue.hand_back().size(), 1u); }));
  EXPECT_TRUE(watched([&] { EXPECT_TRUE(queue.add(std::make_shared<int>(2)).shed); }));
  queue.get().done();
  EXPECT_TRUE(watched([&] {  // The limiter's copy is destroyed by forget().
    auto item = queue.get();
    EXPECT_TRUE(item.done_rate_limited());
    item = queue.get();
    queue.forget(item.key());
    item.done();
  }));
}

}  // namespace
}  // namespace damper::queue
