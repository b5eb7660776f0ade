#include "damper/observe/transition_log.h"

#include <utility>

#include "damper/base/check.h"

namespace damper::observe {

std::optional<std::string> find_error(const TransitionLogOptions& options) {
  return BoundsCheck()
      .field("most_per_second", options.most_per_second, options.kMostPerSecond)
      .error();
}

TransitionLog::TransitionLog(Writer writer, const TransitionLogOptions& options,
                             WallClock wall_clock)
    : writer_(std::move(writer)), options_(options), wall_clock_(std::move(wall_clock)) {
  DAMPER_CHECK(writer_ && wall_clock_);
  DAMPER_CHECK_VALID(find_error(options));
  line_.reserve(kLongestLine);
}

TransitionLog::~TransitionLog() { flush(); }

void TransitionLog::on_event(const engine::Event& event) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const Time now = wall_clock_();
    const auto second = std::chrono::floor<std::chrono::seconds>(now);
    if (second != second_) {
      second_ = second;
      lines_ = 0;
    }
    if (lines_ >= options_.most_per_second) {
      ++unsaid_;
      suppressed_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    ++lines_;
    say_suppressed(now);
    line_.clear();
    append_event(line_, options_.format, event, now);
    line_ += '\n';
    writer_(line_);
  } catch (...) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

void TransitionLog::flush() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    say_suppressed(wall_clock_());
  } catch (...) {  // It will be said later: unsaid_ stands.
  }
}

void TransitionLog::say_suppressed(Time now) {
  if (unsaid_ == 0) return;
  line_.clear();
  append_suppressed(line_, options_.format, unsaid_, now);
  line_ += '\n';
  writer_(line_);
  unsaid_ = 0;
}

}  // namespace damper::observe
