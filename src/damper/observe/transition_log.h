#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/bounds.h"
#include "damper/engine/event.h"
#include "damper/observe/event_text.h"

namespace damper::observe {

struct TransitionLogOptions {
  LogFormat format = LogFormat::logfmt;
  static constexpr Range<std::int32_t> kMostPerSecond{1, 10'000};

  std::int32_t most_per_second = 100;  // lines
};

// The first invalid field, with its value and bound; nothing when the options are valid.
[[nodiscard]] std::optional<std::string> find_error(const TransitionLogOptions& options);

// A TransitionLog writes one line for each transition, for an operator at 02:13.
//   time=2026-11-15T02:13:07.123Z event=breaker_opened key=billing length=1.5s
//   {"time":"2026-11-15T02:13:07.123Z","event":"breaker_opened","key":"billing","length":"1.5s"}
//
// Why: a line for each failed request is a second storm, and buries the one that matters. An
// engine::Event is a transition already; should there be a storm of those, this has a limit too.
// Model: the line is that of event_text.h; `time` is the wall clock's when it is written.
// Invariants:
//   (1) One event is at most one line, without control characters, in UTF-8, of at most
//       kLongestLine bytes, whatever the event holds.
//   (2) In one second of the wall clock at most most_per_second events are written. The others
//       are counted, and the next line in a later second, or flush(), is preceded by the line
//       `event=log_suppressed count=..`.
//   (3) Every event is either written, or counted in suppressed() or dropped().
// Thread safety: all methods may be called concurrently. Lines are written one at a time, in the
// order of their times.
// Cost: one lock and one call of the writer for a line. No allocation but the writer's.
class TransitionLog final : public engine::EventSink {
 public:
  // Takes one line, its line feed included. It is called by the thread that caused the event, so it
  // must not wait; by one thread at a time; and it must not cause an event of this log. An
  // exception means that the line is lost. See log_writers.h for a descriptor or a file.
  using Writer = std::function<void(std::string_view line)>;
  using WallClock = std::function<std::chrono::system_clock::time_point()>;

  static constexpr std::size_t kLongestLine = kLongestEventText;

  // REQUIRES: !find_error(options).
  explicit TransitionLog(Writer writer, const TransitionLogOptions& options = {},
                         WallClock wall_clock = std::chrono::system_clock::now);
  TransitionLog(const TransitionLog&) = delete;
  TransitionLog& operator=(const TransitionLog&) = delete;
  ~TransitionLog();  // Flushes.

  void on_event(const engine::Event& event) noexcept override;

  // Writes the count of suppressed events that was not written yet.
  void flush() noexcept;

  // How many events were not written because there were too many; because the writer failed.
  [[nodiscard]] std::uint64_t suppressed() const noexcept {
    return suppressed_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  using Time = std::chrono::system_clock::time_point;

  void say_suppressed(Time now);

  const Writer writer_;
  const TransitionLogOptions options_;
  const WallClock wall_clock_;
  std::mutex mutex_;
  std::chrono::sys_seconds second_{};  // which second `lines_` are of
  std::int32_t lines_ = 0;
  std::uint64_t unsaid_ = 0;  // suppressed, and not yet in a line
  std::string line_;          // has room for kLongestLine
  std::atomic<std::uint64_t> suppressed_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace damper::observe
