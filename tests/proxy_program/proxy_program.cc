#include "proxy_program.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace damper::proxy_program {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  return at;
}

void serve(int fd, const std::string& name) {
  std::string bytes;
  std::array<char, 4096> some{};
  for (;;) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) {
      const ssize_t n = recv(fd, some.data(), some.size(), 0);
      if (n <= 0) break;
      bytes.append(some.data(), static_cast<std::size_t>(n));
      continue;
    }
    if (bytes.starts_with("GET /slow ")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));  // What it is for.
    }
    bytes.erase(0, end + 4);
    const std::string answer =
        "HTTP/1.1 200 OK\r\ncontent-length: " + std::to_string(name.size()) + "\r\n\r\n" + name;
    if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
  }
  close(fd);
}

std::vector<std::string> with_shell(const std::vector<std::string>& arguments,
                                    const std::string& program) {
  std::vector<std::string> out = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", program, "proxy"};
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

std::uint16_t port_in(const std::string& line, const std::string& before) {
  const std::size_t at = line.find(before);
  if (at == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::atoi(line.c_str() + at + before.size()));
}

}  // namespace

int listening_socket() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in at = loopback(0);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) std::abort();
  if (listen(fd, 128) != 0) std::abort();
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

Backend::Backend(std::string name)
    : name_(std::move(name)), fd_(listening_socket()), thread_([this] { accept_all(); }) {}

Backend::~Backend() {
  ends_ = true;
  shutdown(fd_, SHUT_RDWR);
  thread_.join();
  close(fd_);
}

std::string Backend::url() const { return "http://127.0.0.1:" + std::to_string(port_of(fd_)); }

void Backend::accept_all() {
  while (!ends_) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    std::thread([fd, name = name_] { serve(fd, name); }).detach();
  }
}

std::string ask(std::uint16_t port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 3, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in at = loopback(port);
  std::string out;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> some{};
    ssize_t n = 0;
    while ((n = recv(fd, some.data(), some.size(), 0)) > 0) {
      out.append(some.data(), static_cast<std::size_t>(n));
    }
  }
  close(fd);
  return out;
}

std::string get(std::uint16_t port, const std::string& path) {
  const std::string answer =
      ask(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 200 ") || head == std::string::npos) return {};
  return answer.substr(head + 4);
}

std::string post(std::uint16_t port, const std::string& path, const std::string& body) {
  return ask(port, "POST " + path +
                       " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                       "Content-Type: application/json\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n\r\n" + body);
}

Callers::Callers(std::uint16_t port, const std::string& answer, int number) {
  for (int i = 0; i < number; ++i) {
    threads_.emplace_back([this, port, answer] {
      while (!stop_) {
        ++(get(port, "/") == answer ? answered_ : lost_);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // Their rate.
      }
    });
  }
}

bool Callers::wait_for_answers(int more) const {
  const int enough = answered_ + more;
  for (int i = 0; i < 500 && answered_ < enough; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return answered_ >= enough;
}

void Callers::stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Program::Program(const std::vector<std::string>& arguments, const std::string& program)
    : process(with_shell(arguments, program)) {}

bool Program::wait_until_it_serves() {
  for (;;) {
    const std::string line = process.read_line();
    if (line.starts_with("  listens") && port == 0) port = port_in(line, "127.0.0.1:");
    if (line.starts_with("  admin")) admin = port_in(line, "127.0.0.1:");
    if (line.starts_with("  try")) return port != 0;
    if (line.empty()) return false;
  }
}

std::string Program::wait_for(const std::string& text) {
  for (;;) {
    std::string line = process.read_line();
    if (line.empty() || line.find(text) != std::string::npos) return line;
  }
}

}  // namespace damper::proxy_program
