#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/expected.h"
#include "damper/proxy/admin/orders.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// The command that starts the same program again: the file that has its name now, and the same
// arguments.
struct OwnCommand {
  std::string path;
  std::vector<std::string> arguments;  // the first is the program's name
};
// REQUIRES: the working directory is still that of the start, for a relative name.
[[nodiscard]] Expected<OwnCommand> find_own_command();
// The path: `name` if it has a slash; else the first file of that name in PATH; else `running`, the
// file of this process.
[[nodiscard]] std::string own_path(const std::string& name, const std::string& folder,
                                   const std::string& path_variable, std::string running);

struct SuccessorPlan {
  OwnCommand command;
  std::vector<std::pair<std::string, int>> sockets;  // listening, with their names
  std::string message{};                             // what it has to know beside; may be empty
  sigset_t signals{};                                // its signal mask
};

// A Successor is a new process of the same program that inherits the listening sockets and replaces
// this process: an upgrade without a refused connection.
//
// Model: the sockets are passed by the protocol of listen_fds.h, like systemd's. When the new
// process serves, it writes a byte to a pipe, whose number is in DAMPER_READY_FD. If the pipe ends
// without it, the new process has failed. The plan's message is in a file in memory, whose number
// is in DAMPER_HANDOVER_FD. No other descriptor of this process is open in it.
// Thread safety: none. May be started while other threads run: no lock is taken between fork and
// exec.
class Successor {
 public:
  enum class State : std::uint8_t { starting, ready, failed };

  // One sentence says why there is no new process.
  [[nodiscard]] static Expected<Successor> start(const SuccessorPlan& plan);
  Successor(Successor&& other) noexcept;
  Successor& operator=(Successor&& other) = delete;
  ~Successor();  // Leaves the process alone.

  // Readable when there is news: ask on_ready() for the state then.
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] State on_ready() noexcept;
  // Asks it to end: one that serves drains first.
  void ask_to_end() noexcept;
  // Ends it, if it has not ended; one sentence on how it ended.
  [[nodiscard]] std::string end() noexcept;
  // At once, and without a wait.
  void kill_now() noexcept;
  [[nodiscard]] bool has_ended() const noexcept;

 private:
  Successor(pid_t pid, int fd) noexcept : pid_(pid), fd_(fd) {}

  pid_t pid_ = -1;
  int fd_ = -1;
};

// The descriptor for say_ready(), which reports to the predecessor that this process serves;
// nothing: there is no predecessor. Once, before other threads are started.
[[nodiscard]] std::optional<int> take_ready_fd();
// The message of the predecessor; empty: there is none. Once, before other threads are started.
[[nodiscard]] std::string take_message();
void say_ready(int fd) noexcept;

// A Handover is the message of a proxy to its successor, beside its sockets.
//
// Why: an upgrade must not turn a switch on that an operator has turned off, nor release a breaker
// that an operator holds.
// Model: lines of text: a SwitchOrder in JSON for each switch that is off, and a BreakerOrder for
// each breaker that is forced, with the remaining time;
// "given NAME" for each listener with a socket from systemd on another port than the file's. An
// unknown line is ignored: the other process may have another version.
// Invariants:
//   (1) parse_handover(print_handover(h)) is h.
struct Handover {
  std::vector<SwitchOrder> switches{};
  std::vector<BreakerOrder> breakers{};
  std::vector<std::string> given{};

  friend bool operator==(const Handover&, const Handover&) = default;
};

[[nodiscard]] Handover handover_of(const std::vector<ScopeState>& scopes,
                                   const std::vector<ForcedBreaker>& forced,
                                   const std::vector<InheritedSocket>& sockets);
[[nodiscard]] std::string print_handover(const Handover& handover);
[[nodiscard]] Handover parse_handover(std::string_view text);

}  // namespace damper::proxy
