#include "damper/observe/event_counts.h"

#include <algorithm>

namespace damper::observe {
namespace {

// The count of an event, which is added if it is missing.
std::uint64_t& count_in(auto& counts, std::string_view event) {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [event](const auto& one) { return one.first == event; });
  return found != counts.end() ? found->second : counts.emplace_back(event, 0).second;
}

}  // namespace

EventCounts::EventCounts(Registry& registry, engine::EventSink* next)
    : next_(next), collection_(show_in(registry)) {}

Registry::Collection EventCounts::show_in(Registry& registry) const {
  return registry.collect([this](Exposition& out) { write(out); });
}

void EventCounts::expect(std::string_view key, std::span<const std::string_view> names) noexcept {
  const std::lock_guard lock(mutex_);
  for (const std::string_view event : names) (void)find_count(key, event, {});
}

void EventCounts::on_event(const engine::Event& event) noexcept {
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t* count = find_count(event.key, event.kind.text(), engine::kEventNames);
    ++(count != nullptr ? *count : uncounted_);
  }
  if (next_ != nullptr) next_->on_event(event);
}

std::uint64_t* EventCounts::find_count(std::string_view key, std::string_view event,
                                       std::span<const std::string_view> names) noexcept {
  key = key.substr(0, kLongestLabelValue);
  const auto found = counts_.find(key);
  try {
    if (found != counts_.end()) return &count_in(found->second, event);
    if (key != "other" && counts_.size() < kMostKeys) {
      Counts& counts = counts_.emplace(key, Counts{}).first->second;
      for (const std::string_view name : names) (void)count_in(counts, name);
      return &count_in(counts, event);
    }
    return &count_in(other_, event);
  } catch (...) {  // No memory.
    return nullptr;
  }
}

void EventCounts::write(Exposition& out) const {
  const std::lock_guard lock(mutex_);
  const auto show = [&out](std::string_view key, std::string_view event, std::uint64_t count) {
    out.counter("damper_events_total", "Events by key and name.",
                {{"key", std::string(key)}, {"event", std::string(event)}}, count);
  };
  for (const auto& [key, counts] : counts_) {
    for (const auto& [event, count] : counts) show(key, event, count);
  }
  for (const auto& [event, count] : other_) show("other", event, count);
  if (uncounted_ > 0) show("other", "other", uncounted_);
}

}  // namespace damper::observe
