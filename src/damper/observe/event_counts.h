#ifndef DAMPER_OBSERVE_EVENT_COUNTS_H_
#define DAMPER_OBSERVE_EVENT_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "damper/engine/event.h"
#include "damper/observe/registry.h"

namespace damper::observe {

// EventCounts counts transitions as damper_events_total{dependency,event}, and passes each on to
// the next sink.
//   EventCounts events(registry, &log);
//   billing.report_to(&events);
// Where the registry comes later than the first event:
//   EventCounts events(&log);
//   const auto shown = events.show_in(registry);
//
// Why: how often a breaker opened or a budget ran out last night is a question for a graph; the
// engine keeps the state, not the number of its changes.
// Model: all events of a key are shown, at 0 too, from its first one on, or from
// expect() on: a rate does not see the first event of a series that was not there before. Keys over
// kMostKeys, and events that there is no memory to count by their key, count for the key "other".
// Invariants:
//   (1) Every event is counted once, and passed on once.
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
  // Shows this key's events, at 0.
  void expect(std::string_view key) noexcept;
  // For as long as what it returns lives, which both outlive.
  [[nodiscard]] Registry::Collection show_in(Registry& registry) const;

 private:
  using Counts = std::array<std::uint64_t, engine::kEventNames.size()>;

  [[nodiscard]] Counts& counts_of(std::string_view key) noexcept;
  void write(Exposition& out) const;

  engine::EventSink* const next_;
  mutable std::mutex mutex_;
  std::map<std::string, Counts, std::less<>> counts_;
  Counts other_{};
  bool has_other_ = false;
  Registry::Collection collection_;  // Last: it ends first.
};

}  // namespace damper::observe

#endif  // DAMPER_OBSERVE_EVENT_COUNTS_H_
