#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "damper/base/unix_time.h"
#include "damper/webhooks/dispatch/dispatcher.h"
#include "damper/webhooks/process/serve_options.h"

namespace damper::webhooks {

// One line for a DeliveryEvent. It begins with the second, so that
//   grep retry_attempt dispatcher.log | awk '{print $1}' | uniq -c
// shows how many retries there were in each second:
//   2026-11-15T02:13:07Z retry_attempt message=msg_.. endpoint=ep_.. attempt=2 status=503 ...
[[nodiscard]] std::string event_line(const DeliveryEvent& event, UnixTime now);

// A line of the log that is not of an event: the second, a word, and the rest.
[[nodiscard]] std::string log_line(UnixTime now, std::string_view word, std::string_view rest);

// Whether the line is written.
[[nodiscard]] constexpr bool is_logged(const DeliveryEvent& event,
                                       AttemptLogging attempts) noexcept {
  using Kind = DeliveryEvent::Kind;
  if (event.kind != Kind::first_attempt && event.kind != Kind::retry_attempt) return true;
  if (attempts != AttemptLogging::failures) return attempts == AttemptLogging::all;
  return event.kind == Kind::retry_attempt || event.outcome != decide::Outcome::success;
}

}  // namespace damper::webhooks
