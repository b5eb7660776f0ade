#ifndef DAMPER_HTTP_CODEC_WATCH_H_
#define DAMPER_HTTP_CODEC_WATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "damper/base/instant.h"

namespace damper::http {

// A Watch measures how long something has stood still.
//
// Why: a codec hears the time when bytes come or go, and not when a user calls it in between. What
// begins then has begun at some time after the last one that was heard: counting from there would
// run out too early.
// Model: begin(now, exact). When a watch that is not exact would have run out, it begins anew, now:
// nothing runs out early, and nothing lasts longer than twice its time.
class Watch {
 public:
  void begin(Instant now, bool exact) noexcept {
    since_ = now;
    exact_ = exact;
    running_ = true;
  }
  void stop() noexcept { running_ = false; }
  [[nodiscard]] bool is_running() const noexcept { return running_; }
  [[nodiscard]] Instant since() const noexcept { return since_; }
  [[nodiscard]] Instant due(Duration limit) const noexcept {
    return running_ ? add(since_, limit) : kNever;
  }
  [[nodiscard]] bool has_run_out(Instant now, Duration limit) noexcept {
    if (!running_ || now < due(limit)) return false;
    if (exact_) return true;
    begin(now, true);
    return false;
  }

 private:
  Instant since_{};
  bool exact_ = true;
  bool running_ = false;
};

// A Pace bounds the time of a whole: without it, a byte now and then would hold a connection for
// ever.
//
// Model: it runs out after its limit, and a second later for each KiB that was moved: who is as
// fast as that may go on for days, who drips may not. A limit of 0 is none.
class Pace {
 public:
  void begin(Instant now, bool exact) noexcept {
    watch_.begin(now, exact);
    bytes_ = 0;
  }
  void add(std::size_t bytes) noexcept { bytes_ += bytes; }
  void stop() noexcept { watch_.stop(); }
  [[nodiscard]] Instant due(Duration limit) const noexcept {
    return limit == Duration{0} ? kNever : watch_.due(extended(limit));
  }
  [[nodiscard]] bool has_run_out(Instant now, Duration limit) noexcept {
    return limit != Duration{0} && watch_.has_run_out(now, extended(limit));
  }

 private:
  [[nodiscard]] Duration extended(Duration limit) const noexcept {
    constexpr std::uint64_t kMost = kLongest / std::chrono::seconds(1);
    return limit + std::chrono::seconds(std::min(bytes_ / 1024, kMost));
  }

  Watch watch_;
  std::uint64_t bytes_ = 0;  // since it began
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_WATCH_H_
