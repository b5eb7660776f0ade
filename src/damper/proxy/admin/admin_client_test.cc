#include "damper/proxy/admin/admin_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "damper/proxy/admin/admin_server_testing.h"

namespace damper::proxy {
namespace {

// Listens, and answers the first who comes with these bytes.
class Stranger {
 public:
  explicit Stranger(std::string says) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    where = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, says = std::move(says)] {
      const int peer = ::accept(fd_, nullptr, nullptr);
      char buffer[4096];
      (void)!::recv(peer, buffer, sizeof(buffer), 0);
      (void)!::send(peer, says.data(), says.size(), MSG_NOSIGNAL);
      ::close(peer);
    });
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() {
    thread_.join();
    ::close(fd_);
  }
  std::string where;

 private:
  int fd_;
  std::thread thread_;
};

std::string error_of(const std::string& admin) {
  auto client = AdminClient::open(admin, "");
  if (!client) return client.error().sentence;
  const auto answer = client->get("/state");
  return answer ? "" : answer.error().sentence;
}

TEST(AdminClient, AnAddressNeedsNoScheme) {
  const proxy::AdminFixture admin;
  const std::string port = std::to_string(admin.port());
  for (const std::string& where : {"http://127.0.0.1:" + port, "127.0.0.1:" + port, ":" + port,
                                   "http://localhost:" + port + "/"}) {
    EXPECT_EQ(error_of(where), "") << where;
  }
}

TEST(AdminClient, WhatIsNoAddressIsSaid) {
  EXPECT_EQ(error_of("http://user@x").find("--admin \"http://user@x\": "), 0U);
  EXPECT_NE(error_of("ftp://x"), "");
  EXPECT_NE(error_of(""), "");
}

TEST(AdminClient, AStrangerOnThePortIsCalledOne) {
  const Stranger ssh("SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_EQ(error_of(ssh.where),
            "the server on " + ssh.where + " does not speak HTTP: check --admin");
  const Stranger web(
      "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(error_of(web.where),
            "the server on " + web.where + " is not a damper proxy (status 404): check --admin");
  const Stranger gone("");
  EXPECT_EQ(error_of(gone.where).find(gone.where + " sent no complete response ("), 0U);
}

}  // namespace
}  // namespace damper::proxy
