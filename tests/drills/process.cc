#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace damper::drills {

Process::Process(const std::vector<std::string>& command) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // Between fork and exec only what is safe in a process that had threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    dup2(pipe_ends[1], STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  output_ = pipe_ends[0];
  if (pid_ < 0) {
    close(output_);
    throw std::system_error(errno, std::generic_category(), "fork");
  }
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      read_(std::move(other.read_)) {}

std::string Process::read_line() {
  for (;;) {
    if (const auto end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    std::array<char, 4096> bytes{};
    if (poll(&ready, 1, 10'000) <= 0) return {};
    const ssize_t n = ::read(output_, bytes.data(), bytes.size());
    if (n <= 0) return {};
    read_.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

int Process::wait() noexcept {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (output_ >= 0) close(std::exchange(output_, -1));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Process::kill() noexcept {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  (void)wait();
}

int Process::stop() noexcept {
  if (pid_ <= 0) return 0;
  ::kill(pid_, SIGTERM);
  return wait();
}

void Process::pause() noexcept { ::kill(pid_, SIGSTOP); }
void Process::resume() noexcept { ::kill(pid_, SIGCONT); }

}  // namespace damper::drills
