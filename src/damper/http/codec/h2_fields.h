#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/http/codec/message.h"

namespace damper::http {

// An H2FieldReader gathers the fields of one HTTP/2 header block and makes a Head of them.
//
// Why: HPACK makes a megabyte of fields from a few bytes, and what HTTP/2 can carry in a value
// would be a second request in HTTP/1.1. So sizes are counted as they come (RFC 9113, 6.5.2), and
// what HTTP/1.1 could not say is refused here, whatever nghttp2 lets through.
class H2FieldReader {
 public:
  enum class State : std::uint8_t { good, malformed, too_large };

  H2FieldReader(std::size_t max_bytes, std::size_t max_fields) noexcept
      : max_bytes_(max_bytes), max_fields_(max_fields) {}

  void add(std::string_view name, std::string_view value);

  // The result. `head` is a view of this object; it has the content length, if there is one.
  [[nodiscard]] State read_request(Head& head);
  [[nodiscard]] State read_response(Head& head);
  [[nodiscard]] State read_trailers(Head& head);

 private:
  void add_pseudo(std::string_view name, std::string_view value);
  void add_hop_field(std::string_view name, std::string_view value);
  void finish(Head& head);

  std::size_t max_bytes_;
  std::size_t max_fields_;
  std::size_t bytes_ = 0;
  State state_ = State::good;
  std::string method_;
  std::string scheme_;
  std::string authority_;
  std::string path_;
  std::string cookie_;  // The crumbs, joined (RFC 9113, 8.2.3).
  std::optional<std::string> host_;
  int status_ = 0;
  std::optional<std::uint64_t> content_length_;
  FieldList fields_;
};

// An H2FieldWriter makes nghttp2's list of a Head, with names in lower case. It omits hop-by-hop
// fields and those that are not valid_field().
class H2FieldWriter {
 public:
  // REQUIRES: is_writable_request(head).
  void add_request(const Head& head, std::optional<std::uint64_t> content_length);
  void add_response(const Head& head, std::optional<std::uint64_t> content_length);
  void add_fields(std::span<const Field> fields);

  // For one of nghttp2's submit functions, which copy it.
  [[nodiscard]] const std::vector<nghttp2_nv>& list();

 private:
  void add(std::string_view name, std::string_view value);
  void add_length(std::optional<std::uint64_t> content_length);

  struct Span {
    std::size_t begin;
    std::size_t name_size;
    std::size_t value_size;
  };
  std::string text_;
  std::vector<Span> spans_;
  std::vector<nghttp2_nv> list_;
};

}  // namespace damper::http
