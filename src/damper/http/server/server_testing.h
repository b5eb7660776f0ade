#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "damper/http/net/loop.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/http/server/server_metrics.h"
#include "damper/observe/registry.h"
#include "damper/run/clock.h"

namespace damper::http {

// A server on a thread of its own, with a sink or a handler of the test's.
class TestServer {
 public:
  using MakeSink = std::function<std::unique_ptr<RequestSink, std::function<void(RequestSink*)>>(
      Loop&, ServerMetrics&)>;

  explicit TestServer(Handler handler, ServerOptions options = {},
                      HandlerServiceOptions service = {})
      : TestServer(
            [handler = std::move(handler), service](Loop& on, ServerMetrics& counts) {
              return own(new HandlerService(on, handler, service, &counts));
            },
            std::move(options)) {}
  TestServer(const MakeSink& make, ServerOptions options) {
    sink_ = make(loop, metrics);
    server = std::make_unique<Server>(loop, std::move(options), *sink_, &metrics);
    const auto error = server->listen();
    EXPECT_FALSE(error) << *error;
    port = server->port();
    thread_ = std::thread([this] { loop.run(); });
  }
  ~TestServer() {
    run([this] { server.reset(); });
    loop.stop();
    thread_.join();
    EXPECT_EQ(metrics.connections(), 0);
  }

  template <class Sink>
  static std::unique_ptr<RequestSink, std::function<void(RequestSink*)>> own(Sink* sink) {
    return {sink, [](RequestSink* gone) { delete static_cast<Sink*>(gone); }};
  }

  // On the loop's thread, and waits for it.
  void run(const std::function<void()>& work) {
    std::promise<void> done;
    loop.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Whether `count` connections are closed with the reason, before long.
  [[nodiscard]] bool has_closed(CloseReason reason, std::uint64_t count = 1) {
    const Instant end = add(run::now(), std::chrono::seconds(5));
    while (metrics.closed(reason) < count && run::now() < end) run([] {});
    return metrics.closed(reason) == count;
  }

  observe::Registry registry;
  ServerMetrics metrics{registry, "test"};
  Loop loop;
  std::unique_ptr<Server> server;
  std::uint16_t port = 0;

 private:
  std::unique_ptr<RequestSink, std::function<void(RequestSink*)>> sink_;
  // A server that was drained leaves the loop nothing to wait for; tests still post to it.
  Loop::Work work_{loop};
  std::thread thread_;
};

// A client that says what the test wants, byte for byte. Blocks, but for five seconds at most.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(); }

  // How much of it the server took, until it closed.
  std::size_t send(std::string_view bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }
  // What comes until `enough` says so, or the end.
  std::string read_while(const std::function<bool(const std::string&)>& more) {
    while (more(got_)) {
      char buffer[16384];
      const ssize_t count = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (count <= 0) break;
      got_.append(buffer, static_cast<std::size_t>(count));
    }
    return std::exchange(got_, {});
  }
  std::string read_all() {
    return read_while([](const std::string&) { return true; });
  }
  // Up to the first `mark`, which is included; the rest is kept.
  std::string read_to(std::string_view mark) {
    std::string all =
        read_while([&](const std::string& got) { return got.find(mark) == std::string::npos; });
    if (const std::size_t at = all.find(mark); at != std::string::npos) {
      got_ = all.substr(at + mark.size());
      all.resize(at + mark.size());
    }
    return all;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close();
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
  std::string got_;
};

}  // namespace damper::http
