#include "damper/proxy/control/fleet_control.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

#include "damper/base/text/base64.h"
#include "damper/proxy/control/fleet_copy.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

// What etcd's gateway does, as far as it is asked: a range is answered, a watch tells of one change
// of the policy, and stays. With a real one: tests/proxy_program.
class FakeEtcd {
 public:
  explicit FakeEtcd(bool changes = true) : changes_(changes) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  FakeEtcd(const FakeEtcd&) = delete;
  FakeEtcd& operator=(const FakeEtcd&) = delete;
  ~FakeEtcd() {
    ends_ = true;
    shutdown(fd_, SHUT_RDWR);
    if (const int now = now_.load(); now >= 0) shutdown(now, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  // Ends the connection of now: all is read again on the next.
  void drop() const {
    if (const int now = now_.load(); now >= 0) shutdown(now, SHUT_RDWR);
  }
  [[nodiscard]] ControlAddress address() const {
    return *parse_control_address("etcd://127.0.0.1:" + std::to_string(port_) + "/d");
  }

 private:
  static std::string kv(const std::string& value) {
    return R"({"key":")" + text::to_base64("/d/policy") + R"(","value":")" +
           text::to_base64(value) + "\"}";
  }
  static std::string chunk(const std::string& text) {
    std::array<char, 32> size{};
    (void)std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
    return size.data() + text + "\r\n";
  }
  void serve() {
    while (!ends_) {
      const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      now_ = fd;
      std::array<char, 4096> some{};
      std::string bytes;
      ssize_t n = 0;
      while (!ends_ && (n = recv(fd, some.data(), some.size(), 0)) > 0) {
        bytes.append(some.data(), static_cast<std::size_t>(n));
        if (!bytes.ends_with('}')) continue;
        std::string answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        if (bytes.starts_with("POST /v3/kv/range ")) {
          answer += chunk(R"({"header":{"revision":"7"},"kvs":[)" + kv("A") + "]}") + "0\r\n\r\n";
        } else {
          answer += chunk("{\"result\":{\"header\":{\"revision\":\"7\"},\"created\":true}}\n");
          if (changes_) {
            answer += chunk(R"({"result":{"header":{"revision":"8"},"events":[{"kv":)" + kv("B") +
                            "}]}}\n");
          }
        }
        (void)send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
        bytes.clear();
      }
      now_ = -1;
      close(fd);
    }
  }

  const bool changes_;
  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
  std::atomic<bool> ends_ = false;
  std::atomic<int> now_ = -1;
  std::thread thread_;
};

// The calls, in order.
class Desk final : public FleetSink, public engine::EventSink {
 public:
  std::optional<std::string> on_policy(const std::string& text) override {
    say("policy " + text);
    return std::nullopt;
  }
  std::optional<std::string> on_switch(const std::string& scope,
                                       const std::optional<std::string>& text) override {
    say("switch " + scope + ' ' + text.value_or("gone"));
    return std::nullopt;
  }
  void on_event(const engine::Event& event) noexcept override {
    say(std::string(engine::name(event.kind)));
  }
  [[nodiscard]] bool hears(const std::string& what) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, 5s, [&] { return said_.find(what + ';') != std::string::npos; });
  }

 private:
  void say(const std::string& what) {
    const std::lock_guard lock(mutex_);
    said_ += what + ';';
    news_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable news_;
  std::string said_;
};

class FleetControlTest : public testing::Test {
 protected:
  ~FleetControlTest() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ =
      (std::filesystem::temp_directory_path() / ("damper-control-" + std::to_string(getpid())))
          .string();
  observe::Registry registry_;
  Desk desk_;
};

TEST_F(FleetControlTest, ReadsFirstThenWatchesAndKeepsTheCopy) {
  FakeEtcd etcd;
  {
    FleetControl control(etcd.address(), folder_);
    EXPECT_EQ(control.load(), std::nullopt);
    EXPECT_EQ(control.read_first(5s), std::nullopt);
    EXPECT_EQ(control.fleet().policy, "A");
    control.on_good_policy("A");
    control.start(desk_, desk_, registry_);
    EXPECT_TRUE(desk_.hears("policy B"));
    EXPECT_NE(registry_.expose().find("damper_control_connected 1"), std::string::npos);
  }
  EXPECT_EQ((*load_fleet(folder_))->policy, "B");
}

TEST_F(FleetControlTest, APolicyThatTheProxyDoesNotRunWithIsHandedOnAgainAtEachRead) {
  FakeEtcd etcd(false);
  FleetControl control(etcd.address(), folder_);
  EXPECT_EQ(control.read_first(5s), std::nullopt);  // "A": the proxy could not be started with it.
  control.start(desk_, desk_, registry_);
  etcd.drop();
  EXPECT_TRUE(desk_.hears("policy A"));
}

TEST_F(FleetControlTest, WithEtcdAwayTheCopyIsThereAndTheLossIsSaidOnce) {
  ASSERT_EQ(save_fleet(folder_, {"C", {{"route/a", "off"}}, 5}), std::nullopt);
  FleetControl control(*parse_control_address("etcd://127.0.0.1:1/d"), folder_);
  EXPECT_EQ(control.load(), std::nullopt);
  EXPECT_EQ(control.read_first(100ms), "connect_refused");
  EXPECT_EQ(control.fleet().policy, "C");
  EXPECT_EQ(control.good_policy(), "C");
  control.start(desk_, desk_, registry_);
  EXPECT_TRUE(desk_.hears("switch route/a off"));
  EXPECT_TRUE(desk_.hears("control_lost"));
  EXPECT_NE(registry_.expose().find("damper_control_connected 0"), std::string::npos);
}

}  // namespace
}  // namespace damper::proxy
