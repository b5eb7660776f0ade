#include "ask.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace damper::drills {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

}  // namespace

std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  std::uint16_t port = 0;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0) {
    port = ntohs(at.sin_port);
  }
  close(fd);
  return port;
}

Answered ask(std::uint16_t port, std::string_view method, std::string_view target,
             std::string_view body) {
  std::string request;
  request.append(method).append(" ").append(target).append(" HTTP/1.1\r\n");
  request += "Host: 127.0.0.1:" + std::to_string(port) + "\r\nConnection: close\r\n";
  if (!body.empty()) {
    request +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  request.append("\r\n").append(body);

  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = loopback(port);
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> bytes{};
    for (ssize_t n = 0; (n = recv(fd, bytes.data(), bytes.size(), 0)) > 0;) {
      answer.append(bytes.data(), static_cast<std::size_t>(n));
    }
  }
  close(fd);
  const auto head_end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 ") || head_end == std::string::npos) return {};
  return {std::atoi(answer.c_str() + 9), answer.substr(head_end + 4)};
}

}  // namespace damper::drills
