#pragma once

#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>

#include "damper/webhooks/dispatch/endpoint_worker.h"

namespace damper::webhooks {

// SendSlots bound the attempts in flight to all endpoints.
//
// Why: an endpoint that accepts connections and never answers holds a slot for its whole timeout.
// Thousands of them would take all slots from endpoints that work.
// Model: endpoints are healthy (the last attempt succeeded) or not. Those that are not get at most
// half of the slots. An endpoint that finds none waits in the line of its kind; freed slots are
// offered to the two lines in turn.
// Invariants:
//   (1) At most `most` slots are taken, at most half of them by endpoints that are not healthy.
//   (2) A line is served in order.
// Thread safety: none. Cost: no allocation.
class SendSlots {
 public:
  explicit SendSlots(std::size_t most) noexcept : most_(most) {}

  [[nodiscard]] std::size_t free(bool healthy) const noexcept {
    const std::size_t all = most_ - std::min(used_[0] + used_[1], most_);
    if (healthy) return all;
    return std::min(all, most_ / 2 - std::min(used_[0], most_ / 2));
  }
  // REQUIRES: count <= free(healthy).
  void take(bool healthy, std::size_t count) noexcept { used_[index(healthy)] += count; }
  void give_back(bool healthy, std::size_t count) noexcept { used_[index(healthy)] -= count; }

  // No effect if it waits already. A worker that is destroyed leaves the line.
  void wait(EndpointWorker& worker, bool healthy) noexcept {
    if (!worker.is_linked()) lines_[index(healthy)].push_back(worker);
  }
  // The next one that may have a slot, taken out of its line; nullptr: none.
  [[nodiscard]] EndpointWorker* next() noexcept {
    for (int i = 0; i < 2; ++i) {
      const bool healthy = healthy_next_;
      healthy_next_ = !healthy_next_;
      Line& line = lines_[index(healthy)];
      if (line.empty() || free(healthy) == 0) continue;
      EndpointWorker& worker = line.front();
      line.pop_front();
      return &worker;
    }
    return nullptr;
  }

 private:
  using Line = boost::intrusive::list<EndpointWorker, boost::intrusive::constant_time_size<false>>;
  [[nodiscard]] static constexpr std::size_t index(bool healthy) noexcept {
    return healthy ? 1 : 0;
  }

  const std::size_t most_;
  std::array<std::size_t, 2> used_{};
  std::array<Line, 2> lines_;
  bool healthy_next_ = true;
};

}  // namespace damper::webhooks
