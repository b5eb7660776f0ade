#include "damper/timer/event_queue.h"

#include <algorithm>
#include <span>

namespace damper::timer {

void EventQueue::grow() {
  wheel_.grow(pool_.slots() + 1);  // First: a slot that the wheel has no room for would be used.
  pool_.grow();
}

bool EventQueue::refill(Instant until) noexcept {
  const auto [count, rest] = wheel_.take(pool_, nanoseconds(std::max(until, now_)),
                                         std::span(near_).first<EventWheel::kTake>());
  near_size_ = count;
  set_horizon(rest);
  return count > 0;
}

void EventQueue::make_room() noexcept {
  const auto first = near_.begin();
  const auto last = std::remove_if(
      first, near_.end(), [&](const EventWheel::Key& key) { return !pool_.holds(key.id); });
  near_size_ = static_cast<std::size_t>(last - first);
  if (near_size_ <= kNear * 3 / 4) return;  // Else it would soon be full again.

  const std::size_t spilled = near_size_ / 2;
  const std::uint64_t horizon = near_[spilled - 1].at;
  set_horizon(horizon);
  wheel_.rebase(horizon);
  for (std::size_t i = 0; i < spilled; ++i) {
    wheel_.put_back(EventPool::index(near_[i].id), near_[i].at);
  }
  std::copy(first + static_cast<std::ptrdiff_t>(spilled), last, first);
  near_size_ -= spilled;
}

}  // namespace damper::timer
