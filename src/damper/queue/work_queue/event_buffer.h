#pragma once

#include <new>
#include <string>
#include <utility>
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

  void on_event(const engine::Event& event) noexcept override {
    try {
      kept_.push_back({event, std::string(event.key), std::string(event.detail)});
    } catch (const std::bad_alloc&) {  // One event is lost; the work continues.
    }
  }

  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  // Removes and returns the stored events.
  [[nodiscard]] std::vector<Kept> take() noexcept { return std::exchange(kept_, {}); }

 private:
  std::vector<Kept> kept_;
};

// Calls the sink for each event, in order.
inline void dispatch(engine::EventSink& sink, std::vector<EventBuffer::Kept> events) noexcept {
  for (EventBuffer::Kept& kept : events) {
    kept.event.key = kept.key;
    kept.event.detail = kept.detail;
    sink.on_event(kept.event);
  }
}

}  // namespace damper::queue
