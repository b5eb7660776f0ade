#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/admit/token_bucket.h"
#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/base/verdict.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/log/access_line.h"

namespace damper::proxy {

// An AccessSink gets the record of every request: the access log, the metrics. Called on the loop's
// thread.
class AccessSink {
 public:
  virtual void on_request_over(const AccessRecord& record) noexcept = 0;
  // A request that the codec has refused: it has no method, route or verdict.
  virtual void on_request_refused(const AccessRecord& /*record*/) noexcept {}

 protected:
  ~AccessSink() = default;
};

// Whether `mode` logs the request. A failure is an answer of the proxy itself, a status of 500 or
// above, or an incomplete response.
[[nodiscard]] bool is_logged(AccessLog mode, const AccessRecord& record) noexcept;

// An AccessLogWriter writes the access log of one loop.
//
// Why: a line written at once costs a system call for each request, and a log that blocks delays
// the traffic.
// Model: lines are gathered in a buffer, which is written at the end of the turn in which it
// becomes half full, or a second after its first line. While a descriptor accepts nothing (a full
// pipe, a full disk), lines that do not fit into the buffer are dropped and counted. Writes to a
// file are atomic, so that several loops can share one that was opened with O_APPEND. A pipe or a
// terminal, which may be blocking, is polled before each write, one loop at a time, and gets
// complete lines of at most PIPE_BUF bytes together, which other loops' lines cannot split. A line
// is never longer (kLongestLine).
// Invariants:
//   (1) At most kBuffer bytes are buffered.
//   (2) Every line is written, or counted as dropped or suppressed.
//   (3) Of connections that end before they have a protocol (failed handshakes), which cost a
//       client little, at most kConnections lines a second are written; the rest is suppressed.
// Thread safety: none; one loop, except for lines() and dropped() and suppressed().
// Cost: no allocation after construction.
class AccessLogWriter final : public AccessSink,
                              private http::Loop::Timer,
                              private http::Loop::TurnEnd {
 public:
  static constexpr std::size_t kBuffer = std::size_t{256} * 1024;
  static constexpr admit::TokenBucketOptions kConnections{.rate_per_second = 10, .burst = 50};

  // The descriptor outlives it. `next` gets every record too; nullptr: none.
  AccessLogWriter(http::Loop& loop, int fd, AccessLog mode, AccessSink* next = nullptr);
  ~AccessLogWriter() override;

  void on_request_over(const AccessRecord& record) noexcept override;
  void on_request_refused(const AccessRecord& record) noexcept override;
  void set_mode(AccessLog mode) noexcept { mode_ = mode; }
  void set_layout(const AccessLayout& layout) noexcept { layout_ = layout; }
  // After a rotation: writes to `descriptor` from now on. Buffered lines are written to the old
  // one.
  void use(int fd);

  [[nodiscard]] std::uint64_t lines() const noexcept {
    return lines_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t suppressed() const noexcept {
    return suppressed_.load(std::memory_order_relaxed);
  }

 private:
  void on_timer(Instant now) override;
  void on_turn_end() override { flush(); }
  void write(const AccessRecord& record);
  void flush();
  [[nodiscard]] bool try_write_lines();

  int fd_;
  bool is_file_;
  AccessLog mode_;
  AccessLayout layout_{};
  AccessSink* const next_;
  std::string buffer_;
  std::string line_;
  std::atomic<std::uint64_t> lines_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> suppressed_{0};
  admit::TokenBucket connections_{kConnections};
};

}  // namespace damper::proxy
