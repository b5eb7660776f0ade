#include "damper/queue/work_queue/event_buffer.h"

#include <new>
#include <utility>

namespace damper::queue {

void EventBuffer::on_event(const engine::Event& event) noexcept {
  try {
    kept_.push_back({event, std::string(event.key), std::string(event.detail)});
  } catch (const std::bad_alloc&) {  // One event is lost; the work continues.
  }
}

std::vector<EventBuffer::Kept> EventBuffer::take() noexcept { return std::exchange(kept_, {}); }

void dispatch(engine::EventSink& sink, std::vector<EventBuffer::Kept> events) noexcept {
  for (EventBuffer::Kept& kept : events) {
    kept.event.key = kept.key;
    kept.event.detail = kept.detail;
    sink.on_event(kept.event);
  }
}

}  // namespace damper::queue
