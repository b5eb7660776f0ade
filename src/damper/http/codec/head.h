#ifndef DAMPER_HTTP_CODEC_HEAD_H_
#define DAMPER_HTTP_CODEC_HEAD_H_

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
  // A strict codec has read it as it is: it is valid_field(), and about no single hop. Who passes
  // it on copies the Field; who makes one of other text says nothing, and it is looked at.
  bool sound = false;
};

[[nodiscard]] constexpr bool same_name(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// The value of the first field of that name; nothing when there is none.
[[nodiscard]] constexpr std::optional<std::string_view> find(std::span<const Field> fields,
                                                             std::string_view name) noexcept {
  for (const Field& field : fields) {
    if (same_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

// A Head is what a message says before its body, of a request or of an answer, of HTTP/1.1 or
// HTTP/2 alike: what both mean, in views that are good for the length of the call they are passed
// in. Who keeps one copies it (see OwnedHead).
//
// Model: framing belongs to the codec. `fields` has neither Host (that is `authority`) nor
// Content-Length, Transfer-Encoding, Connection, Keep-Alive, Proxy-Connection, TE, Upgrade,
// HTTP2-Settings, nor whatever Connection named: those are about one hop. Nobody adds them: a codec
// writes its own.
struct Head {
  std::string_view method{};     // of a request
  std::string_view scheme{};     // of a request: "http", "https"; empty where the codec cannot know
  std::string_view authority{};  // of a request: Host or :authority, perhaps empty
  std::string_view target{};     // of a request: "/path?query", "*", or host:port for CONNECT
  int status = 0;                // of an answer: 200 to 599, or 101; of an interim one, 102 to 199
  std::span<const Field> fields{};
  std::optional<std::uint64_t> content_length{};  // if it is known
  std::string_view upgrade{};  // HTTP/1.1: the protocol that an Upgrade asks for or that 101 grants

  [[nodiscard]] bool is_request() const noexcept { return !method.empty(); }
};

// Whether an answer may be passed on before the real one: 102 to 199, and not too much of it. 100
// is between a client and the server next to it, 101 is a real one.
[[nodiscard]] constexpr bool is_passable_interim(const Head& head) noexcept {
  constexpr std::size_t kMostBytes = std::size_t{16} * 1024;
  std::size_t bytes = 0;
  for (const Field& field : head.fields) bytes += field.name.size() + field.value.size() + 32;
  return head.status >= 102 && head.status < 200 && bytes <= kMostBytes;
}

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_HEAD_H_
