#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/http/codec/chars.h"

namespace damper::http {

// An H1ChunkExtension checks the extensions of a chunk (RFC 9112, 7.1.1), byte by byte:
// *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ).
//
// Why by the grammar, though they are dropped: parsers that skip whatever there is up to their idea
// of a line's end disagree about that end, and that is how requests are smuggled.
// Cost: no allocation; nothing is kept but the state.
class H1ChunkExtension {
 public:
  // False: it is none. No control but a tab passes, so no CR and no LF.
  [[nodiscard]] constexpr bool take(char c) noexcept {
    if (state_ == State::quoted && c == '\\') return go(State::escaped);
    if (state_ == State::quoted && c == '"') return go(State::after_quoted);
    if (state_ == State::quoted || state_ == State::escaped) {
      const auto byte = static_cast<unsigned char>(c);
      return ((byte >= 0x20 && byte != 0x7f) || c == '\t') && go(State::quoted);
    }
    if (is(kToken, c)) {
      if (state_ == State::before_name) return go(State::name);
      if (state_ == State::before_value) return go(State::value);
      return state_ == State::name || state_ == State::value;
    }
    if (is_space(c)) {
      if (state_ == State::name) return go(State::after_name);
      return !may_end() || go(State::before);
    }
    const bool names = state_ == State::name || state_ == State::after_name;
    if (c == '=') return names && go(State::before_value);
    if (c == '"') return state_ == State::before_value && go(State::quoted);
    return c == ';' && (names || may_end() || state_ == State::before) && go(State::before_name);
  }
  // Whether the line may end after what was taken: not after a space, a semicolon or an equals
  // sign.
  [[nodiscard]] constexpr bool may_end() const noexcept {
    return state_ == State::name || state_ == State::value || state_ == State::after_quoted;
  }

 private:
  enum class State : std::uint8_t {
    before,
    before_name,
    name,
    after_name,
    before_value,
    value,
    quoted,
    escaped,
    after_quoted
  };
  constexpr bool go(State state) noexcept {
    state_ = state;
    return true;
  }

  State state_ = State::before;
};

// An H1Chunked reads a chunked body (RFC 9112, 7.1), strictly: sizes of 1 to 16 hexadecimal digits,
// lines that end with CR LF, extensions that follow the grammar. Extensions are dropped.
//
// Model: feed() takes bytes from the front of what it is given, and says what they were: data,
// which is a view into them, or framing. Call it again with the rest until it wants more.
// Invariants:
//   (1) Whatever way the bytes are cut, the same data come out, and the same verdict.
//   (2) It keeps no more than the trailers, and those are bounded.
//   (3) Bytes of extensions are at most the bytes of data so far, and `max_trailer_bytes`: a peer
//       does not send a line for each byte of a body for ever.
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
        extra_ -= std::min(extra_, size);
        if (left_ == 0) state_ = State::data_cr;
        return {Result::data, used + size, bytes.substr(used, size)};
      }
      if (state_ == State::trailers) return take_trailers(bytes, used);
      if (!take_framing(bytes[used])) return {Result::malformed, used};
      if (state_ == State::extension && ++extra_ > max_trailer_bytes_) {
        return {Result::too_large, used};
      }
      ++used;
    }
    return {Result::more, used};
  }

  // After `end`: the lines of the trailers with the empty one, for H1Head::scan_trailers(); empty
  // when there are none.
  [[nodiscard]] std::string_view trailers() const noexcept { return trailers_; }

 private:
  enum class State : std::uint8_t { size, extension, size_lf, data, data_cr, data_lf, trailers };

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
        if (digits_ == 0) return false;
        state_ = c == '\r' ? State::size_lf : State::extension;
        extension_ = {};
        return c == '\r' || extension_.take(c);
      case State::extension:
        if (c != '\r') return extension_.take(c);
        state_ = State::size_lf;
        return extension_.may_end();
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
  H1ChunkExtension extension_;
  std::size_t extra_ = 0;  // bytes of extensions that no data has made up for
  std::uint64_t left_ = 0;
  std::size_t max_trailer_bytes_;
  std::string trailers_;
};

}  // namespace damper::http
