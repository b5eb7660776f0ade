#include "damper/proxy/health/grpc_health.h"

#include <cstddef>

namespace damper::proxy {
namespace {

constexpr std::size_t kPrefix = 5;

std::uint8_t byte_of(char c) noexcept { return static_cast<std::uint8_t>(c); }

void add_varint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += static_cast<char>(number | 0x80);
  to += static_cast<char>(number);
}

// Removes a varint from the front; nothing if it is incomplete or longer than 64 bits.
std::optional<std::uint64_t> take_varint(std::string_view& from) noexcept {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (from.empty()) return std::nullopt;
    const std::uint8_t byte = byte_of(from.front());
    from.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

// Removes the value of an unknown field; false if there is none of that wire type.
bool skip(std::string_view& from, std::uint64_t wire_type) noexcept {
  std::uint64_t size = 0;
  if (wire_type == 0) return take_varint(from).has_value();
  if (wire_type == 1) size = 8;
  if (wire_type == 5) size = 4;
  if (wire_type == 2) {
    const auto length = take_varint(from);
    if (!length) return false;
    size = *length;
  }
  if ((size == 0 && wire_type != 2) || size > from.size()) return false;
  from.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

}  // namespace

std::string grpc_health_request(std::string_view service) {
  std::string message;
  if (!service.empty()) {
    message += '\x0a';  // Field 1, length-delimited.
    add_varint(message, service.size());
    message += service;
  }
  std::string body(1, '\0');  // Not compressed.
  for (int shift = 24; shift >= 0; shift -= 8) {
    body += static_cast<char>((message.size() >> shift) & 0xff);
  }
  return body + message;
}

std::optional<std::uint64_t> find_grpc_health(std::string_view body) noexcept {
  if (body.size() < kPrefix || body[0] != '\0') return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 1; i < kPrefix; ++i) length = length << 8 | byte_of(body[i]);
  body.remove_prefix(kPrefix);
  if (length != body.size()) return std::nullopt;
  std::uint64_t status = 0;
  while (!body.empty()) {
    const auto tag = take_varint(body);
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    if (*tag == (1U << 3)) {  // Field 1, varint.
      const auto value = take_varint(body);
      if (!value) return std::nullopt;
      status = *value;
    } else if (!skip(body, *tag & 7U)) {
      return std::nullopt;
    }
  }
  return status;
}

}  // namespace damper::proxy
