#pragma once

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

  [[nodiscard]] Fed feed(std::string_view bytes);

  // After `end`: the lines of the trailers with the empty one, for H1Head::scan_trailers(); empty
  // when there are none.
  [[nodiscard]] std::string_view trailers() const noexcept { return trailers_; }

 private:
  enum class State : std::uint8_t { size, size_lf, data, data_cr, data_lf, trailers };

  [[nodiscard]] bool take_framing(char c) noexcept;
  [[nodiscard]] Fed take_trailers(std::string_view bytes, std::size_t used);

  State state_ = State::size;
  std::uint8_t digits_ = 0;
  std::uint64_t left_ = 0;
  std::size_t max_trailer_bytes_;
  std::string trailers_;
};

}  // namespace damper::http
