#include "damper/http/codec/h1_chunked.h"

#include <algorithm>

namespace damper::http {
namespace {

// -1: none.
constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

H1Chunked::Fed H1Chunked::feed(std::string_view bytes) {
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

bool H1Chunked::take_framing(char c) noexcept {
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
H1Chunked::Fed H1Chunked::take_trailers(std::string_view bytes, std::size_t used) {
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

}  // namespace damper::http
