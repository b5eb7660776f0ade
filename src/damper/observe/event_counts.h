#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/engine/event.h"
#include "damper/observe/registry.h"

namespace damper::observe {

// EventCounts counts events as damper_events_total{key,event}, and passes each on to the next sink.
//   EventCounts events(registry, &log);
//   billing.report_to(&events);
// If the registry is created after the first event:
//   EventCounts events(&log);
//   const auto shown = events.show_in(registry);
//
// Why: a graph shows how often a breaker opened last night; the engine keeps the state, not the
// number of its changes.
// Model: the first event of a key adds a series for each of the engine's events, at 0; expect()
// adds those that it names. Why at 0: rate() does not see the first event of a series that did not
// exist before. Keys over kMostKeys count for the key "other".
// Invariants:
//   (1) Every event is counted once, and passed on once.
//   (2) After expect(key, names) a sample of each of them is exposed.
// Thread safety: all methods may be called concurrently.
// Cost: a lock and a lookup for an event; the memory of at most kMostKeys names.
class EventCounts final : public engine::EventSink {
 public:
  static constexpr std::size_t kMostKeys = 1000;

  // The registry and the next sink outlive it.
  explicit EventCounts(Registry& registry, engine::EventSink* next = nullptr);
  explicit EventCounts(engine::EventSink* next) : next_(next) {}
  EventCounts(const EventCounts&) = delete;
  EventCounts& operator=(const EventCounts&) = delete;
  ~EventCounts() = default;

  void on_event(const engine::Event& event) noexcept override;
  // Exposes these events of the key, at 0. The names have static lifetime.
  void expect(std::string_view key,
              std::span<const std::string_view> names = engine::kEventNames) noexcept;
  // Exposes the counts in the registry during the life of the result, which both outlive.
  [[nodiscard]] Registry::Collection show_in(Registry& registry) const;

 private:
  using Counts = std::vector<std::pair<std::string_view, std::uint64_t>>;  // by event

  // nullptr: there is no memory.
  [[nodiscard]] std::uint64_t* find_count(std::string_view key, std::string_view event,
                                          std::span<const std::string_view> names) noexcept;
  void write(Exposition& out) const;

  engine::EventSink* const next_;
  mutable std::mutex mutex_;
  std::map<std::string, Counts, std::less<>> counts_;
  Counts other_;
  std::uint64_t uncounted_ = 0;      // events without memory for their name, under "other"
  Registry::Collection collection_;  // Last: destroyed first.
};

}  // namespace damper::observe
