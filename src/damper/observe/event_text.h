#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "damper/base/instant.h"
#include "damper/engine/event.h"

namespace damper::observe {

enum class LogFormat : std::uint8_t { logfmt, json };

// An event as one line of text, for a log and for the event stream:
//   time=2026-11-15T02:13:07.123Z event=breaker_opened key=billing length=1.5s
//   {"time":"2026-11-15T02:13:07.123Z","event":"breaker_opened","key":"billing","length":"1.5s"}
//
// Model: the fields are time, event, key, count, length, detail, in this order; 0 and empty values
// are left out. In logfmt a value is quoted if it needs quotes. `length` is rounded to about six
// digits; it is `forever` without an end.
// Invariants:
//   (1) The appended text is one line without a line feed or control characters, valid UTF-8, and
//       shorter than kLongestEventText bytes, for every event.
inline constexpr std::size_t kLongestEventText = 1024;
using WallTime = std::chrono::system_clock::time_point;

void append_event(std::string& out, LogFormat format, const engine::Event& event, WallTime time);
// `count` events were left out: event=log_suppressed count=..
void append_suppressed(std::string& out, LogFormat format, std::uint64_t count, WallTime time);

// A duration in the format of `length`.
[[nodiscard]] std::string format_length(Duration length);

}  // namespace damper::observe
