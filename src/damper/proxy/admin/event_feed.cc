#include "damper/proxy/admin/event_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "damper/base/check.h"

namespace damper::proxy {
namespace {

std::uint64_t first_id(observe::WallTime now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)) * 1'000'000 + 1;
}

}  // namespace

EventFeed::EventFeed(engine::EventSink* next, std::size_t kept, WallClock wall_clock)
    : sink_(next),
      wall_clock_(std::move(wall_clock)),
      ring_(kept),
      begin_(first_id(wall_clock_())),
      next_(begin_) {
  DAMPER_CHECK(kept > 0);
}

void EventFeed::on_event(const engine::Event& event) noexcept {
  if (sink_ != nullptr) sink_->on_event(event);
  try {
    std::string json;
    observe::append_event(json, observe::LogFormat::json, event, wall_clock_());
    const std::lock_guard lock(mutex_);
    Item& item = ring_[next_ % ring_.size()];
    item.id = next_++;
    item.kind = event.kind;
    item.json.swap(json);  // The old one is freed after the lock.
    for (Listener* listener : listeners_) listener->on_feed();
  } catch (...) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::uint64_t EventFeed::first_kept() const noexcept {
  return next_ - begin_ > ring_.size() ? next_ - ring_.size() : begin_;
}

std::vector<EventFeed::Item> EventFeed::after(std::uint64_t id) const {
  std::vector<Item> items;
  items.reserve(kMostAtOnce);
  const std::lock_guard lock(mutex_);
  std::uint64_t at = id < first_kept() ? first_kept() : id + 1;
  for (; at < next_ && at > id && items.size() < kMostAtOnce; ++at) {
    items.push_back(ring_[at % ring_.size()]);
  }
  return items;
}

std::uint64_t EventFeed::first() const {
  const std::lock_guard lock(mutex_);
  return first_kept();
}

std::uint64_t EventFeed::next() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

void EventFeed::listen(Listener& listener) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back(&listener);
}

void EventFeed::ignore(Listener& listener) {
  const std::lock_guard lock(mutex_);
  std::erase(listeners_, &listener);
}

}  // namespace damper::proxy
