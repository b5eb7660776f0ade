#ifndef DAMPER_QUEUE_WORK_QUEUE_EVENT_BUFFER_H_
#define DAMPER_QUEUE_WORK_QUEUE_EVENT_BUFFER_H_

#include <string>
#include <vector>

#include "damper/engine/event.h"

namespace damper::queue {

// An EventBuffer keeps events, with the text that they refer to, until they can be passed on: a
// sink is the user's code, and must not run under a lock.
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
  // What has come since the last time.
  [[nodiscard]] std::vector<Kept> take() noexcept;

 private:
  std::vector<Kept> kept_;
};

// Tells the sink, in order.
void tell(engine::EventSink& sink, std::vector<EventBuffer::Kept> events) noexcept;

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_EVENT_BUFFER_H_
