#include "damper/proxy/log/access_log.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <mutex>
#include <string_view>

#include "damper/proxy/log/access_line.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

static_assert(kLongestLine <= PIPE_BUF);
constexpr Duration kFlushInterval = std::chrono::seconds(1);

bool is_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

bool is_logged(AccessLog mode, const AccessRecord& record) noexcept {
  switch (mode) {
    case AccessLog::off: return false;
    case AccessLog::all: return true;
    case AccessLog::failures: break;
  }
  const bool good = record.verdict == Verdict::success || record.verdict == Verdict::permanent ||
                    record.verdict == Verdict::conflict;
  return !good || record.status >= 500 || record.ended != http::CloseReason::finished;
}

AccessLogWriter::AccessLogWriter(http::Loop& loop, int fd, AccessLog mode, AccessSink* next)
    : Timer(loop), TurnEnd(loop), fd_(fd), is_file_(is_file(fd)), mode_(mode), next_(next) {
  buffer_.reserve(kBuffer);
}

AccessLogWriter::~AccessLogWriter() { flush(); }

void AccessLogWriter::on_request_over(const AccessRecord& record) noexcept {
  if (next_ != nullptr) next_->on_request_over(record);
  write(record);
}

void AccessLogWriter::on_request_refused(const AccessRecord& record) noexcept {
  if (next_ != nullptr) next_->on_request_refused(record);
  if (record.protocol.empty() && mode_ != AccessLog::off &&
      !connections_.try_take(Timer::loop().now())) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  write(record);
}

void AccessLogWriter::write(const AccessRecord& record) {
  if (!is_logged(mode_, record)) return;
  line_.clear();
  append_access_line(line_, record, layout_, run::wall_time());
  if (line_.size() > kBuffer - buffer_.size()) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (buffer_.empty()) arm(add(loop().now(), kFlushInterval));
  buffer_ += line_;
  lines_.fetch_add(1, std::memory_order_relaxed);
  if (buffer_.size() > kBuffer / 2) ask_turn_end();
}

void AccessLogWriter::use(int fd) {
  flush();
  fd_ = fd;
  is_file_ = is_file(fd);
}

void AccessLogWriter::on_timer(Instant now) {
  flush();
  if (!buffer_.empty()) arm(add(now, kFlushInterval));
}

void AccessLogWriter::flush() {
  if (buffer_.empty()) return;
  if (is_file_) {
    const ssize_t count = ::write(fd_, buffer_.data(), buffer_.size());
    if (count > 0) buffer_.erase(0, static_cast<std::size_t>(count));
    return;
  }
  // The poll is valid for the next write only.
  static std::mutex one_loop_at_a_time;
  const std::lock_guard lock(one_loop_at_a_time);
  while (!buffer_.empty() && try_write_lines()) {
  }
}

// A writable pipe takes PIPE_BUF bytes atomically, without blocking.
bool AccessLogWriter::try_write_lines() {
  pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
  std::size_t size = std::min<std::size_t>(buffer_.size(), PIPE_BUF);
  size = buffer_.rfind('\n', size - 1) + 1;  // There is one: see kLongestLine.
  const ssize_t count = ::write(fd_, buffer_.data(), size);
  if (count > 0) buffer_.erase(0, static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace damper::proxy
