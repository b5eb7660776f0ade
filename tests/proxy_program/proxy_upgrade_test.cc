// What a process of `damper proxy` hands over to the next one, and what systemd hands to it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "proxy_program.h"

namespace damper::proxy_program {
namespace {

namespace fs = std::filesystem;

// The process id in the line of event=upgraded.
pid_t successor_in(const std::string& line) {
  const auto at = line.find("count=");
  return at == std::string::npos ? 0 : std::atoi(line.c_str() + at + 6);
}

class ProxyUpgrade : public testing::Test {
 protected:
  ProxyUpgrade() { fs::create_directories(folder_); }
  ~ProxyUpgrade() override {
    if (next_ > 0) kill(next_, SIGKILL);
    fs::remove_all(folder_);
  }

  // Starts the next one, and waits until it serves.
  void upgrade(Program& one) {
    kill(one.process.pid(), SIGUSR2);
    const std::string line = one.wait_for("event=upgraded");
    next_ = successor_in(line);
    ASSERT_GT(next_, 0) << line;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("damper-upgrade-" + std::to_string(getpid()));
  const Backend a_{"A"};
  pid_t next_ = 0;  // killed at the end
};

// What a service manager hears.
class Manager {
 public:
  Manager() {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const std::string name = "damper-upgrade-" + std::to_string(getpid());
    std::copy(name.begin(), name.end(), at.sun_path + 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() {
    unsetenv("NOTIFY_SOCKET");
    close(fd_);
  }
  // Everything so far.
  [[nodiscard]] std::string heard() const {
    std::string out;
    std::array<char, 4096> some{};
    ssize_t n = 0;
    while ((n = recv(fd_, some.data(), some.size(), 0)) > 0) {
      out.append(some.data(), static_cast<std::size_t>(n)).append("\n");
    }
    return out;
  }

 private:
  const int fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
};

TEST_F(ProxyUpgrade, HandsOverWhatIsOffAndTheServiceGoesOn) {
  const Manager manager;
  Program one({"--listen", ":0", "--to", a_.url(), "--admin", ":0"});
  ASSERT_TRUE(one.wait_until_it_serves());
  const std::string order = R"({"switch":"retries","off":true,"reason":"drill","for":"5m"})";
  const std::string answer =
      ask(one.admin,
          "PUT /switches HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
          "Content-Type: application/json\r\nContent-Length: " +
              std::to_string(order.size()) + "\r\n\r\n" + order);
  ASSERT_TRUE(answer.starts_with("HTTP/1.1 2")) << answer;
  upgrade(one);
  EXPECT_EQ(one.process.wait_for_end(), 0);
  EXPECT_NE(get(one.admin, "/switches").find("drill"), std::string::npos);
  EXPECT_EQ(get(one.port, "/"), "A");
  const std::string heard = manager.heard();
  EXPECT_NE(heard.find("READY=1"), std::string::npos) << heard;
  EXPECT_NE(heard.find("MAINPID=" + std::to_string(next_)), std::string::npos) << heard;
  EXPECT_EQ(heard.find("STOPPING=1"), std::string::npos) << heard;
}

TEST_F(ProxyUpgrade, ATermAfterItIsTheFirstOne) {
  Program one({"--listen", ":0", "--to", a_.url(), "--admin", "off"});
  ASSERT_TRUE(one.wait_until_it_serves());
  std::string slow;
  std::thread client([&] { slow = get(one.port, "/slow"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // It is under way.
  upgrade(one);
  kill(one.process.pid(), SIGTERM);
  EXPECT_EQ(one.process.wait_for_end(), 0);
  client.join();
  EXPECT_EQ(slow, "A");
}

TEST_F(ProxyUpgrade, ATermBeforeTheNextOneServesEndsBoth) {
  const fs::path program = folder_ / "damper";
  fs::create_symlink(DAMPER_PROGRAM, program);
  Program one({"--listen", ":0", "--to", a_.url(), "--admin", "off"}, program);
  ASSERT_TRUE(one.wait_until_it_serves());
  fs::remove(program);  // The next version never gets so far.
  std::ofstream(program) << "#!/bin/sh\necho next is $$ >&2\nexec sleep 60\n";
  fs::permissions(program, fs::perms::owner_all);
  kill(one.process.pid(), SIGUSR2);
  const std::string line = one.wait_for("next is ");
  ASSERT_NE(line, "");
  next_ = std::atoi(line.c_str() + 8);
  ASSERT_GT(next_, 0);
  kill(one.process.pid(), SIGTERM);
  EXPECT_NE(one.wait_for("upgrade_failed"), "");
  EXPECT_EQ(one.process.wait_for_end(), 0);
  EXPECT_NE(kill(next_, 0), 0);
  next_ = 0;
}

TEST_F(ProxyUpgrade, ASocketOfSystemdsIsUsedWhateverItsPortAndKept) {
  const int fd = listening_socket();
  const std::uint16_t port = port_of(fd);
  const int other = listening_socket();  // A port that is free when it is closed.
  const std::string file = (folder_ / "damper.yaml").string();
  std::ofstream(file) << "listeners: {web: {address: ':" << port_of(other)
                      << "'}}\nclusters: {c: {endpoints: [" << a_.url() << "]}}\nadmin: off\n";
  close(other);
  fcntl(fd, F_SETFD, 0);
  const std::string start = "exec 3<&" + std::to_string(fd) +
                            "; export LISTEN_FDS=1 LISTEN_FDNAMES=web LISTEN_PID=$$; "
                            "exec \"$0\" proxy -c \"$1\" 2>&1";
  drills::Process process({"/bin/bash", "-c", start, DAMPER_PROGRAM, file});
  close(fd);
  const auto wait_for = [&](const std::string& text) {
    for (;;) {
      std::string line = process.read_line();
      if (line.empty() || line.find(text) != std::string::npos) return line;
    }
  };
  ASSERT_NE(wait_for("  try"), "");
  EXPECT_EQ(get(port, "/"), "A");
  kill(process.pid(), SIGHUP);
  EXPECT_NE(wait_for("policy_reloaded"), "");
  EXPECT_EQ(get(port, "/"), "A");
  kill(process.pid(), SIGUSR2);
  next_ = successor_in(wait_for("event=upgraded"));
  ASSERT_GT(next_, 0);
  EXPECT_EQ(process.wait_for_end(), 0);
  EXPECT_EQ(get(port, "/"), "A");
}

}  // namespace
}  // namespace damper::proxy_program
