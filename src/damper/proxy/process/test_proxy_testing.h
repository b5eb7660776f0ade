#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// A proxy on one loop, whose upstreams refuse connections.
[[nodiscard]] inline std::unique_ptr<Proxy> start_proxy(ProxyConfig config,
                                                        engine::EventSink* events = nullptr) {
  auto proxy = Proxy::start(config, {.events = events});
  EXPECT_TRUE(proxy) << proxy.error();
  return *std::move(proxy);
}

// A port of loopback on which nobody else can listen until release().
class TakenPort {
 public:
  TakenPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_, any, size), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    EXPECT_EQ(::getsockname(fd_, any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  ~TakenPort() { release(); }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  void release() {
    if (const int fd = std::exchange(fd_, -1); fd >= 0) ::close(fd);
  }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

}  // namespace damper::proxy
