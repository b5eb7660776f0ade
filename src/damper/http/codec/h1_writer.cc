#include "damper/http/codec/h1_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "damper/http/codec/chars.h"
#include "damper/http/codec/h1_head.h"
#include "damper/http/codec/message.h"

namespace damper::http {
namespace {

// Room at the end of a string that is given back as far as it was not needed: one check of the
// capacity for a head instead of one for each of its words.
class Tail {
 public:
  Tail(std::string& out, std::size_t most) : out_(out) {
    const std::size_t size = out.size();
    if (out.capacity() < size + most) out.reserve(std::max(size + most, std::size_t{512}));
    out.resize(size + most);
    at_ = out.data() + size;
  }
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;
  ~Tail() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

  void put(std::string_view text) noexcept {
    if (text.empty()) return;
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void put_number(std::uint64_t number, int base = 10) noexcept {
    at_ = std::to_chars(at_, at_ + 20, number, base).ptr;
  }

 private:
  std::string& out_;
  char* at_;
};

constexpr std::size_t kOwnBytes = 256;  // More than a head's own lines need, without their texts.

std::size_t most_bytes(std::span<const Field> fields) noexcept {
  std::size_t most = 2;
  for (const Field& field : fields) most += field.name.size() + field.value.size() + 4;
  return most;
}

void put_fields(Tail& tail, std::span<const Field> fields) noexcept {
  for (const Field& field : fields) {
    if (!field.validated && (!valid_field(field.name, field.value) || is_hop_field(field.name))) {
      continue;
    }
    tail.put(field.name);
    tail.put(": ");
    tail.put(field.value);
    tail.put("\r\n");
  }
}

void put_framing(Tail& tail, const Head& head, const H1Framed& framed) noexcept {
  if (framed.content_length) {
    tail.put("Content-Length: ");
    tail.put_number(*framed.content_length);
    tail.put("\r\n");
  }
  if (framed.framing == H1Framing::chunked) tail.put("Transfer-Encoding: chunked\r\n");
  if (!head.upgrade.empty() && valid_field("Upgrade", head.upgrade)) {
    tail.put("Connection: upgrade\r\nUpgrade: ");
    tail.put(head.upgrade);
    tail.put("\r\n");
  } else if (framed.close) {
    tail.put("Connection: close\r\n");
  } else if (framed.keep_alive) {
    tail.put("Connection: keep-alive\r\n");
  }
  tail.put("\r\n");
}

}  // namespace

bool is_writable_request(const Head& head) noexcept {
  return !head.method.empty() && all(kToken, head.method) && !head.target.empty() &&
         all(kTarget, head.target) && all(kAuthority, head.authority);
}

void append_request(std::string& out, const Head& head, const H1Framed& framed) {
  Tail tail(out, kOwnBytes + most_bytes(head.fields) + head.method.size() + head.target.size() +
                     head.authority.size() + head.upgrade.size());
  tail.put(head.method);
  tail.put(" ");
  tail.put(head.target);
  tail.put(" HTTP/1.1\r\nHost: ");
  tail.put(head.authority);
  tail.put("\r\n");
  put_fields(tail, head.fields);
  put_framing(tail, head, framed);
}

void append_response(std::string& out, const Head& head, const H1Framed& framed) {
  Tail tail(out, kOwnBytes + most_bytes(head.fields) + head.upgrade.size());
  tail.put("HTTP/1.1 ");
  tail.put_number(static_cast<std::uint64_t>(head.status));
  tail.put(" ");
  tail.put(reason_phrase(head.status));
  tail.put("\r\n");
  put_fields(tail, head.fields);
  put_framing(tail, head, framed);
}

void append_chunk_size(std::string& out, std::size_t bytes) {
  std::array<char, 18> line{};
  char* const end = std::to_chars(line.data(), line.data() + 16, bytes, 16).ptr;
  end[0] = '\r';
  end[1] = '\n';
  out.append(line.data(), static_cast<std::size_t>(end + 2 - line.data()));
}

void append_last_chunk(std::string& out, std::span<const Field> trailers) {
  Tail tail(out, 8 + most_bytes(trailers));
  tail.put("0\r\n");
  put_fields(tail, trailers);
  tail.put("\r\n");
}

void append_refusal(std::string& out, int status) {
  append_response(out, {.status = status},
                  {.framing = H1Framing::length, .content_length = 0, .close = true});
}

std::string_view reason_phrase(int status) noexcept {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 102: return "Processing";
    case 103: return "Early Hints";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 425: return "Too Early";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "";
  }
}

}  // namespace damper::http
