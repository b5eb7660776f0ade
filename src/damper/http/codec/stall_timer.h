#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "damper/base/instant.h"

namespace damper::http {

// A CallClock is a codec's time: that of the last call into the codec which passed one. It also
// counts the calls on the stack, to detect re-entrancy.
//
// Why: receive(), sent() and on_timer() pass the time; a user's send_data() between them does not,
// and the codec reads no clock.
class CallClock {
 public:
  // A call into the codec, for as long as it is on the stack.
  class Call {
   public:
    Call(CallClock& clock, Instant now) noexcept : clock_(clock) {
      ++clock_.depth_;
      clock_.now_ = now;
      clock_.has_passed_ = true;
    }
    // Without a time: it is later than now().
    explicit Call(CallClock& clock) noexcept : clock_(clock) {
      if (clock_.depth_++ == 0) clock_.has_passed_ = false;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { --clock_.depth_; }

   private:
    CallClock& clock_;
  };

  explicit CallClock(Instant now) noexcept : now_(now) {}
  [[nodiscard]] Instant now() const noexcept { return now_; }
  // Whether now() is the time of the call on the stack, not of an earlier one.
  [[nodiscard]] bool is_exact() const noexcept { return has_passed_ && depth_ > 0; }
  [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }
  // Sets the time outside of a call.
  void set(Instant now) noexcept { now_ = now; }

 private:
  Instant now_;
  std::uint32_t depth_ = 0;  // calls on the stack
  bool has_passed_ = true;   // the outermost call, or one inside of it, has passed the time
};

// A StallTimer measures how long there has been no progress.
//
// Model: begin() starts it at the clock's time. If that is not exact, the timer starts again, once,
// when it would expire: so it never expires early, and at the latest after twice its limit.
class StallTimer {
 public:
  void begin(Instant now, bool exact = true) noexcept {
    since_ = now;
    is_exact_ = exact;
    running_ = true;
  }
  void begin(const CallClock& clock) noexcept { begin(clock.now(), clock.is_exact()); }
  void stop() noexcept { running_ = false; }
  [[nodiscard]] bool is_running() const noexcept { return running_; }
  [[nodiscard]] Instant due(Duration limit) const noexcept {
    return running_ ? add(since_, limit) : kNever;
  }
  [[nodiscard]] bool has_expired(Instant now, Duration limit) noexcept {
    if (!running_ || now < due(limit)) return false;
    if (is_exact_) return true;
    begin(now);
    return false;
  }

 private:
  Instant since_{};
  bool is_exact_ = true;
  bool running_ = false;
};

// A MinRateTimer bounds the time of a whole transfer: a slow-loris peer that sends or reads a byte
// now and then never stalls, but expires here.
//
// Model: it expires after its limit, extended by a second for each KiB transferred. A limit of 0
// disables it.
class MinRateTimer {
 public:
  void begin(Instant now, bool exact = true) noexcept {
    timer_.begin(now, exact);
    bytes_ = 0;
  }
  void begin(const CallClock& clock) noexcept { begin(clock.now(), clock.is_exact()); }
  void add(std::size_t bytes) noexcept { bytes_ += bytes; }
  void stop() noexcept { timer_.stop(); }
  [[nodiscard]] Instant due(Duration limit) const noexcept {
    return limit == Duration{0} ? kNever : timer_.due(extended(limit));
  }
  [[nodiscard]] bool has_expired(Instant now, Duration limit) noexcept {
    return limit != Duration{0} && timer_.has_expired(now, extended(limit));
  }

 private:
  [[nodiscard]] Duration extended(Duration limit) const noexcept {
    constexpr std::uint64_t kMost = kLongest / std::chrono::seconds(1);
    return limit + std::chrono::seconds(std::min(bytes_ / 1024, kMost));
  }

  StallTimer timer_;
  std::uint64_t bytes_ = 0;  // since begin()
};

}  // namespace damper::http
