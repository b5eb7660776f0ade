#include "damper/proxy/process/successor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "damper/base/text/words.h"
#include "damper/proxy/process/listen_fds.h"

namespace damper::proxy {
namespace {

constexpr const char* kReady = "DAMPER_READY_FD";
constexpr const char* kMessage = "DAMPER_HANDOVER_FD";
constexpr std::array<std::string_view, 6> kOurVariables = {
    "LISTEN_PID=",      "LISTEN_FDS=",         "LISTEN_FDNAMES=",
    "DAMPER_READY_FD=", "DAMPER_HANDOVER_FD=", "WATCHDOG_PID="};
constexpr std::size_t kMostMessageBytes = std::size_t{4} << 20;
constexpr std::size_t kMostCommandBytes = std::size_t{1} << 20;
constexpr std::string_view kPid = "LISTEN_PID=";

std::vector<std::string> environment_for(const SuccessorPlan& plan) {
  std::vector<std::string> out;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    const bool ours = std::any_of(kOurVariables.begin(), kOurVariables.end(),
                                  [&](std::string_view name) { return text.starts_with(name); });
    if (!ours) out.emplace_back(text);
  }
  std::vector<std::string> names;
  names.reserve(plan.sockets.size());
  for (const auto& socket : plan.sockets) names.push_back(socket.first);
  out.push_back("LISTEN_FDS=" + std::to_string(names.size()));
  out.push_back("LISTEN_FDNAMES=" + join_fd_names(names));
  const int next = kFirstListenFd + static_cast<int>(names.size());
  out.push_back(std::string(kReady) + '=' + std::to_string(next));
  if (!plan.message.empty()) {
    out.push_back(std::string(kMessage) + '=' + std::to_string(next + 1));
  }
  out.push_back(std::string(kPid) + std::string(20, ' '));  // Filled in by the child.
  return out;
}

// What exec takes; only the child's own copy modifies the texts.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Safe between fork and exec: no lock, no allocation.
void write_number(char* to, pid_t number) noexcept {
  std::array<char, 20> digits{};
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
}

[[noreturn]] void become(const char* path, char* const* arguments, char* const* environment,
                         char* pid_text, const int* fds, int count, const sigset_t* signals) {
  // Those are all above the places they go to: see start().
  for (int i = 0; i < count; ++i) dup2(fds[i], kFirstListenFd + i);
  close_range(static_cast<unsigned>(kFirstListenFd + count), ~0U, 0);
  write_number(pid_text, getpid());
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, signals, nullptr);
  execve(path, arguments, environment);
  _exit(127);
}

// A file in memory with the text, to be read from its beginning; -1: there is none.
int message_fd(std::string_view text) {
  const int fd = memfd_create("damper-handover", MFD_CLOEXEC);
  while (fd >= 0 && !text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      close(fd);
      return -1;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fd >= 0) (void)lseek(fd, 0, SEEK_SET);
  return fd;
}

// The descriptor whose number a variable of ours says, which is unset.
std::optional<int> take_fd(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const auto fd = text::find_number<int>(value);
  unsetenv(variable);
  if (!fd || *fd < kFirstListenFd || fcntl(*fd, F_SETFD, FD_CLOEXEC) != 0) return std::nullopt;
  return fd;
}

std::string sentence_of(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return "its file could not be run";
  if (WIFEXITED(status)) return "it exited with status " + std::to_string(WEXITSTATUS(status));
  return "it was ended by signal " + std::to_string(WTERMSIG(status));
}

constexpr std::string_view kGiven = "given ";
constexpr std::string_view kNoReason = "no reason was given";  // An order has one.

}  // namespace

std::string own_path(const std::string& name, const std::string& folder,
                     const std::string& path_variable, std::string running) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (name.find('/') != std::string::npos) {
    const fs::path path = fs::path(folder) / name;  // An absolute name stays.
    if (fs::exists(path, error)) return path.string();
  } else {
    std::string_view rest = path_variable;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      const fs::path path = fs::path(folder) / rest.substr(0, end) / name;
      if (access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) {
        return path.string();
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  constexpr std::string_view kDeleted = " (deleted)";  // The file was replaced.
  if (running.ends_with(kDeleted)) running.resize(running.size() - kDeleted.size());
  return running;
}

Expected<OwnCommand> find_own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(kMostCommandBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  OwnCommand out;
  for (std::size_t at = 0; at < text.size();) {
    out.arguments.emplace_back(text.c_str() + at);
    at += out.arguments.back().size() + 1;
  }
  std::error_code error;
  const auto running = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = std::filesystem::current_path(error);
  if (out.arguments.empty() || text.size() == kMostCommandBytes || running.empty()) {
    return unexpected("how this process was started cannot be read from /proc/self");
  }
  const char* const path = std::getenv("PATH");
  out.path =
      own_path(out.arguments[0], folder.string(), path != nullptr ? path : "", running.string());
  return out;
}

Expected<Successor> Successor::start(const SuccessorPlan& plan) {
  if (getpid() == 1) {
    return unexpected(
        "this is process 1: its container would end with it; replace the container instead");
  }
  const auto failed = [](const char* what) {
    return unexpected(std::string(what) + ": " + std::strerror(errno));
  };
  if (plan.sockets.size() > static_cast<std::size_t>(kMostListenFds) ||
      plan.message.size() > kMostMessageBytes) {
    return unexpected(std::string("there is more to hand over than a new process takes"));
  }
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) return failed("no pipe to the new process");
  // Each in a place above those that they go to, so that no dup2() overwrites another.
  std::vector<int> fds;
  fds.reserve(plan.sockets.size() + 2);
  const int above = kFirstListenFd + static_cast<int>(plan.sockets.size()) + 2;
  for (const auto& socket : plan.sockets) {
    fds.push_back(fcntl(socket.second, F_DUPFD_CLOEXEC, above));
  }
  fds.push_back(fcntl(pipe[1], F_DUPFD_CLOEXEC, above));
  if (!plan.message.empty()) {
    const int message = message_fd(plan.message);
    fds.push_back(message < 0 ? -1 : fcntl(message, F_DUPFD_CLOEXEC, above));
    if (message >= 0) close(message);
  }
  std::vector<std::string> arguments = plan.command.arguments;
  std::vector<std::string> environment = environment_for(plan);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  char* const pid_text = environment.back().data() + kPid.size();
  const bool whole = std::all_of(fds.begin(), fds.end(), [](int fd) { return fd >= 0; });
  const pid_t pid = whole ? fork() : -1;
  if (pid == 0) {
    become(plan.command.path.c_str(), argument_pointers.data(), environment_pointers.data(),
           pid_text, fds.data(), static_cast<int>(fds.size()), &plan.signals);
  }
  const int why = errno;
  for (const int fd : fds) {
    if (fd >= 0) close(fd);
  }
  close(pipe[1]);
  if (pid > 0) return Successor(pid, pipe[0]);
  close(pipe[0]);
  errno = why;
  return failed("no new process");
}

Successor::Successor(Successor&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), fd_(std::exchange(other.fd_, -1)) {}

Successor::~Successor() {
  if (fd_ >= 0) close(fd_);
}

Successor::State Successor::on_ready() noexcept {
  char byte = 0;
  for (;;) {
    const ssize_t n = read(fd_, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    return n == 1 ? State::ready : State::failed;
  }
}

void Successor::ask_to_end() noexcept { kill(pid_, SIGTERM); }

void Successor::kill_now() noexcept { kill(pid_, SIGKILL); }

bool Successor::has_ended() const noexcept {
  siginfo_t info{};
  const int asked = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return asked == 0 && info.si_pid == pid_;
}

std::string Successor::end() noexcept {
  int status = 0;
  // One that has just closed the pipe is about to end: what it says is worth 100 ms.
  for (int i = 0; i < 100; ++i) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) return sentence_of(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(pid_, SIGKILL);
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return "it did not say in time that it serves, and was ended";
}

std::optional<int> take_ready_fd() {
  const auto fd = take_fd(kReady);
  struct stat about {};
  if (!fd || fstat(*fd, &about) != 0 || !S_ISFIFO(about.st_mode)) return std::nullopt;
  return fd;
}

std::string take_message() {
  const auto fd = take_fd(kMessage);
  struct stat about {};
  if (!fd || fstat(*fd, &about) != 0 || !S_ISREG(about.st_mode)) return {};
  std::string text;
  std::array<char, 4096> some{};
  ssize_t n = 0;
  while (text.size() <= kMostMessageBytes && (n = read(*fd, some.data(), some.size())) > 0) {
    text.append(some.data(), static_cast<std::size_t>(n));
  }
  close(*fd);
  return text.size() <= kMostMessageBytes ? text : std::string();
}

void say_ready(int fd) noexcept {
  const char byte = 1;
  while (write(fd, &byte, 1) < 0 && errno == EINTR) {
  }
  close(fd);
}

Handover handover_of(const std::vector<ScopeState>& scopes,
                     const std::vector<ForcedBreaker>& forced,
                     const std::vector<InheritedSocket>& sockets) {
  Handover out;
  for (const ScopeState& scope : scopes) {
    for (std::size_t i = 0; i < scope.switches.size(); ++i) {
      const admit::SwitchStatus& status = scope.switches[i];
      if (!status.off) continue;
      SwitchOrder order{.scope = scope.scope,
                        .which = static_cast<admit::Switch>(i),
                        .off = true,
                        .reason = status.reason};
      if (status.remaining < kLongest) order.length = status.remaining;
      if (order.reason.empty()) order.reason = kNoReason;
      out.switches.push_back(std::move(order));
    }
  }
  for (const ForcedBreaker& one : forced) {
    using Setting = admit::BreakerForceSetting;
    out.breakers.push_back(
        {.scope = one.scope,
         .replica = one.replica,
         .force = one.status.force,
         .reason = one.status.reason.empty() ? std::string(kNoReason) : one.status.reason,
         .length = std::max(one.status.remaining, Setting::kLength.low)});
  }
  for (const InheritedSocket& socket : sockets) {
    if (!socket.any_port) continue;
    if (std::find(out.given.begin(), out.given.end(), socket.listener) != out.given.end()) continue;
    out.given.push_back(socket.listener);
  }
  return out;
}

std::string print_handover(const Handover& handover) {
  std::string out;
  for (const SwitchOrder& order : handover.switches) out += print_order(order) + '\n';
  for (const BreakerOrder& order : handover.breakers) out += print_breaker_order(order) + '\n';
  for (const std::string& name : handover.given) out += std::string(kGiven) + name + '\n';
  return out;
}

Handover parse_handover(std::string_view text) {
  Handover out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kGiven)) {
      out.given.emplace_back(line.substr(kGiven.size()));
    } else if (auto order = parse_switch_order(line)) {
      out.switches.push_back(*std::move(order));
    } else if (auto breaker = parse_breaker_order(line)) {
      out.breakers.push_back(*std::move(breaker));
    }
  }
  return out;
}

}  // namespace damper::proxy
