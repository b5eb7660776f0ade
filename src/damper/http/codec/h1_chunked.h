#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace damper::http {

// An H1Chunked reads a chunked body (RFC 9112, 7.1), strictly: sizes of 1 to 16 hexadecimal digits
// and no extensions, since those are where parsers disagree.
//
// Model: feed() takes bytes from the front of what it is given, and says what they were: data,
// which is a view into them, or framing. Call it again with the rest until it wants more.
// Invariants:
//   (1) Whatever way the bytes are cut, the same data come out, and the same verdict.
//   (2) It keeps no more than the trailers, and those are bounded.
// Cost: allocates only for trailers.
class H1Chunked {
 public:
  enum class Result : std::uint8_t { more, data, end, malformed, too_large };
  struct Fed {
    Result result = Result::more;
    std::size_t used = 0;     // bytes of the input; all of it with `more`
    std::string_view data{};  // with `data`, never empty
  };

  explicit H1Chunked(std::size_t max_trailer_bytes = std::size_t{8} * 1024) noexcept
      : max_trailer_bytes_(max_trailer_bytes) {}

  [[nodiscard]] Fed feed(std::string_view bytes) {
    std::size_t used = 0;
    while (used < bytes.size()) {
      if (state_ == State::data) {
        const auto size =
            static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - used));
        left_ -= size;
        if (left_ == 0) state_ = State::data_cr;
        return {Result::data, used + size, bytes.substr(used, size)};
      }
      if (state_ == State::trailers) return take_trailers(bytes, used);
      if (!take_framing(bytes[used])) return {Result::malformed, used};
      ++used;
    }
    return {Result::more, used};
  }

  // After `end`: the lines of the trailers with the empty one, for H1Head::scan_trailers(); empty
  // when there are none.
  [[nodiscard]] std::string_view trailers() const noexcept { return trailers_; }

 private:
  enum class State : std::uint8_t { size, size_lf, data, data_cr, data_lf, trailers };

  // -1: none.
  static constexpr int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }
  [[nodiscard]] bool take_framing(char c) noexcept {
    switch (state_) {
      case State::size:
        if (const int digit = hex_digit(c); digit >= 0) {
          if (++digits_ > 16) return false;
          left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
          return true;
        }
        state_ = State::size_lf;
        return c == '\r' && digits_ > 0;
      case State::size_lf: state_ = left_ == 0 ? State::trailers : State::data; return c == '\n';
      case State::data_cr: state_ = State::data_lf; return c == '\r';
      case State::data_lf:
        state_ = State::size;
        digits_ = 0;
        return c == '\n';
      case State::data:
      case State::trailers: break;
    }
    return false;
  }
  // Gathers up to the empty line. What the lines are is for scan_trailers() to say.
  [[nodiscard]] Fed take_trailers(std::string_view bytes, std::size_t used) {
    for (; used < bytes.size(); ++used) {
      const char c = bytes[used];
      if (trailers_.size() == max_trailer_bytes_) return {Result::too_large, used};
      if ((c == '\n') != trailers_.ends_with('\r')) return {Result::malformed, used};
      trailers_ += c;
      if (trailers_ == "\r\n") {
        trailers_.clear();
        return {Result::end, used + 1};
      }
      if (trailers_.ends_with("\n\r\n")) return {Result::end, used + 1};
    }
    return {Result::more, used};
  }

  State state_ = State::size;
  std::uint8_t digits_ = 0;
  std::uint64_t left_ = 0;
  std::size_t max_trailer_bytes_;
  std::string trailers_;
};

}  // namespace damper::http
