// `damper proxy` as a process. Under tsan: the program itself has threads, the test's are plain.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "damper/proxy/process/successor.h"
#include "proxy_program.h"

namespace damper::proxy_program {
namespace {

namespace fs = std::filesystem;

class ProxyProgram : public testing::Test {
 protected:
  ProxyProgram() { fs::create_directories(folder_); }
  ~ProxyProgram() override { fs::remove_all(folder_); }

  static std::string config(const std::string& to) {
    return "listeners: {web: {address: ':0'}}\nclusters: {c: {endpoints: [" + to + "]}}\n";
  }
  // As an editor does: another file takes its place.
  void write(const std::string& text) const {
    std::ofstream(file_ + ".new") << text;
    fs::rename(file_ + ".new", file_);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("damper-program-" + std::to_string(getpid()));
  const std::string file_ = (folder_ / "damper.yaml").string();
  const Backend a_{"A"};
};

TEST_F(ProxyProgram, ValidateSaysWhetherAFileIsRightAndStartsNothing) {
  write(config(a_.url()));
  Program good({"-c", file_, "--validate"});
  EXPECT_EQ(good.wait_for("valid"), file_ + " is valid: 1 listener, 1 cluster, 1 route");
  EXPECT_EQ(good.process.wait_for_end(), 0);
  write("listeners: {web: {adress: ':0'}}\n");
  Program bad({"-c", file_, "--validate"});
  EXPECT_NE(bad.wait_for("address").find(file_ + ":1:"), std::string::npos);
  EXPECT_EQ(bad.process.wait_for_end(), 2);
}

TEST_F(ProxyProgram, FlagsAreEnoughAndATakenPortIsASentence) {
  Program one({"--listen", ":0", "--to", a_.url(), "--admin", ":0"});
  ASSERT_TRUE(one.wait_until_it_serves());
  EXPECT_EQ(get(one.port, "/"), "A");
  EXPECT_EQ(get(one.admin, "/healthz"), "ok\n");
  // Another proxy's, too: they would share the port, and half of the requests.
  const std::string taken = ":" + std::to_string(one.port);
  Program two({"--listen", taken, "--to", a_.url(), "--admin", "off"});
  EXPECT_NE(two.wait_for("damper: ").find(taken), std::string::npos);
  EXPECT_EQ(two.process.wait_for_end(), 2);
  const std::string admin = ":" + std::to_string(one.admin);
  Program three({"--listen", ":0", "--to", a_.url(), "--admin", admin});
  EXPECT_NE(three.wait_for("damper: ").find("--admin"), std::string::npos);
  EXPECT_EQ(three.process.wait_for_end(), 2);
}

TEST_F(ProxyProgram, ReloadsOnChangeOnHupAndOverTheApiAndABadFileChangesNothing) {
  const Backend b("B");
  write(config(a_.url()));
  Program one({"-c", file_, "--admin", ":0"});
  ASSERT_TRUE(one.wait_until_it_serves());
  EXPECT_EQ(get(one.port, "/"), "A");
  write(config(b.url()));
  EXPECT_NE(one.wait_for("policy_reloaded").find("count=2"), std::string::npos);
  EXPECT_EQ(get(one.port, "/"), "B");
  write("nonsense: 1\n");
  EXPECT_NE(one.wait_for("policy_refused").find(":1:1"), std::string::npos);
  EXPECT_EQ(get(one.port, "/"), "B");
  EXPECT_EQ(post(one.admin, "/reload", "").find("HTTP/1.1 2"), std::string::npos);
  write(config(a_.url()));
  kill(one.process.pid(), SIGHUP);
  EXPECT_NE(one.wait_for("policy_reloaded").find("count="), std::string::npos);
  EXPECT_EQ(get(one.port, "/"), "A");
  EXPECT_TRUE(post(one.admin, "/reload", "").starts_with("HTTP/1.1 200"));
  EXPECT_NE(get(one.admin, "/metrics").find("damper_proxy_reloads_total{result=\"refused\"} 2"),
            std::string::npos);
  EXPECT_EQ(one.process.stop(), 0);
}

TEST_F(ProxyProgram, AReloadTakesAnotherTokenFileAndSaysWhatNeedsARestart) {
  const auto token = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  };
  const std::string one_file = token("one", "0123456789abcdef");
  const std::string two_file = token("two", "fedcba9876543210");
  const auto with = [&](const std::string& file, const std::string& address = ":0") {
    return config(a_.url()) + "admin: {address: '" + address + "', token_file: " + file + "}\n";
  };
  write(with(one_file));
  Program one({"-c", file_});
  ASSERT_TRUE(one.wait_until_it_serves());
  const auto reload = [&](const std::string& bearer) {
    return ask(one.admin,
               "POST /reload HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Authorization: Bearer " +
                   bearer + "\r\nContent-Length: 0\r\n\r\n")
        .substr(0, 12);
  };
  write(with(two_file));
  EXPECT_EQ(one.wait_for("policy_reloaded").find("restart"), std::string::npos);
  EXPECT_EQ(reload("0123456789abcdef"), "HTTP/1.1 401");
  EXPECT_EQ(reload("fedcba9876543210"), "HTTP/1.1 200");
  write(with("/nowhere"));
  EXPECT_NE(one.wait_for("policy_refused").find("/nowhere"), std::string::npos);
  EXPECT_EQ(reload("fedcba9876543210"), "HTTP/1.1 400");  // The file is still the bad one.
  write(with(two_file, ":1") + "threads: 7\n");
  EXPECT_NE(one.wait_for("policy_reloaded").find("threads and admin.address stay as they were"),
            std::string::npos);
  EXPECT_EQ(reload("fedcba9876543210"), "HTTP/1.1 200");
}

TEST_F(ProxyProgram, TermAnswersWhatIsUnderWayThenEnds) {
  Program one({"--listen", ":0", "--to", a_.url(), "--admin", "off"});
  ASSERT_TRUE(one.wait_until_it_serves());
  std::string slow;
  std::thread client([&] { slow = get(one.port, "/slow"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // It is under way.
  kill(one.process.pid(), SIGTERM);
  EXPECT_NE(one.wait_for("draining"), "");
  for (int i = 0; i < 100 && !get(one.port, "/").empty(); ++i) {  // Until it takes no new ones.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(get(one.port, "/"), "");
  client.join();
  EXPECT_EQ(slow, "A");
  EXPECT_EQ(one.process.wait_for_end(), 0);
}

TEST_F(ProxyProgram, TheSecondTermEndsItAtOnce) {
  Program one({"--listen", ":0", "--to", a_.url(), "--admin", "off"});
  ASSERT_TRUE(one.wait_until_it_serves());
  std::thread client([&] { (void)get(one.port, "/slow"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(one.process.pid(), SIGTERM);
  EXPECT_NE(one.wait_for("draining"), "");
  kill(one.process.pid(), SIGINT);
  EXPECT_EQ(one.process.wait_for_end(), 130);
  client.join();
}

TEST_F(ProxyProgram, AnUpgradeUnderLoadLosesNoRequest) {
  write(config(a_.url()));
  Program one({"-c", file_, "--admin", ":0"});
  ASSERT_TRUE(one.wait_until_it_serves());
  Callers callers(one.port, "A");
  std::string slow;
  std::thread client([&] { slow = get(one.port, "/slow"); });
  kill(one.process.pid(), SIGUSR2);
  const std::string line = one.wait_for("event=upgraded");
  const auto at = line.find("count=");
  ASSERT_NE(at, std::string::npos) << line;
  const pid_t next = std::atoi(line.c_str() + at + 6);
  EXPECT_EQ(one.process.wait_for_end(), 0);
  EXPECT_TRUE(callers.wait_for_answers(50));  // By the new one, on the same port.
  EXPECT_EQ(get(one.admin, "/healthz"), "ok\n");
  callers.stop();
  client.join();
  EXPECT_EQ(slow, "A");
  EXPECT_EQ(callers.lost(), 0);
  kill(next, SIGKILL);
}

TEST_F(ProxyProgram, AnUpgradeThatFailsChangesNothing) {
  write(config(a_.url()));
  Program one({"-c", file_, "--admin", "off"});
  ASSERT_TRUE(one.wait_until_it_serves());
  write("nonsense: 1\n");
  EXPECT_NE(one.wait_for("policy_refused"), "");
  kill(one.process.pid(), SIGUSR2);
  EXPECT_NE(one.wait_for("upgrade_failed").find("it exited with status 2"), std::string::npos);
  EXPECT_EQ(get(one.port, "/"), "A");
  EXPECT_EQ(one.process.stop(), 0);
}

TEST_F(ProxyProgram, TakesTheSocketsThatSystemdOpened) {
  const int fd = listening_socket();
  proxy::SuccessorPlan plan{.command = {.path = DAMPER_PROGRAM,
                                        .arguments = {"damper", "proxy", "--listen", ":0", "--to",
                                                      a_.url(), "--admin", "off"}},
                            .sockets = {{"damper.socket", fd}},
                            .signals = {}};
  sigemptyset(&plan.signals);
  auto activated = proxy::Successor::start(plan);
  ASSERT_TRUE(activated) << activated.error();
  const std::uint16_t port = port_of(fd);
  close(fd);
  EXPECT_EQ(activated->on_ready(), proxy::Successor::State::ready);
  EXPECT_EQ(get(port, "/"), "A");
  kill(activated->pid(), SIGTERM);
  int status = 0;
  waitpid(activated->pid(), &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace damper::proxy_program
