#pragma once

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/check.h"
#include "damper/store/postgres/postgres.h"

namespace damper::store {

// A PostgresCluster is a PostgreSQL server of this test program, in a temporary folder, reached by
// a Unix socket in it.
//
// Model: created at the first use and shared by all tests of the process; each test has a schema of
// its own. The server runs as the user of the test, or as `postgres` if that is root, which
// PostgreSQL refuses. It gets SIGINT when the test program ends, however it ends.
// REQUIRES: get() is first called by the main thread: the kernel takes the end of the thread that
// started the server for that of its parent.
// Thread safety: none.
class PostgresCluster {
 public:
  static PostgresCluster& get() {
    static PostgresCluster cluster;
    return cluster;
  }
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;
  ~PostgresCluster() {
    stop(SIGINT);
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string url() const {
    return "postgres:///postgres?user=damper&host=" + folder_;
  }
  [[nodiscard]] std::unique_ptr<PgConnection> connect() const {
    auto opened = PgConnection::open(*PostgresUrl::parse(url()));
    if (!opened) ADD_FAILURE() << opened.error().sentence;
    return opened ? *std::move(opened) : nullptr;
  }
  // SIGQUIT: as after a crash. SIGINT: in order, without waiting for its clients.
  void stop(int signal) {
    if (server_ <= 0) return;
    (void)::kill(server_, signal);
    (void)::waitpid(server_, nullptr, 0);
    server_ = -1;
  }
  void start() {
    server_ =
        spawn({"postgres", "-D", folder_ + "/data", "-k", folder_, "-c", "listen_addresses=", "-c",
               "fsync=on", "-c", "max_connections=60", "-c", "shared_buffers=32MB"});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!PgConnection::open(*PostgresUrl::parse(url()))) {
      const bool ended = ::waitpid(server_, nullptr, WNOHANG) != 0;
      DAMPER_CHECK(!ended && std::chrono::steady_clock::now() < end);  // See its log, in folder_.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

 private:
  PostgresCluster() {
    std::string name = (std::filesystem::temp_directory_path() / "damper-pg-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    if (geteuid() == 0) {
      const passwd* const user = getpwnam("postgres");
      DAMPER_CHECK(user != nullptr);
      user_ = user->pw_uid;
      group_ = user->pw_gid;
      DAMPER_CHECK(::chown(folder_.c_str(), user_, group_) == 0);
    }
    const pid_t init = spawn({"initdb", "-D", folder_ + "/data", "-U", "damper", "-A", "trust",
                              "-E", "UTF8", "--locale=C", "--no-sync"});
    int status = 0;
    DAMPER_CHECK(::waitpid(init, &status, 0) == init && status == 0);
    start();
  }

  [[nodiscard]] static std::string program(const std::string& name) {
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql")) {
      if (const auto path = version.path() / "bin" / name; std::filesystem::exists(path)) {
        return path.string();
      }
    }
    return name;
  }

  [[nodiscard]] pid_t spawn(std::vector<std::string> words) const {
    words[0] = program(words[0]);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string log = folder_ + "/log";
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    if (user_ != 0 && (setgid(group_) != 0 || setuid(user_) != 0)) _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, SIGINT);  // After setuid(), which clears it.
    if (getppid() != parent || chdir(folder_.c_str()) != 0) _exit(126);
    if (freopen(log.c_str(), "a", stdout) == nullptr) _exit(126);
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0) _exit(126);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }

  std::string folder_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t server_ = -1;
};

}  // namespace damper::store
