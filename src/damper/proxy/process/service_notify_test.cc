#include "damper/proxy/process/service_notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

// A manager's socket, with an abstract name or a path.
class Manager {
 public:
  explicit Manager(const std::string& name) : name_(name) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name.copy(at.sun_path, sizeof at.sun_path - 1);
    if (name[0] == '@') at.sun_path[0] = '\0';
    const auto size = offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '/' ? 1 : 0);
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (name[0] == '/') unlink(name.c_str());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&at), static_cast<socklen_t>(size)), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() {
    unsetenv("NOTIFY_SOCKET");
    close(fd_);
    if (name_[0] == '/') unlink(name_.c_str());
  }
  [[nodiscard]] std::string heard() const {
    std::array<char, 4096> bytes{};
    const ssize_t n = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return n < 0 ? "nothing" : std::string(bytes.data(), static_cast<std::size_t>(n));
  }

 private:
  const std::string name_;
  int fd_ = -1;
};

TEST(ServiceNotify, SaysHowTheProcessIsToAPathAndToAnAbstractName) {
  const std::string own = "damper-notify-" + std::to_string(getpid());
  for (const std::string& name : {"/tmp/" + own, "@" + own}) {
    const Manager manager(name);
    const ServiceNotify notify;
    notify.ready("2 listeners\nMAINPID=1");  // A line feed would be another variable.
    EXPECT_EQ(manager.heard(), "READY=1\nSTATUS=2 listeners MAINPID=1");
    notify.reloading(Instant{5ms});
    EXPECT_EQ(manager.heard(), "RELOADING=1\nMONOTONIC_USEC=5000");
    notify.stopping("draining");
    EXPECT_EQ(manager.heard(), "STOPPING=1\nSTATUS=draining");
    notify.main_pid(42);
    EXPECT_EQ(manager.heard(), "MAINPID=42");
    notify.alive();
    EXPECT_EQ(manager.heard(), "WATCHDOG=1");
  }
}

TEST(ServiceNotify, WithoutAManagerItSaysNothing) {
  for (const char* name : {"", "x", "@", "relative/path", "/tmp/damper-nobody-listens-here"}) {
    setenv("NOTIFY_SOCKET", name, 1);
    const ServiceNotify notify;
    notify.ready("well");
  }
  setenv("NOTIFY_SOCKET", ("/" + std::string(500, 'x')).c_str(), 1);
  const ServiceNotify notify;
  notify.ready("well");
  unsetenv("NOTIFY_SOCKET");
}

TEST(ServiceNotify, TheWatchdogHearsTwiceInItsTimeIfItAsksThisProcess) {
  setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(ServiceNotify().watchdog_every(), 1500ms);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(ServiceNotify().watchdog_every(), 1500ms);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceNotify().watchdog_every(), std::nullopt);
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "1", 1);
  EXPECT_EQ(ServiceNotify().watchdog_every(), 10ms);
  for (const char* nonsense : {"0", "-5", "x", "9223372036854775807"}) {
    setenv("WATCHDOG_USEC", nonsense, 1);
    EXPECT_EQ(ServiceNotify().watchdog_every(), std::nullopt) << nonsense;
  }
  unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace damper::proxy
