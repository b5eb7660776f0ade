#include "damper/proxy/request/access_log.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <mutex>
#include <string_view>

#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

constexpr Duration kFlushInterval = std::chrono::seconds(1);

void append_text(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (text.size() > kLongestText) text = text.substr(0, kLongestText);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {  // Bytes over 0x7f too: they need not be UTF-8.
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

void add_text(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out.append(",\"").append(name).append("\":\"");
  append_text(out, text);
  out += '"';
}

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + 20, number).ptr);
}

void add_number(std::string& out, std::string_view name, std::uint64_t number) {
  out.append(",\"").append(name).append("\":");
  append_number(out, number);
}

void append_padded(std::string& out, std::uint64_t number, std::size_t width) {
  std::array<char, 20> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + 20, number).ptr;
  const auto size = static_cast<std::size_t>(end - digits.data());
  if (size < width) out.append(width - size, '0');
  out.append(digits.data(), end);
}

void add_milliseconds(std::string& out, std::string_view name, Duration length) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, length.count() / 1000));
  add_number(out, name, us / 1000);
  out += '.';
  append_padded(out, us % 1000, 3);
}

void append_time(std::string& out, UnixTime now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::milliseconds>(now - day));
  const auto padded = [&](auto number, std::size_t width, char after) {
    append_padded(out, static_cast<std::uint64_t>(number), width);
    out += after;
  };
  padded(static_cast<int>(date.year()), 4, '-');
  padded(static_cast<unsigned>(date.month()), 2, '-');
  padded(static_cast<unsigned>(date.day()), 2, 'T');
  padded(time.hours().count(), 2, ':');
  padded(time.minutes().count(), 2, ':');
  padded(time.seconds().count(), 2, '.');
  padded(time.subseconds().count(), 3, 'Z');
}

bool is_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

void append_access_line(std::string& out, const AccessRecord& record, UnixTime now) {
  out += "{\"time\":\"";
  append_time(out, now);
  out += '"';
  add_text(out, "method", record.method);
  add_text(out, "path", record.target);
  add_text(out, "authority", record.authority);
  add_text(out, "route", record.route);
  add_text(out, "cluster", record.cluster);
  add_text(out, "replica", record.replica);
  if (record.status != 0) add_number(out, "status", static_cast<std::uint64_t>(record.status));
  if (record.verdict != Verdict::none) add_text(out, "verdict", name(record.verdict));
  add_number(out, "attempts", record.attempts);
  add_milliseconds(out, "duration_ms", record.took);
  if (record.upstream_head > Duration{0}) {
    add_milliseconds(out, "upstream_ms", record.upstream_head);
  }
  add_number(out, "bytes_in", record.bytes_in);
  add_number(out, "bytes_out", record.bytes_out);
  add_text(out, "traceparent", record.traceparent);
  add_text(out, "closed", http::name(record.ended));
  add_text(out, "client", record.client);
  add_text(out, "protocol", record.protocol);
  add_text(out, "user_agent", record.user_agent.substr(0, kLongestName));
  add_text(out, "request_id", record.request_id.substr(0, kLongestName));
  out += "}\n";
}

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
  write(record);
}

void AccessLogWriter::write(const AccessRecord& record) {
  if (!is_logged(mode_, record)) return;
  line_.clear();
  append_access_line(line_, record, run::wall_time());
  if (line_.size() > kBuffer - buffer_.size() || (!is_file_ && line_.size() > PIPE_BUF)) {
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
  // A line that was buffered for a file may be longer.
  if (const std::size_t end = buffer_.rfind('\n', size - 1); end != std::string::npos)
    size = end + 1;
  const ssize_t count = ::write(fd_, buffer_.data(), size);
  if (count > 0) buffer_.erase(0, static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace damper::proxy
