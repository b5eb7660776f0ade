#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/instant.h"
#include "damper/engine/event.h"
#include "damper/observe/process_event.h"

namespace damper::proxy {

// A DescriptorWatch reports when the process has no file descriptors left for connections, and when
// it has some again: one event each, not one a connection.
//
// Model: look() gets the count of connections that found none (http::out_of_descriptors_count()),
// once in kEvery. A count that has grown begins a shortage; kQuiet without growth ends it.
// Thread safety: none.
class DescriptorWatch {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(1);
  static constexpr Duration kQuiet = std::chrono::seconds(10);

  // `events` outlives it.
  explicit DescriptorWatch(engine::EventSink& events) noexcept : events_(events) {}

  void look(std::uint64_t count, Instant now) {
    if (count != seen_) {
      last_ = now;
      if (!since_) {
        since_ = now;
        const std::string detail =
            "no file descriptor is left for connections: see the limit of the process (ulimit -n)";
        emit(observe::ProcessEvent::out_of_descriptors, now, {}, detail);
      }
      seen_ = count;
    } else if (since_ && between(last_, now) >= kQuiet) {
      emit(observe::ProcessEvent::descriptors_restored, now, between(*since_, last_), {});
      since_.reset();
    }
  }

 private:
  void emit(observe::ProcessEvent kind, Instant now, Duration length, const std::string& detail) {
    events_.on_event({.kind = kind, .key = "proxy", .at = now, .length = length, .detail = detail});
  }

  engine::EventSink& events_;
  std::uint64_t seen_ = 0;
  std::optional<Instant> since_;  // of the shortage
  Instant last_{};                // when the count grew
};

}  // namespace damper::proxy
