#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"
#include "damper/http/codec/head.h"

namespace damper::proxy {

// A KeptHead is a copy of a head, or of trailers, that outlives the call it was passed in.
//
// Why: a proxy keeps the head of each request, since a retry writes it again. One reused string
// costs a copy; a string for each field would cost an allocation each.
// Model: all text of the head in one string, and the same views over it.
// Invariants:
//   (1) head() is valid until the next keep() or clear().
//   (2) clear() frees memory of more than kKeptBytes.
// Thread safety: none. Cost: no allocation once it has held a head as large.
class KeptHead {
 public:
  static constexpr std::size_t kKeptBytes = std::size_t{8} * 1024;

  KeptHead() = default;
  KeptHead(const KeptHead&) = delete;
  KeptHead& operator=(const KeptHead&) = delete;

  void keep(const http::Head& head) {
    std::size_t size = head.method.size() + head.scheme.size() + head.authority.size() +
                       head.target.size() + head.upgrade.size();
    for (const http::Field& field : head.fields) size += field.name.size() + field.value.size();
    text_.resize(size);
    char* at = text_.data();
    const auto copy = [&at](std::string_view from) {
      if (!from.empty()) std::memcpy(at, from.data(), from.size());
      const std::string_view kept(at, from.size());
      at += from.size();
      return kept;
    };
    head_.method = copy(head.method);
    head_.scheme = copy(head.scheme);
    head_.authority = copy(head.authority);
    head_.target = copy(head.target);
    head_.upgrade = copy(head.upgrade);
    fields_.resize(head.fields.size());
    http::Field* kept = fields_.data();
    for (const http::Field& field : head.fields) {
      kept->name = copy(field.name);
      kept->value = copy(field.value);
      kept->validated = field.validated;
      ++kept;
    }
    head_.fields = fields_;
    head_.status = head.status;
    head_.content_length = head.content_length;
  }
  void keep(std::span<const http::Field> trailers) { keep(http::Head{.fields = trailers}); }
  void clear() noexcept {
    head_ = {};
    fields_.clear();
    if (text_.capacity() <= kKeptBytes) return text_.clear();
    std::string().swap(text_);
    std::vector<http::Field>().swap(fields_);
  }
  [[nodiscard]] const http::Head& head() const noexcept { return head_; }
  // In bytes of memory.
  [[nodiscard]] std::size_t size() const noexcept {
    return text_.size() + fields_.size() * sizeof(http::Field);
  }

 private:
  std::string text_;
  std::vector<http::Field> fields_;
  http::Head head_;
};

// A KeptBody is the part of a request's body that was received, kept so that it can be sent again.
//
// Why: a proxy that keeps nothing cannot retry a request with a body; one that keeps everything has
// no bound on its memory. One that drops a body over its bound at once does not even retry a failed
// connect (trap P1).
// Model: bytes have an offset in the body, from 0. Those from begin() to end() are kept. Each
// attempt has taken them up to an offset of its own. While at most `bound` bytes were received all
// are kept, and an attempt can start at 0. Bytes beyond the bound are not consumed, so that the
// client stops sending, until the attempts have taken those before it: these are dropped then, and
// from then on every byte that is taken. While nothing is taken nothing is dropped, and the client
// waits.
// Invariants:
//   (1) size() <= bound + the window of the client's connection.
//   (2) begin() > 0 only if more than `bound` bytes were received, or after stop_keeping().
//   (3) Every received byte is consumed once, by try_consume().
// Thread safety: none. Cost: no allocation once it has held as much, up to kKeptBytes.
class KeptBody {
 public:
  static constexpr std::size_t kKeptBytes = std::size_t{4} * 1024;

  // For a new request.
  void begin(std::size_t bound) noexcept {
    if (text_.capacity() > kKeptBytes) {
      std::string().swap(text_);
    } else {
      text_.clear();
    }
    dropped_ = 0;
    begin_ = 0;
    bound_ = bound;
    owed_ = 0;
    keeps_ = true;
    ended_ = false;
  }
  void append(std::string_view bytes) {
    if (dropped_ == text_.size()) {
      text_.clear();
      dropped_ = 0;
    } else if (dropped_ > text_.size() / 2) {
      text_.erase(0, dropped_);
      dropped_ = 0;
    }
    text_ += bytes;
    owed_ += bytes.size();
  }
  void on_end() noexcept { ended_ = true; }

  // The kept bytes from `offset` on. REQUIRES: begin() <= offset <= end().
  [[nodiscard]] std::string_view from(std::uint64_t offset) const noexcept {
    DAMPER_CHECK(offset >= begin_ && offset <= end());
    return std::string_view(text_).substr(dropped_ + static_cast<std::size_t>(offset - begin_));
  }
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::uint64_t end() const noexcept { return begin_ + size(); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size() - dropped_; }
  [[nodiscard]] bool has_ended() const noexcept { return ended_; }

  // All attempts in flight have taken the bytes before `taken`. Whether some were dropped: the body
  // cannot be sent again then.
  [[nodiscard]] bool try_drop(std::uint64_t taken) noexcept {
    if (taken <= begin_ || (keeps_ && size() <= bound_)) return false;
    DAMPER_CHECK(taken <= end());
    keeps_ = false;
    dropped_ += static_cast<std::size_t>(taken - begin_);
    begin_ = taken;
    return true;
  }
  // The body is not sent again: every byte that is taken is dropped.
  void stop_keeping() noexcept { keeps_ = false; }
  // The number of bytes to report as consumed to the client's connection now.
  [[nodiscard]] std::size_t try_consume() noexcept {
    const std::size_t beyond = size() - std::min(size(), bound_);
    if (owed_ <= beyond) return 0;
    const std::size_t consumed = owed_ - beyond;
    owed_ = beyond;
    return consumed;
  }

 private:
  std::string text_;
  std::size_t dropped_ = 0;  // of the text
  std::uint64_t begin_ = 0;
  std::size_t bound_ = 0;
  std::size_t owed_ = 0;  // received and not consumed
  bool keeps_ = true;
  bool ended_ = false;
};

}  // namespace damper::proxy
