#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/expected.h"

namespace damper::http {

// A UnixAddress is the address of a Unix socket: "unix:/run/app.sock", a path of the file system,
// or "unix:@app", a name of Linux's abstract namespace, which needs no file.
//
// Model: a path is absolute. Path and name have visible ASCII characters only, at most kMostBytes.
// Thread safety: a plain value. Cost: no allocation but for text().
class UnixAddress {
 public:
  static constexpr std::string_view kPrefix = "unix:";
  static constexpr std::size_t kMostBytes = sizeof(sockaddr_un::sun_path) - 1;  // 107

  // One sentence: what is wrong with the text.
  [[nodiscard]] static Expected<UnixAddress> parse(std::string_view text);
  // The address that a socket is bound to; nothing: it is no Unix socket, or has no name.
  [[nodiscard]] static std::optional<UnixAddress> of_socket(int fd);
  [[nodiscard]] static bool is_unix(std::string_view text) noexcept {
    return text.starts_with(kPrefix);
  }

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string path() const;  // empty: an abstract name
  [[nodiscard]] const sockaddr* data() const noexcept {
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  [[nodiscard]] socklen_t size() const noexcept { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

}  // namespace damper::http
