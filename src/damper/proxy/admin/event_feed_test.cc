#include "damper/proxy/admin/event_feed.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace damper::proxy {
namespace {

using engine::EventKind;

constexpr std::uint64_t kBegin = 1'794'708'787'000'001;  // of a clock that stands at 02:13:07

observe::WallTime clock() { return observe::WallTime{std::chrono::seconds(1'794'708'787)}; }

engine::Event event(std::string_view key, EventKind kind = EventKind::breaker_opened) {
  return {.kind = kind, .key = key};
}

class Sink final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) noexcept override { keys += event.key; }
  std::string keys;
};

TEST(EventFeed, EventsAreNumberedAndPassedOn) {
  Sink sink;
  EventFeed feed(&sink, 10, clock);
  EXPECT_EQ(feed.first(), kBegin);
  EXPECT_EQ(feed.next(), kBegin);
  feed.on_event(event("a"));
  feed.on_event(event("b", EventKind::recovered));
  const auto items = feed.after(0);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].id, kBegin);
  EXPECT_EQ(items[0].json,
            R"({"time":"2026-11-15T02:13:07.000Z","event":"breaker_opened","key":"a"})");
  EXPECT_EQ(items[1].id, kBegin + 1);
  EXPECT_EQ(items[1].kind, EventKind::recovered);
  EXPECT_EQ(sink.keys, "ab");  // (3)
}

TEST(EventFeed, OnlyTheLastAreKept) {  // (1)
  EventFeed feed(nullptr, 3, clock);
  for (const char* key : {"a", "b", "c", "d", "e"}) feed.on_event(event(key));
  const auto items = feed.after(0);
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].id, kBegin + 2);
  EXPECT_NE(items[0].json.find(R"("key":"c")"), std::string::npos);
  EXPECT_EQ(feed.first(), kBegin + 2);
  EXPECT_EQ(feed.next(), kBegin + 5);
}

TEST(EventFeed, WhoHasSeenSomeGetsTheRest) {
  EventFeed feed(nullptr, 10, clock);
  for (const char* key : {"a", "b", "c"}) feed.on_event(event(key));
  EXPECT_EQ(feed.after(kBegin).size(), 2U);
  EXPECT_EQ(feed.after(kBegin + 2).size(), 0U);
  EXPECT_EQ(feed.after(kBegin + 900).size(), 0U);
  EXPECT_EQ(feed.after(std::numeric_limits<std::uint64_t>::max()).size(), 0U);
}

TEST(EventFeed, AReaderTakesABoundedNumberAtOnce) {  // (2)
  EventFeed feed(nullptr, 100, clock);
  for (int i = 0; i < 100; ++i) feed.on_event(event("a"));
  const auto items = feed.after(0);
  ASSERT_EQ(items.size(), EventFeed::kMostAtOnce);
  EXPECT_EQ(feed.after(items.back().id).front().id, items.back().id + 1);
}

TEST(EventFeed, AListenerIsToldUntilItIsIgnored) {
  class Count final : public EventFeed::Listener {
   public:
    void on_feed() noexcept override { ++count; }
    int count = 0;
  } listener;
  EventFeed feed;
  feed.listen(listener);
  feed.on_event(event("a"));
  feed.ignore(listener);
  feed.on_event(event("a"));
  EXPECT_EQ(listener.count, 1);
}

TEST(EventFeed, ReportersAndReadersDoNotDisturbEachOther) {
  EventFeed feed(nullptr, 50, clock);
  std::vector<std::thread> reporters;
  for (int i = 0; i < 3; ++i) {
    reporters.emplace_back([&] {
      for (int n = 0; n < 2000; ++n) feed.on_event(event("a"));
    });
  }
  std::uint64_t seen = 0;
  while (seen < kBegin + 5999) {
    for (const auto& item : feed.after(seen)) {
      ASSERT_GT(item.id, seen);
      ASSERT_FALSE(item.json.empty());
      seen = item.id;
    }
  }
  for (std::thread& reporter : reporters) reporter.join();
  EXPECT_EQ(feed.next(), kBegin + 6000);
}

}  // namespace
}  // namespace damper::proxy
