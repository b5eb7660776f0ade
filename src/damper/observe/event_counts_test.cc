#include "damper/observe/event_counts.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "damper/observe/process_event.h"
#include "damper/observe/promtool_testing.h"

namespace damper::observe {
namespace {

using engine::Event;
using engine::EventKind;

Event event_of(std::string_view key, EventKind kind = EventKind::breaker_opened) {
  return {.kind = kind, .key = key, .detail = {}};
}

std::string sample(std::string_view key, std::string_view event, int count) {
  return "\ndamper_events_total{event=\"" + std::string(event) + "\",key=\"" + std::string(key) +
         "\"} " + std::to_string(count) + "\n";
}

testing::AssertionResult has(const std::string& text, const std::string& line) {
  if (text.find(line) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no " << line << " in\n" << text;
}

class Recorder final : public engine::EventSink {
 public:
  void on_event(const Event& event) noexcept override { keys.emplace_back(event.key); }
  std::vector<std::string> keys;
};

TEST(EventCounts, CountsEachEventOfAKeyAndPassesItOn) {  // Invariant (1).
  Registry registry;
  Recorder next;
  EventCounts events(registry, &next);
  EXPECT_EQ(registry.expose(), "");
  events.on_event(event_of("billing"));
  events.on_event(event_of("billing"));
  events.on_event(event_of("search", EventKind::policy_reloaded));
  EXPECT_EQ(next.keys, (std::vector<std::string>{"billing", "billing", "search"}));
  const std::string text = registry.expose();
  EXPECT_TRUE(has(text, sample("billing", "breaker_opened", 2)));
  EXPECT_TRUE(has(text, sample("billing", "breaker_closed", 0)));  // At 0, for the next one.
  EXPECT_TRUE(has(text, sample("search", "policy_reloaded", 1)));
  EXPECT_EQ(text.find("other"), std::string::npos);
  EXPECT_EQ(promtool(text), "");
}

TEST(EventCounts, IsShownOnceThereIsARegistry) {
  Recorder next;
  EventCounts events(&next);
  events.on_event(event_of("billing"));
  Registry registry;
  {
    const auto shown = events.show_in(registry);
    EXPECT_TRUE(has(registry.expose(), sample("billing", "breaker_opened", 1)));
  }
  EXPECT_EQ(registry.expose(), "");
  EXPECT_EQ(next.keys.size(), 1U);
}

TEST(EventCounts, AKeyThatIsExpectedIsThereBeforeItsFirstEvent) {
  Registry registry;
  EventCounts events(registry);
  events.expect("billing");
  EXPECT_TRUE(has(registry.expose(), sample("billing", "breaker_opened", 0)));
  events.on_event(event_of("billing"));
  events.expect("billing");
  EXPECT_TRUE(has(registry.expose(), sample("billing", "breaker_opened", 1)));
}

TEST(EventCounts, EventsOfAnotherModuleAreThereBeforeTheirFirst) {  // Invariant (2).
  Registry registry;
  EventCounts events(registry);
  events.expect("proxy", kProcessEventNames);
  EXPECT_TRUE(has(registry.expose(), sample("proxy", "control_lost", 0)));
  EXPECT_EQ(registry.expose().find("breaker_opened"), std::string::npos);
  events.on_event({.kind = ProcessEvent::control_lost, .key = "proxy"});
  EXPECT_TRUE(has(registry.expose(), sample("proxy", "control_lost", 1)));
  EXPECT_TRUE(has(registry.expose(), sample("proxy", "upgrade_failed", 0)));
}

TEST(EventCounts, EveryKindHasItsName) {
  Registry registry;
  EventCounts events(registry);
  for (std::size_t i = 0; i < engine::kEventNames.size(); ++i) {
    for (std::size_t n = 0; n <= i; ++n) {
      events.on_event(event_of("db", static_cast<EventKind>(i)));
    }
  }
  const std::string text = registry.expose();
  for (std::size_t i = 0; i < engine::kEventNames.size(); ++i) {
    EXPECT_TRUE(has(text, sample("db", engine::kEventNames[i], static_cast<int>(i) + 1)));
  }
}

TEST(EventCounts, KeysOverTheLimitCountForOther) {
  Registry registry({.most_series = 100'000});
  EventCounts events(registry);
  events.on_event(event_of("other"));  // One that is really called so joins them.
  for (std::size_t i = 0; i < EventCounts::kMostKeys + 5; ++i) {
    events.on_event(event_of("key" + std::to_string(i)));
  }
  events.on_event(event_of("key7"));  // One of the first: still itself.
  const std::string text = registry.expose();
  EXPECT_TRUE(has(text, sample("key7", "breaker_opened", 2)));
  EXPECT_TRUE(has(text, sample("key999", "breaker_opened", 1)));
  EXPECT_EQ(text.find("key1000"), std::string::npos);
  EXPECT_TRUE(has(text, sample("other", "breaker_opened", 6)));
}

TEST(EventCounts, ALongKeyIsOneSeries) {
  Registry registry;
  EventCounts events(registry);
  for (const char last : {'a', 'a', 'b'}) events.on_event(event_of(std::string(5000, 'k') + last));
  EXPECT_TRUE(has(registry.expose(), sample(std::string(256, 'k'), "breaker_opened", 3)));
}

TEST(EventCounts, CountsUnderContentionWhileItIsScraped) {  // Invariant (1).
  Registry registry;
  EventCounts events(registry);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const std::string key = "key" + std::to_string(t % 2);
        for (int i = 0; i < 500; ++i) {
          events.on_event(event_of(key));
          if (i % 50 == 0) (void)registry.expose();
        }
      });
    }
  }
  EXPECT_TRUE(has(registry.expose(), sample("key0", "breaker_opened", 1000)));
  EXPECT_TRUE(has(registry.expose(), sample("key1", "breaker_opened", 1000)));
}

}  // namespace
}  // namespace damper::observe
