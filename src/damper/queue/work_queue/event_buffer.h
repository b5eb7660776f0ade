#pragma once

#include <string>
#include <vector>

#include "damper/engine/event.h"

namespace damper::queue {

// An EventBuffer stores events, with the text that they refer to, until they can be dispatched: a
// sink is the user's code and must not run under a lock.
// Thread safety: none.
class EventBuffer final : public engine::EventSink {
 public:
  struct Kept {
    engine::Event event;
    std::string key;
    std::string detail;
  };

  void on_event(const engine::Event& event) noexcept override;

  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  // Removes and returns the stored events.
  [[nodiscard]] std::vector<Kept> take() noexcept;

 private:
  std::vector<Kept> kept_;
};

// Calls the sink for each event, in order.
void dispatch(engine::EventSink& sink, std::vector<EventBuffer::Kept> events) noexcept;

}  // namespace damper::queue
