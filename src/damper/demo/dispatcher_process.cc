#include "damper/demo/dispatcher_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>

namespace damper::demo {
namespace {

constexpr int kPatienceMs = 30'000;
constexpr std::string_view kServing = "serving on http://127.0.0.1:";

// The port in "damper webhooks: serving on http://127.0.0.1:PORT, ..."; 0: not yet.
[[nodiscard]] std::uint16_t port_in(std::string_view text) {
  const std::size_t at = text.find(kServing);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + kServing.size());
  if (rest.find(',') == std::string_view::npos) return 0;
  std::uint16_t port = 0;
  (void)std::from_chars(rest.data(), rest.data() + rest.size(), port);
  return port;
}

}  // namespace

Expected<DispatcherProcess> DispatcherProcess::start(const std::string& program,
                                                     const std::string& config,
                                                     const std::string& log) {
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::array<int, 2> ends{};
  if (out < 0 || pipe2(ends.data(), O_CLOEXEC) != 0) {
    const std::string why = std::generic_category().message(errno);
    if (out >= 0) close(out);
    return unexpected("the log " + log + " cannot be written: " + why);
  }
  std::array<std::string, 5> words = {program, "webhooks", "serve", "-c", config};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    // Between fork and exec only what is safe in a process that had threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    setpgid(0, 0);  // ^C is the parent's.
    dup2(out, STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(out);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return unexpected(std::string("no process can be started"));
  }
  DispatcherProcess started(pid, ends[0]);
  std::string read;
  while (started.port_ == 0) {
    pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
    std::array<char, 4096> bytes{};
    if (poll(&ready, 1, kPatienceMs) <= 0) return unexpected("the dispatcher does not start");
    const ssize_t size = ::read(ends[0], bytes.data(), bytes.size());
    if (size <= 0) return unexpected("the dispatcher does not start: " + read);
    read.append(bytes.data(), static_cast<std::size_t>(size));
    started.port_ = port_in(read);
  }
  return started;
}

DispatcherProcess::DispatcherProcess(DispatcherProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      port_(other.port_) {}

DispatcherProcess& DispatcherProcess::operator=(DispatcherProcess&& other) noexcept {
  if (this == &other) return *this;
  kill();
  pid_ = std::exchange(other.pid_, -1);
  errors_ = std::exchange(other.errors_, -1);
  port_ = other.port_;
  return *this;
}

int DispatcherProcess::wait() noexcept {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  close(std::exchange(errors_, -1));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void DispatcherProcess::kill() noexcept {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  (void)wait();
}

int DispatcherProcess::stop() noexcept {
  if (pid_ <= 0) return 0;
  ::kill(pid_, SIGTERM);
  return wait();
}

}  // namespace damper::demo
