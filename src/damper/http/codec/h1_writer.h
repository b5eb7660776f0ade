#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/codec/head.h"

namespace damper::http {

// How the end of an HTTP/1.1 body is marked.
enum class H1Framing : std::uint8_t {
  none,         // There is no body.
  length,       // Content-Length
  chunked,      // Transfer-Encoding: chunked
  until_close,  // an answer to HTTP/1.0, or of it
  tunnel,       // After 101 or a CONNECT: bytes of another protocol.
};

// What the codec itself says in a head.
struct H1Framed {
  H1Framing framing = H1Framing::none;
  std::optional<std::uint64_t> content_length{};  // written if it is there
  bool close = false;                             // Connection: close
  bool keep_alive = false;                        // Connection: keep-alive, for HTTP/1.0
};

// Whether a request's method, target and authority can be written: nothing in them ends a line or
// a word.
[[nodiscard]] bool is_writable_request(const Head& head) noexcept;

// Appends a head. Fields that are not valid_field(), and those that are about one hop, are left
// out: what a user passes on cannot change the framing. A request's upgrade, and that of a 101, is
// written.
void append_request(std::string& out, const Head& head, const H1Framed& framed);
void append_response(std::string& out, const Head& head, const H1Framed& framed);

// The line before a chunk's data; the data and a CRLF follow.
void append_chunk_size(std::string& out, std::size_t bytes);
// The last chunk, trailers and all.
void append_last_chunk(std::string& out, std::span<const Field> trailers);

// A whole answer of the codec's own, without a body, after which the connection closes.
void append_refusal(std::string& out, int status);

// "OK"; empty for a status without a name.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

}  // namespace damper::http
