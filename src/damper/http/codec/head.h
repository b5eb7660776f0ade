#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace damper::http {

// One header field. Names are compared without regard to case.
struct Field {
  std::string_view name;
  std::string_view value;
  // True if a strict codec has validated this field (valid_field()) and it is not hop-by-hop. Copy
  // the flag when forwarding unchanged; leave it false for fields you build, and the codec
  // validates them.
  bool validated = false;
};

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

[[nodiscard]] constexpr bool same_name(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// The value of the first field of that name.
[[nodiscard]] constexpr std::optional<std::string_view> find(std::span<const Field> fields,
                                                             std::string_view name) noexcept {
  for (const Field& field : fields) {
    if (same_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

// A Head is the start line and fields of a request or an answer, the same for HTTP/1.1 and HTTP/2.
// Its views are valid during the call that passes it: copy what you keep (FieldList).
//
// Model: framing belongs to the codec. `fields` has neither Host (that is `authority`) nor the
// hop-by-hop fields: Content-Length, Transfer-Encoding, Connection, Keep-Alive, Proxy-Connection,
// TE, Upgrade, HTTP2-Settings and the fields that Connection names. Do not add them: the codec
// writes its own.
struct Head {
  std::string_view method{};     // of a request
  std::string_view scheme{};     // of a request: "http", "https"; empty if the codec cannot know
  std::string_view authority{};  // of a request: Host or :authority; may be empty
  std::string_view target{};     // of a request: "/path?query", "*", or host:port for CONNECT
  int status = 0;                // of an answer: 200 to 599, or 101; of an interim one, 102 to 199
  std::span<const Field> fields{};
  std::optional<std::uint64_t> content_length{};  // if known
  std::string_view upgrade{};  // HTTP/1.1: the protocol of an Upgrade request, or of a 101

  [[nodiscard]] bool is_request() const noexcept { return !method.empty(); }
};

// Whether a proxy forwards this interim answer: 102 to 199, of at most 16 KiB. 100 is hop-by-hop,
// 101 is a final answer.
[[nodiscard]] constexpr bool is_passable_interim(const Head& head) noexcept {
  constexpr std::size_t kMostBytes = std::size_t{16} * 1024;
  std::size_t bytes = 0;
  for (const Field& field : head.fields) bytes += field.name.size() + field.value.size() + 32;
  return head.status >= 102 && head.status < 200 && bytes <= kMostBytes;
}

}  // namespace damper::http
