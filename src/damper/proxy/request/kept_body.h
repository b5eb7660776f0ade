#ifndef DAMPER_PROXY_REQUEST_KEPT_BODY_H_
#define DAMPER_PROXY_REQUEST_KEPT_BODY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace damper::proxy {

// A KeptBody is what a request's body consists of so far, kept so that it can be sent again.
//
// Why: a proxy that keeps nothing can retry nothing that has a body; one that keeps all is at the
// mercy of the largest. And one that gives a body over its bound up at once does not even retry
// when nobody could be reached (trap P1).
// Model: bytes have a place in the body, from 0. They are kept from begin() to end(). Each attempt
// has a place up to which it has taken them. While no more than `bound` bytes came, all are kept,
// and any attempt can begin at 0. What comes beyond the bound is not consumed, so that the client
// stops, until the attempts have taken what is before it: then that is dropped, and from then on
// whatever is taken is dropped. While nothing is taken nothing is dropped, and the client waits.
// Invariants:
//   (1) size() <= bound + the window of the client's connection.
//   (2) begin() > 0 only if more than `bound` bytes came, or nobody needs the bytes again.
//   (3) Every byte that came is consumed once: by try_consume().
// Thread safety: none. Cost: no allocation once it has held as much, up to kKeptBytes.
class KeptBody {
 public:
  static constexpr std::size_t kKeptBytes = std::size_t{4} * 1024;

  // For a new request.
  void begin(std::size_t bound) noexcept;
  void append(std::string_view bytes);
  void on_end() noexcept { ended_ = true; }

  // What is kept from that place on. REQUIRES: begin() <= place <= end().
  [[nodiscard]] std::string_view from(std::uint64_t place) const noexcept;
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::uint64_t end() const noexcept { return begin_ + size(); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size() - dropped_; }
  [[nodiscard]] bool has_ended() const noexcept { return ended_; }

  // All attempts under way have taken what is before this place. Whether something of it was
  // dropped: it cannot be sent again then.
  [[nodiscard]] bool try_drop(std::uint64_t taken) noexcept;
  // Nothing will be sent again: whatever is taken is dropped.
  void stop_keeping() noexcept { keeps_ = false; }
  // How many bytes the client's connection may be told are consumed now.
  [[nodiscard]] std::size_t try_consume() noexcept;

 private:
  std::string text_;
  std::size_t dropped_ = 0;  // of the text
  std::uint64_t begin_ = 0;
  std::size_t bound_ = 0;
  std::size_t owed_ = 0;  // bytes that came and are not consumed
  bool keeps_ = true;
  bool ended_ = false;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_KEPT_BODY_H_
