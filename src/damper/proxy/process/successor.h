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
#include "damper/proxy/admin/switch_order.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// How the same program is started anew: the file that is there now under the name it was started
// by, and the same arguments.
struct OwnCommand {
  std::string path;
  std::vector<std::string> arguments;  // the first is the program's name
};
// REQUIRES: asked at the start: a relative name is one of the folder that we were started in.
[[nodiscard]] Expected<OwnCommand> find_own_command();
// The path: `name` as it was called, with a slash; or the first file of PATH of that name; or the
// file that we run, if that is no longer clear.
[[nodiscard]] std::string own_path(const std::string& name, const std::string& folder,
                                   const std::string& path_variable, std::string running);

struct SuccessorPlan {
  OwnCommand command;
  std::vector<std::pair<std::string, int>> sockets;  // listening, with their names
  std::string message{};                             // what it has to know beside; may be empty
  sigset_t signals{};                                // its signal mask
};

// A Successor is a process of the same program, started anew, that gets our listening sockets and
// then takes our place: an upgrade without a connection refused.
//
// Model: the sockets go by listen_fds.h's protocol, as systemd's do. When the new process serves,
// it writes a byte to a pipe, whose number is in DAMPER_READY_FD. If the pipe ends without it, the
// new process has failed. The plan's message is in a file in memory, whose number is in
// DAMPER_HANDOVER_FD. Nothing else of ours is open in it.
// Thread safety: none. May be started while there are threads: between fork and exec nothing is
// done that needs a lock.
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

// Tells the process that we are to replace that we serve; without one, nothing. Once, before
// there are threads: take_ready_fd(); later: say_ready().
[[nodiscard]] std::optional<int> take_ready_fd();
// The message of the process that we are to replace; empty: there is none. As take_ready_fd().
[[nodiscard]] std::string take_message();
void say_ready(int fd) noexcept;

// A Handover is the message of a proxy to its successor, beside its sockets.
//
// Why: an upgrade must not turn a switch on that an operator has turned off.
// Model: lines of text: a SwitchOrder in JSON for each switch that is off, with the remaining time;
// "given NAME" for each listener with a socket from systemd on another port than the file's. An
// unknown line is ignored: the other process may have another version.
// Invariants:
//   (1) parse_handover(print_handover(h)) is h.
struct Handover {
  std::vector<SwitchOrder> switches{};
  std::vector<std::string> given{};

  friend bool operator==(const Handover&, const Handover&) = default;
};

[[nodiscard]] Handover handover_of(const std::vector<ScopeState>& scopes,
                                   const std::vector<InheritedSocket>& sockets);
[[nodiscard]] std::string print_handover(const Handover& handover);
[[nodiscard]] Handover parse_handover(std::string_view text);

}  // namespace damper::proxy
