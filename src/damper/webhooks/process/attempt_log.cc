#include "damper/webhooks/process/attempt_log.h"

#include <array>
#include <chrono>
#include <ctime>

#include "damper/base/duration_text.h"
#include "damper/base/text/utf8.h"

namespace damper::webhooks {
namespace {

[[nodiscard]] std::string second_text(UnixTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 24> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace

std::string event_line(const DeliveryEvent& event, UnixTime now) {
  std::string line = second_text(now);
  const auto add = [&line](std::string_view name, std::string_view value) {
    line.append(" ").append(name).append("=").append(value);
  };
  line.append(" ").append(kDeliveryEventNames[event.kind]);
  if (event.message) add("message", id_text(kMessagePrefix, *event.message));
  if (event.endpoint) add("endpoint", id_text(kEndpointPrefix, *event.endpoint));
  if (event.attempt != 0) add("attempt", std::to_string(event.attempt));
  if (event.status != 0) add("status", std::to_string(event.status));
  if (event.kind == DeliveryEvent::Kind::first_attempt ||
      event.kind == DeliveryEvent::Kind::retry_attempt) {
    add("outcome", decide::name(event.outcome));
  }
  if (!event.text.empty()) add("text", text::json_string(event.text));
  if (event.next) {
    add("next", format_duration(std::chrono::floor<std::chrono::milliseconds>(*event.next)));
  }
  if (!event.traceparent.empty()) add("traceparent", event.traceparent);
  line.append("\n");
  return line;
}

std::string log_line(UnixTime now, std::string_view word, std::string_view rest) {
  std::string line = second_text(now);
  line.append(" ").append(word).append(" ").append(rest).append("\n");
  return line;
}

}  // namespace damper::webhooks
