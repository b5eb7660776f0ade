#include "damper/lab/world/network.h"

namespace damper::lab {

Handle Network::send(const Message& message) {
  const Handle handle = messages_.insert(message);
  travel(handle, *messages_.find(handle), Leg::request);
  return handle;
}

void Network::travel(Handle handle, Message& message, Leg leg) {
  const bool returns = leg == Leg::answer || leg == Leg::write_answer;
  message.stage = returns ? Message::Stage::returns : Message::Stage::travels;
  const ServiceSpec& spec = sim_.scenario.services[message.service];
  const std::uint64_t draw = (std::uint64_t{message.attempt} << 3 | static_cast<std::uint64_t>(leg))
                             << 1;
  if (spec.loss > 0 && sim_.streams.draw(Purpose::network, message.number, draw | 1) < spec.loss) {
    return messages_.erase(handle);
  }
  const Duration takes =
      spec.network.sample(sim_.streams.draw(Purpose::network, message.number, draw));
  const EventKind::Word kind = returns ? EventKind::answer : EventKind::deliver;
  message.timer = sim_.queue.schedule(add(sim_.now(), takes), {kind, handle.index, handle.word()});
}

Message* Network::on_arrival(Handle handle, EventKind::Word kind) {
  Message* const message = messages_.find(handle);
  if (!sim_.faults.any()) return message;
  const Instant passes = sim_.faults.passes_at(message->service, message->replica, sim_.now());
  if (passes <= sim_.now()) return message;
  if (passes == kNever) {
    messages_.erase(handle);
  } else {
    sim_.queue.schedule(passes, {kind, handle.index, handle.word()});
  }
  return nullptr;
}

}  // namespace damper::lab
