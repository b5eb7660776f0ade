#ifndef DAMPER_PROXY_REQUEST_ACCESS_LOG_H_
#define DAMPER_PROXY_REQUEST_ACCESS_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "damper/base/unix_time.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/request/access_record.h"

namespace damper::proxy {

// Appends one line of JSON, newline and all: what the log says of a request.
//
//   {"time":"2026-11-15T18:01:04.123Z","method":"GET","path":"/x","authority":"shop.example",
//    "route":"shop","cluster":"shops","replica":"10.0.0.1:9000","status":503,
//    "verdict":"budget_spent","attempts":1,"duration_ms":12.345,"upstream_ms":11.000,
//    "bytes_in":0,"bytes_out":21,"traceparent":"00-...","closed":"finished"}
//
// What is empty is left out. Texts are escaped: whatever a client sends, a line is a line; each is
// cut at kLongestText bytes.
inline constexpr std::size_t kLongestText = 1024;
void append_access_line(std::string& out, const AccessRecord& record, UnixTime now);

// Whether a mode has a line for it. A failure: an answer of ours, a status from 500 on, or an
// answer that is not whole.
[[nodiscard]] bool is_logged(AccessLog mode, const AccessRecord& record) noexcept;

// An AccessLogWriter writes the access log of one loop.
//
// Why: a line for each request, written at once, is a system call for each request; a log that
// blocks holds up the traffic.
// Model: lines gather in a buffer, which is written when it is half full, at the end of that turn,
// or a second after its first line. A descriptor that takes nothing (a full pipe, a full disk)
// costs the lines that do not fit into the buffer: they are counted. A file takes a write as a
// whole, so that several loops can share one that was opened with O_APPEND. Anything else (a pipe,
// a terminal; standard output is what it is, and mostly blocking) is written only when it takes it
// at once: asked before each write, one loop at a time, whole lines of PIPE_BUF bytes together at
// most. A line that is longer than that is dropped there: in parts it could mix with another's.
// Invariants:
//   (1) At most kBuffer bytes wait.
//   (2) Every line is written or counted as dropped.
// Thread safety: none; one loop, but for lines() and dropped().
// Cost: no allocation after construction.
class AccessLogWriter final : public AccessSink,
                              private http::Loop::Timer,
                              private http::Loop::TurnEnd {
 public:
  static constexpr std::size_t kBuffer = std::size_t{256} * 1024;

  // The descriptor outlives it. `next` is told of every request, too; nullptr: nobody.
  AccessLogWriter(http::Loop& loop, int fd, AccessLog mode, AccessSink* next = nullptr);
  AccessLogWriter(const AccessLogWriter&) = delete;
  AccessLogWriter& operator=(const AccessLogWriter&) = delete;
  ~AccessLogWriter() override;

  void on_request_over(const AccessRecord& record) noexcept override;
  void set_mode(AccessLog mode) noexcept { mode_ = mode; }
  // After a rotation: from now on to this one. What waits is written to the old one first.
  void use(int fd);

  [[nodiscard]] std::uint64_t lines() const noexcept {
    return lines_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  void on_timer(Instant now) override;
  void on_turn_end() override { flush(); }
  void flush();
  [[nodiscard]] bool try_write_lines();

  int fd_;
  bool is_file_;
  AccessLog mode_;
  AccessSink* const next_;
  std::string buffer_;
  std::string line_;
  std::atomic<std::uint64_t> lines_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_ACCESS_LOG_H_
