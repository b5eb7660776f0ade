// A minimal etcd client over its HTTP gateway, and an etcd process to stop and start.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "damper/http/client/blocking_client.h"

namespace etcd {

// The gateway uses JSON with keys and values in base64.
inline std::string base64(const std::string& text) {
  static const char* const kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += i + j > text.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
    }
  }
  return out;
}

// [gateway]
// One request to etcd. Reading twice and writing the same value twice are harmless, so it is
// declared idempotent although it is a POST.
inline damper::http::HttpResult ask(damper::http::BlockingClient& client, std::string path,
                                    std::string body) {
  damper::http::Request request;
  request.method = "POST";
  request.target = std::move(path);
  request.body = std::move(body);
  return client.request(std::move(request), {.deadline = damper::in(std::chrono::milliseconds(500)),
                                             .idempotent = true});
}
inline auto read(damper::http::BlockingClient& client, const std::string& key) {
  return ask(client, "/v3/kv/range", R"({"key":")" + base64(key) + R"("})");
}
inline bool has(const damper::http::HttpResult& found, const std::string& value) {
  return found &&
         found.answer()->body.find(R"("value":")" + base64(value) + '"') != std::string::npos;
}
inline auto write(damper::http::BlockingClient& client, const std::string& key,
                  const std::string& value) {
  return ask(client, "/v3/kv/put",
             R"({"key":")" + base64(key) + R"(","value":")" + base64(value) + R"("})");
}
// [/gateway]

// A real etcd process on a free port of 127.0.0.1, with its own data folder.
class Server {
 public:
  Server()
      : folder_(std::filesystem::temp_directory_path() /
                ("damper-etcd-" + std::to_string(getpid()))),
        client_port_(free_port()),
        peer_port_(free_port()) {
    start();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + client_port_; }

  void start() {
    const std::string peer = "http://127.0.0.1:" + peer_port_;
    const std::string data = folder_.string();
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execlp("etcd", "etcd", "--data-dir", data.c_str(), "--listen-client-urls", url().c_str(),
           "--advertise-client-urls", url().c_str(), "--listen-peer-urls", peer.c_str(),
           "--initial-advertise-peer-urls", peer.c_str(), "--initial-cluster",
           ("default=" + peer).c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  static std::string free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    std::string port;
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0) {
      port = std::to_string(ntohs(at.sin_port));
    }
    close(fd);
    return port;
  }

  const std::filesystem::path folder_;
  const std::string client_port_;
  const std::string peer_port_;
  pid_t pid_ = -1;
};

}  // namespace etcd
