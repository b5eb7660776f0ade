#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/expected.h"

namespace damper::http {

// A ListenAddress is where a socket listens: an address, never a name, and a port.
//
// Why: who can reach a proxy must be plain to see in its file. A name could be any address, and
// different ones on different days.
// Model: "127.0.0.1:8080" and "[::1]:8080". ":8080" and "localhost:8080" are 127.0.0.1: the whole
// world is let in only by those who write "0.0.0.0:8080" or "[::]:8080". Port 0 is any free one.
// Invariants:
//   (1) `host` is an IPv4 or IPv6 address in its shortest form, without brackets.
//   (2) What is written with text() is read as the same.
// A proxy's listener may also be a Unix socket: then `host` is the text of a UnixAddress, and the
// port 0.
struct ListenAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

inline constexpr std::string_view kListenAddressForms =
    "ADDRESS:PORT, such as 127.0.0.1:8080, [::1]:8080, or :8080 for 127.0.0.1";

// Or one sentence on what is wrong with it.
[[nodiscard]] Expected<ListenAddress> parse_listen_address(std::string_view text);

// The same, or a UnixAddress.
inline constexpr std::string_view kListenerAddressForms =
    "ADDRESS:PORT, such as 127.0.0.1:8080, [::1]:8080, or :8080 for 127.0.0.1, or a Unix socket "
    "such as unix:/run/damper.sock";
[[nodiscard]] Expected<ListenAddress> parse_listener_address(std::string_view text);

// Whether a client can mean both: the same port, and the same address, or one that stands for
// every address of its kind. [::] takes IPv4, too, as the kernel has it by default.
[[nodiscard]] bool overlap(const ListenAddress& one, const ListenAddress& other);

}  // namespace damper::http
