#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/stall_timer.h"

namespace damper::http {

// An OutputBuffer is a codec's unsent bytes, and the write timeouts of a peer that does not read
// them.
//
// Invariants:
//   (1) The timers run exactly while bytes are unsent, from the first on_appended() on.
//   (2) An empty buffer has a capacity of at most `kept_bytes`.
class OutputBuffer {
 public:
  explicit OutputBuffer(std::size_t kept_bytes) noexcept : kept_bytes_(kept_bytes) {}

  // To append to; then on_appended().
  [[nodiscard]] std::string& bytes() noexcept { return bytes_; }
  void on_appended(const CallClock& clock) noexcept {
    if (size() == 0 || stall_.is_running()) return;
    stall_.begin(clock);
    rate_.begin(clock);
  }
  void on_sent(std::size_t bytes, Instant now) {
    DAMPER_CHECK(bytes <= size());
    sent_ += bytes;
    rate_.add(bytes);
    if (size() == 0) {
      clear();
    } else if (bytes > 0 || !stall_.is_running()) {
      stall_.begin(now);
    }
  }
  // Moves the unsent bytes to the front if more than `most` before them are sent.
  void compact(std::size_t most) {
    if (sent_ > most) bytes_.erase(0, std::exchange(sent_, 0));
  }
  void clear() noexcept {
    if (bytes_.capacity() > kept_bytes_) {
      std::string().swap(bytes_);
    } else {
      bytes_.clear();
    }
    sent_ = 0;
    stall_.stop();
    rate_.stop();
  }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() - sent_; }
  [[nodiscard]] std::string_view unsent() const noexcept {
    return std::string_view(bytes_).substr(sent_);
  }
  [[nodiscard]] Instant deadline(const ConnectionLimits& limits) const noexcept {
    return std::min(stall_.due(limits.write_timeout), rate_.due(limits.message_timeout));
  }
  [[nodiscard]] bool has_expired(Instant now, const ConnectionLimits& limits) noexcept {
    return stall_.has_expired(now, limits.write_timeout) ||
           rate_.has_expired(now, limits.message_timeout);
  }

 private:
  const std::size_t kept_bytes_;
  std::string bytes_;
  std::size_t sent_ = 0;  // of bytes_, at the front
  StallTimer stall_;
  MinRateTimer rate_;  // since the buffer was empty
};

}  // namespace damper::http
