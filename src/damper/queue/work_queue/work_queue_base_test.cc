#include "damper/queue/work_queue/work_queue_base.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "damper/queue/work_queue/work_queue.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using Queue = WorkQueue<std::string>;

// A limiter with a fixed result that records its calls.
class Oracle final : public RateLimiter<std::string> {
 public:
  std::optional<Duration> answer = 0ns;
  decide::Report last;
  std::uint32_t asked = 0;

  std::optional<Duration> when(std::string_view, const decide::Report& why, Instant now,
                               double draw) override {
    EXPECT_LE(now, run::now());
    EXPECT_TRUE(draw >= 0 && draw < 1);
    last = why;
    ++asked;
    return answer;
  }
  void forget(std::string_view) noexcept override { asked = 0; }
  std::uint32_t failures(std::string_view) const override { return asked; }
};

std::int64_t records(const Histogram& histogram) { return histogram.samples(run::now()); }

std::string keys_of(const std::vector<Queue::Unfinished>& unfinished) {
  std::string keys;
  for (const auto& key : unfinished) keys += key.key + (key.parked ? "p " : " ");
  return keys;
}

TEST(WorkQueueBase, AKeyIsAddedHandedOutAndDone) {
  Queue queue;
  EXPECT_EQ(queue.add("a").added, Added::queued);
  EXPECT_EQ(queue.add("a").added, Added::merged);
  auto item = queue.try_get();
  ASSERT_TRUE(item);
  EXPECT_EQ(item.key(), "a");
  EXPECT_GE(item.waited(), 0ns);
  EXPECT_FALSE(queue.try_get());
  EXPECT_EQ(queue.stats().running, 1u);
  item.done();
  EXPECT_FALSE(item);
  EXPECT_EQ(queue.stats().running, 0u);
  EXPECT_EQ(records(queue.queue_times()), 1);
  EXPECT_EQ(records(queue.work_times()), 1);
}

TEST(WorkQueueBase, ALeaseThatIsMovedLeavesAnEmptyOne) {
  Queue queue;
  queue.add("b");
  auto item = queue.try_get();
  EXPECT_EQ(item.key(), "b");
  EXPECT_EQ(queue.stats().running, 1u);
  auto moved = std::move(item);
  item.done();  // NOLINT(bugprone-use-after-move): it has nothing, so no key is done.
  EXPECT_EQ(moved.key(), "b");
  EXPECT_EQ(queue.stats().running, 1u);
  EXPECT_EQ(queue.stats().spurious_done, 0u);
}

TEST(WorkQueueBase, WhatIsAddedAtWorkRunsOnceMore) {
  Queue queue;
  queue.add("a");
  auto item = queue.try_get();
  EXPECT_EQ(queue.add("a").added, Added::marked);
  EXPECT_EQ(queue.add_after("a", 0s).added, Added::marked);
  EXPECT_EQ(queue.add_after("a", -1s).added, Added::marked);
  EXPECT_FALSE(queue.try_get());
  item.done();
  EXPECT_TRUE(queue.try_get());
  EXPECT_FALSE(queue.try_get());
}

TEST(WorkQueueBase, TrapQ2_DoneTwiceIsHarmlessAndCounted) {
  Queue queue;
  queue.add("a");
  auto first = queue.try_get();
  queue.add("a");
  first.done();
  const auto second = queue.try_get();  // The same key, with another worker.
  first.done();
  EXPECT_EQ(queue.stats().spurious_done, 1u);
  EXPECT_EQ(queue.stats().running, 1u);
  queue.add("a");
  EXPECT_FALSE(queue.try_get());  // It was not set free.
}

TEST(WorkQueueBase, ADelayedKeyIsNotHandedOutBeforeItsTime) {
  Queue queue;
  const Instant before = run::now();
  EXPECT_EQ(queue.add_after("a", 2ms).added, Added::delayed);
  EXPECT_EQ(queue.add_after("b", kForever).added, Added::delayed);
  EXPECT_EQ(queue.stats().delayed, 2u);
  while (!queue.try_get()) std::this_thread::yield();
  EXPECT_GE(run::now(), before + 2ms);
  EXPECT_EQ(queue.add("b").added, Added::merged);  // Now is earlier than never.
  EXPECT_TRUE(queue.try_get());
}

TEST(WorkQueueBase, ALeaseMaySayWhenItsKeyRunsAgain) {
  Queue queue;
  queue.add("a");
  const Instant before = run::now();
  queue.try_get().done_after(2ms);
  EXPECT_EQ(queue.stats().delayed, 1u);
  auto item = queue.try_get();
  for (; !item; item = queue.try_get()) std::this_thread::yield();
  EXPECT_GE(run::now(), before + 2ms);
}

TEST(WorkQueueBase, AParkedKeyWaitsForAnAddOrARevival) {
  Queue queue;
  queue.add("a");
  queue.add("b");
  queue.try_get().park();
  queue.try_get().park();
  EXPECT_EQ(keys_of(queue.parked()), "ap bp ");
  EXPECT_FALSE(queue.revive("c"));
  EXPECT_TRUE(queue.revive("b"));
  EXPECT_EQ(queue.try_get().key(), "b");
  EXPECT_EQ(queue.add("a").added, Added::queued);
  EXPECT_EQ(queue.try_get().key(), "a");
  EXPECT_TRUE(queue.parked().empty());
}

TEST(WorkQueueBase, APayloadStaysWithItsKey) {
  WorkQueue<std::string, int> queue;
  queue.add("a");
  {
    auto item = queue.try_get();
    item.payload() = 7;
    queue.add("a");
  }
  {
    auto item = queue.try_get();
    EXPECT_EQ(item.payload(), 7);
    item.done();
  }
  queue.add("a");  // It had left.
  EXPECT_EQ(queue.try_get().payload(), 0);
}

TEST(WorkQueueBase, TheLimiterSaysHowLongARetryWaits) {
  auto owned = std::make_unique<Oracle>();
  Oracle& limiter = *owned;
  Queue queue({}, std::move(owned));
  EXPECT_EQ(queue.add_rate_limited("a").added, Added::queued);
  EXPECT_EQ(limiter.last.outcome, decide::Outcome::transient);
  limiter.answer = 1h;
  const decide::Report why{.outcome = decide::Outcome::overload};
  EXPECT_EQ(queue.add_rate_limited("b", why).added, Added::delayed);
  EXPECT_EQ(limiter.last.outcome, decide::Outcome::overload);
  EXPECT_EQ(queue.failures("b"), 2u);
  EXPECT_EQ(records(queue.limiter_waits()), 2);

  limiter.answer.reset();
  EXPECT_EQ(queue.add_rate_limited("c").added, Added::refused);
  EXPECT_EQ(queue.stats().refused, 1u);
  EXPECT_EQ(records(queue.limiter_waits()), 2);
  queue.forget("b");
  EXPECT_EQ(queue.failures("b"), 0u);

  (void)queue.shut_down();
  EXPECT_EQ(queue.add_rate_limited("d").added, Added::closed);
  EXPECT_EQ(limiter.asked, 0u);  // It was not asked: nothing would have come of it.
}

TEST(WorkQueueBase, WithoutALimiterItHasTheDefaultOne) {
  Queue queue;
  EXPECT_EQ(queue.failures("a"), 0u);
  EXPECT_TRUE(is_taken(queue.add_rate_limited("a").added));
  EXPECT_EQ(queue.failures("a"), 1u);
  EXPECT_EQ(queue.limiter_stats().keys, 1u);
  queue.forget("a");
  EXPECT_EQ(queue.failures("a"), 0u);
}

TEST(WorkQueueBase, ALeaseThatIsDoneRateLimitedIsNeverLost) {
  auto owned = std::make_unique<Oracle>();
  Oracle& limiter = *owned;
  Queue queue({}, std::move(owned));
  queue.add("a");
  auto item = queue.try_get();
  limiter.answer.reset();
  EXPECT_FALSE(item.done_rate_limited());  // Refused: it is not done.
  EXPECT_EQ(queue.stats().running, 1u);
  limiter.answer = 1h;
  EXPECT_TRUE(queue.shut_down().empty());
  EXPECT_TRUE(item.done_rate_limited());
  EXPECT_FALSE(item);
  const auto left = queue.shut_down();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].key, "a");
}

TEST(WorkQueueBase, ShutDownLetsThoseRunWhoseTimeHasCome) {
  Queue queue;
  queue.add_after("a", 1ns);
  std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(queue.shut_down().empty());
  EXPECT_EQ(queue.try_get().key(), "a");
}

TEST(WorkQueueBase, TrapQ4_ShutDownHandsBackWhatIsDelayed) {
  Queue queue;
  queue.add("ready");
  queue.add_after("late", 2h);
  queue.add_after("soon", 1h);
  EXPECT_EQ(keys_of(queue.shut_down()), "soon late ");
  EXPECT_TRUE(queue.is_closed());
  EXPECT_EQ(queue.add("new").added, Added::closed);
  EXPECT_EQ(queue.stats().closed, 1u);
  EXPECT_TRUE(queue.shut_down().empty());  // Once is enough.
  EXPECT_EQ(queue.try_get().key(), "ready");
}

TEST(WorkQueueBase, TrapQ4_WhatIsDelayedAfterShutDownIsHandedBackToo) {
  Queue queue;
  for (const char* key : {"marked", "after", "at once", "parked", "done"}) queue.add(key);
  auto marked = queue.try_get();
  auto after = queue.try_get();
  auto at_once = queue.try_get();
  auto parked = queue.try_get();
  auto done = queue.try_get();
  queue.add_after("marked", 1h);
  EXPECT_TRUE(queue.shut_down().empty());
  after.done_after(1min);
  at_once.done_after(0s);
  EXPECT_FALSE(queue.try_get());
  EXPECT_EQ(keys_of(queue.shut_down()), "after at once ");
  marked.done();
  parked.park();
  done.done();
  EXPECT_EQ(keys_of(queue.shut_down()), "marked parkedp ");
  EXPECT_EQ(queue.stats().delayed + queue.stats().ready + queue.stats().parked, 0u);
}

TEST(WorkQueueBase, HandBackTakesTheReadyOnesToo) {
  Queue queue;
  queue.add("a");
  queue.add("b");
  queue.add_after("c", 1h);
  const auto item = queue.try_get();
  EXPECT_EQ(keys_of(queue.hand_back()), "b c ");
  EXPECT_EQ(queue.stats().running, 1u);
  EXPECT_EQ(queue.add("b").added, Added::queued);  // It is not closed.
}

TEST(WorkQueueBase, ExactTimesAreExact) {
  Queue queue({}, nullptr, Times::exact);
  const Instant before = run::now();
  queue.add("a");
  const Instant added = run::now();
  while (run::now() < added + 100us) {
  }
  const auto item = queue.try_get();
  EXPECT_GE(item.waited(), 100us);
  EXPECT_LE(item.waited(), between(before, run::now()));
}

TEST(WorkQueueBase, AFullQueueSaysWhoMadeRoom) {
  Queue queue({.capacity = 1, .at_limit = AtLimit::shed_least_important});
  queue.add("a", {.priority = admit::Criticality::sheddable});
  EXPECT_EQ(queue.add("b", {.priority = admit::Criticality::sheddable}).added, Added::refused);
  const auto result = queue.add("c");
  EXPECT_EQ(result.added, Added::queued);
  EXPECT_EQ(result.shed, "a");
}

TEST(WorkQueueBase, ALeaseThatOutlivesItsQueueIsABug) {
  EXPECT_DEATH(
      {
        Queue::Lease item;
        Queue queue;
        queue.add("a");
        item = queue.try_get();
      },
      "check failed.*running == 0");
}

}  // namespace
}  // namespace damper::queue
