#include "damper/observe/trace/tracer.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace damper::observe {
namespace {

constexpr Instant kStart{std::chrono::seconds(100)};

class CountingReader final : public SpanLane::Reader {
 public:
  void on_lane_filling() noexcept override { calls.fetch_add(1); }
  std::atomic<int> calls{0};
};

Span named(std::string_view name) {
  Span span;
  span.context = {.trace = {1, 1}, .span = 1};
  span.name = name;
  return span;
}

TEST(Sampler, KeepsAShareByTheTracesId) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(Sampler(Percent(0)).keeps({1, 0}));
  EXPECT_TRUE(Sampler(Percent(100)).keeps({0, kMost}));
  EXPECT_TRUE(Sampler(Percent(50)).keeps({kMost, kMost / 2 - 10'000}));
  EXPECT_FALSE(Sampler(Percent(50)).keeps({0, kMost / 2 + 10'000}));
  Random random(7);
  int kept = 0;
  for (int i = 0; i < 100'000; ++i) {
    const TraceId id{random.bits(), random.bits()};
    if (Sampler(Percent(1)).keeps(id)) {
      ++kept;
      EXPECT_TRUE(Sampler(Percent(2)).keeps(id));  // A larger share has the smaller one in it.
    }
  }
  EXPECT_GT(kept, 800);
  EXPECT_LT(kept, 1200);
}

TEST(Tracer, FollowsItsParentAndStartsATraceWithoutOne) {
  CountingReader reader;
  Tracer tracer(std::make_shared<SpanLane>(10, reader), {.sampling = Percent(100)}, 1);
  const SpanContext parent{.trace = {5, 6}, .span = 7, .flags = 0};
  const SpanContext child = tracer.begin(parent);
  EXPECT_EQ(child.trace, parent.trace);
  EXPECT_NE(child.span, parent.span);
  EXPECT_FALSE(child.is_sampled());  // The parent decides.
  const SpanContext root = tracer.begin({});
  EXPECT_TRUE(root);
  EXPECT_TRUE(root.is_sampled());
  EXPECT_NE(tracer.begin({}).trace, root.trace);
}

TEST(Tracer, KeepsFailuresWithinARate) {
  CountingReader reader;
  Tracer tracer(std::make_shared<SpanLane>(10, reader),
                {.sampling = Percent(0), .failures_per_second = 2}, 1);
  const SpanContext context = tracer.begin({});
  EXPECT_FALSE(tracer.keeps(context, Ending::good, kStart));
  EXPECT_TRUE(tracer.keeps(context, Ending::failed, kStart));
  EXPECT_TRUE(tracer.keeps(context, Ending::failed, kStart));
  EXPECT_FALSE(tracer.keeps(context, Ending::failed, kStart));
  EXPECT_TRUE(tracer.keeps(context, Ending::failed, kStart + std::chrono::seconds(1)));
  Tracer none(std::make_shared<SpanLane>(10, reader),
              {.sampling = Percent(0), .failures_per_second = 0}, 1);
  EXPECT_FALSE(none.keeps(context, Ending::failed, kStart));
}

TEST(Tracer, RefusalsDoNotUseUpTheRateOfFailures) {
  CountingReader reader;
  Tracer tracer(std::make_shared<SpanLane>(10, reader),
                {.sampling = Percent(0), .failures_per_second = 20}, 1);
  const SpanContext context = tracer.begin({});
  const auto count = [&](Ending ending) {
    int kept = 0;
    for (int i = 0; i < 200; ++i) kept += tracer.keeps(context, ending, kStart) ? 1 : 0;
    return kept;
  };
  EXPECT_EQ(count(Ending::refused), 2);  // A tenth.
  EXPECT_EQ(count(Ending::failed), 20);
  EXPECT_EQ(count(Ending::refused), 0);
  Tracer none(std::make_shared<SpanLane>(10, reader),
              {.sampling = Percent(0), .failures_per_second = 0}, 1);
  EXPECT_FALSE(none.keeps(context, Ending::refused, kStart));
}

TEST(SpanLane, DropsAndCountsBeyondItsBound) {
  CountingReader reader;
  SpanLane lane(4, reader);
  for (int i = 0; i < 6; ++i) lane.add(named("x"));
  EXPECT_EQ(lane.size(), 4U);
  EXPECT_EQ(lane.dropped(), 2U);
  EXPECT_EQ(reader.calls, 1);  // When it was half full.
  std::string bytes;
  EXPECT_EQ(lane.take(bytes), 4U);
  EXPECT_EQ(prefix_of(bytes, 9).spans, 4U);
  EXPECT_EQ(lane.size(), 0U);
  lane.close();
  lane.add(named("x"));
  EXPECT_EQ(lane.dropped(), 3U);
}

TEST(SpanLane, BoundsItsBytes) {
  CountingReader reader;
  SpanLane lane(2, reader);
  const std::string text(300, 'x');
  Span span = named(text);
  for (std::size_t i = 0; i < Span::kMostAttributes; ++i) span.add("attribute", text);
  lane.add(span);  // Over 5 KiB: more than two spans on average.
  lane.add(span);
  EXPECT_EQ(lane.size(), 1U);
  EXPECT_EQ(lane.dropped(), 1U);
}

TEST(SpanLane, LosesNothingBetweenThreads) {
  CountingReader reader;
  SpanLane lane(64, reader);
  constexpr std::uint64_t kEach = 5000;
  std::vector<std::thread> producers;
  for (int i = 0; i < 2; ++i) {
    producers.emplace_back([&] {
      for (std::uint64_t n = 0; n < kEach; ++n) lane.add(named("x"));
    });
  }
  std::atomic<bool> done{false};
  std::uint64_t taken = 0;
  std::thread consumer([&] {
    while (true) {
      const bool last = done.load();
      std::string bytes;
      const std::size_t count = lane.take(bytes);
      EXPECT_EQ(prefix_of(bytes, 1000).spans, count);
      taken += count;
      if (last) break;
      std::this_thread::yield();
    }
  });
  for (std::thread& producer : producers) producer.join();
  done = true;
  consumer.join();
  EXPECT_EQ(taken + lane.dropped(), 2 * kEach);
}

}  // namespace
}  // namespace damper::observe
