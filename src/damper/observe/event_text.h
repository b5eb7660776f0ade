#ifndef DAMPER_OBSERVE_EVENT_TEXT_H_
#define DAMPER_OBSERVE_EVENT_TEXT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "damper/base/instant.h"
#include "damper/engine/event.h"

namespace damper::observe {

enum class LogFormat : std::uint8_t { logfmt, json };

// Transitions as one line each, for a log and for whoever follows them:
//   time=2026-11-15T02:13:07.123Z event=breaker_opened key=billing length=1.5s
//   {"time":"2026-11-15T02:13:07.123Z","event":"breaker_opened","key":"billing","length":"1.5s"}
//
// Model: fields are time, event, key, count, length, detail, in this order; those that say nothing
// (0, empty) are left out. In logfmt a value is quoted when it has to be. `length` is rounded to
// about six digits, `forever` when it has no end.
// Invariants:
//   (1) What is appended is one line without its line feed, without control characters, in UTF-8,
//       of less than kLongestEventText bytes, whatever the event holds.
inline constexpr std::size_t kLongestEventText = 1024;
using WallTime = std::chrono::system_clock::time_point;

void append_event(std::string& out, LogFormat format, const engine::Event& event, WallTime time);
// So many events were left out: event=log_suppressed count=..
void append_suppressed(std::string& out, LogFormat format, std::uint64_t count, WallTime time);

// A length as a line shows it.
[[nodiscard]] std::string format_length(Duration length);

}  // namespace damper::observe

#endif  // DAMPER_OBSERVE_EVENT_TEXT_H_
