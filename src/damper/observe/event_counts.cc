#include "damper/observe/event_counts.h"

namespace damper::observe {

EventCounts::EventCounts(Registry& registry, engine::EventSink* next)
    : next_(next), collection_(show_in(registry)) {}

Registry::Collection EventCounts::show_in(Registry& registry) const {
  return registry.collect([this](Exposition& out) { write(out); });
}

void EventCounts::expect(std::string_view key) noexcept {
  const std::lock_guard lock(mutex_);
  (void)counts_of(key);
}

void EventCounts::on_event(const engine::Event& event) noexcept {
  {
    const std::lock_guard lock(mutex_);
    ++counts_of(event.key)[static_cast<std::size_t>(event.kind)];
  }
  if (next_ != nullptr) next_->on_event(event);
}

EventCounts::Counts& EventCounts::counts_of(std::string_view key) noexcept {
  if (const auto found = counts_.find(key); found != counts_.end()) return found->second;
  if (key != "other" && counts_.size() < kMostKeys) {
    try {
      return counts_.emplace(key.substr(0, kLongestLabelValue), Counts{}).first->second;
    } catch (...) {  // No memory: count it all the same.
    }
  }
  has_other_ = true;
  return other_;
}

void EventCounts::write(Exposition& out) const {
  const std::lock_guard lock(mutex_);
  const auto show = [&out](const std::string& key, const Counts& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      out.counter("damper_events_total", "Transitions, by what happened.",
                  {{"dependency", key}, {"event", std::string(engine::kEventNames[i])}}, counts[i]);
    }
  };
  for (const auto& [key, counts] : counts_) show(key, counts);
  if (has_other_) show("other", other_);
}

}  // namespace damper::observe
