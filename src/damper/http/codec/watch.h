#ifndef DAMPER_HTTP_CODEC_WATCH_H_
#define DAMPER_HTTP_CODEC_WATCH_H_

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

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_WATCH_H_
