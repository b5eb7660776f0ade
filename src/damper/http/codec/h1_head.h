#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/head.h"

namespace damper::http {

// Whether a field is about one hop, or about framing: no Head has it, and no codec writes one that
// it is given (RFC 9110, 7.6.1).
[[nodiscard]] bool is_hop_field(std::string_view name) noexcept;

// An H1Head is the head of one HTTP/1.1 message, scanned from contiguous bytes.
//
// Why: two parsers that read the same bytes in two ways are how requests are smuggled. So there is
// one reading here, and whatever could have another one is refused: Content-Length beside
// Transfer-Encoding or said twice, any coding but "chunked", a line that ends with a bare LF or CR,
// a folded line, a space before the colon, controls in a value, no Host or two.
// Model: scan the bytes from the head's first one; `need_more` means to scan again, from the start,
// when there are more. The views point into the bytes that were scanned.
// Cost: no allocation; one table lookup a byte of names, eight bytes of a value at a time. The
// fields have room in the object, which is large (32 KiB) and meant for the stack: what is not used
// is not touched.
class H1Head {
 public:
  static constexpr std::size_t kMostFields = 1000;

  enum class Result : std::uint8_t { complete, need_more, refused };
  struct Bounds {
    std::size_t max_bytes = std::size_t{64} * 1024;
    std::size_t max_fields = 100;  // at most kMostFields
  };

  H1Head() noexcept {}  // NOLINT(modernize-use-equals-default): the fields stay as they are
  H1Head(const H1Head&) = delete;
  H1Head& operator=(const H1Head&) = delete;
  ~H1Head() = default;

  [[nodiscard]] Result scan_request(std::string_view bytes, Bounds bounds) noexcept;
  [[nodiscard]] Result scan_response(std::string_view bytes, Bounds bounds) noexcept;
  // The lines after the last chunk, the empty one included: they become head().fields. What is
  // about framing is refused there.
  [[nodiscard]] Result scan_trailers(std::string_view bytes, Bounds bounds) noexcept;

  // After `complete`:
  [[nodiscard]] const Head& head() const noexcept { return head_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  // bytes of the head
  [[nodiscard]] bool is_http_1_0() const noexcept { return minor_ == 0; }
  [[nodiscard]] bool is_chunked() const noexcept { return chunked_; }
  // Whether the connection may go on after the message, as far as its head says.
  [[nodiscard]] bool keeps_alive() const noexcept {
    return !said_close_ && (minor_ == 1 || said_keep_alive_);
  }
  [[nodiscard]] bool expects_continue() const noexcept { return expects_continue_; }

  // After `refused`: what to answer a request with, and why.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] CloseReason reason() const noexcept {
    return status_ == 431 ? CloseReason::head_too_large : CloseReason::malformed;
  }

 private:
  [[nodiscard]] Result begin(std::string_view& bytes, Bounds bounds) noexcept;
  [[nodiscard]] Result refuse(int status) noexcept;
  [[nodiscard]] Result more() noexcept;
  [[nodiscard]] Result scan_fields(std::string_view bytes, std::size_t at) noexcept;
  [[nodiscard]] Result read_version(std::string_view bytes, std::size_t at) noexcept;
  [[nodiscard]] bool take(std::string_view name, std::string_view value) noexcept;
  [[nodiscard]] bool take_hop_field(std::string_view name, std::string_view value) noexcept;
  [[nodiscard]] bool take_host(std::string_view value) noexcept;
  [[nodiscard]] bool take_length(std::string_view value) noexcept;
  [[nodiscard]] bool take_connection(std::string_view value) noexcept;
  [[nodiscard]] bool read_target() noexcept;
  [[nodiscard]] Result finish_request() noexcept;
  void finish_fields() noexcept;

  union {  // Not initialised: BM_HttpHeadScan takes 2.5 times as long if they are.
    // The first field_count_ of them. NOLINTNEXTLINE(readability-identifier-naming): a member too
    std::array<Field, kMostFields> fields_;
  };
  std::size_t field_count_ = 0;
  Head head_;
  Bounds bounds_;
  std::size_t size_ = 0;
  std::array<std::string_view, 8> named_{};  // What Connection named besides the usual.
  std::size_t named_count_ = 0;
  std::string_view upgrade_;
  int minor_ = 1;
  int status_ = 0;
  int hosts_ = 0;
  bool clipped_ = false;
  bool chunked_ = false;
  bool said_close_ = false;
  bool said_keep_alive_ = false;
  bool said_upgrade_ = false;
  bool expects_continue_ = false;
};

}  // namespace damper::http
