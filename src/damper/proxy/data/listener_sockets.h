#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/server/listen_address.h"

namespace damper::proxy {

// A listening socket that was inherited: from systemd, or from the process that this one replaces.
struct InheritedSocket {
  std::string listener;  // its name
  int fd = -1;
  bool any_port = false;  // from systemd: the listener uses it whatever port it is bound to
};

// ListenerSockets are the sockets of one listener, one for each loop as a rule, all on one port:
// the kernel spreads the connections over them (SO_REUSEPORT).
//
// Why: one socket that all loops accept from wakes all of them for each connection. Why apart from
// the servers that accept: what can fail, and what is handed over to another process, is decided
// outside of the loops. A server has a duplicate of its own.
// Model: bind(), then listen() when nothing else can fail; each loop takes its duplicates. Sockets
// that were inherited listen already and may be fewer or more than there are loops: then loops
// share one, or a loop has several. No socket is without a loop: its connections would wait for
// ever.
// Thread safety: none, but take() may be called by each loop for itself.
class ListenerSockets {
 public:
  // For `loops` loops on an address; port 0: any, the same for all. One sentence says why not.
  [[nodiscard]] static Expected<ListenerSockets> bind(const std::string& address,
                                                      std::uint16_t port, std::size_t loops);
  // One socket, which all loops share: a Unix socket has no SO_REUSEPORT. A file of the path is
  // replaced if it is a socket that no process listens on. `mode`: see ListenerConfig.
  [[nodiscard]] static Expected<ListenerSockets> bind_unix(const std::string& address,
                                                           const std::string& mode,
                                                           std::size_t loops);
  // Of sockets that listen: duplicates, the caller keeps its own. REQUIRES: there is one at least.
  [[nodiscard]] static Expected<ListenerSockets> adopt(const std::vector<int>& fds,
                                                       std::size_t loops);

  ListenerSockets(ListenerSockets&& other) noexcept;
  ListenerSockets& operator=(ListenerSockets&&) = delete;
  ~ListenerSockets() { close(); }

  // Nothing happens to those that listen already.
  [[nodiscard]] std::optional<std::string> listen();
  // What the loop of that number accepts from: the caller's to close. Once for each loop.
  [[nodiscard]] std::vector<int> take(std::size_t loop);
  // That loop cannot accept: its sockets are closed, but for those that another loop has as well.
  void give_up(std::size_t loop) noexcept;
  // Of a Unix socket that was inherited from a predecessor: its file is ours after on_started().
  void inherit_file();
  void on_started() noexcept { removes_ = !file_.empty(); }
  // The file stays at the end: a successor has the socket.
  void keep_file() noexcept { file_.clear(); }
  void set_mode(const std::string& mode) const noexcept;
  [[nodiscard]] bool has_path() const noexcept { return !file_.empty(); }
  // Whether the file of a Unix socket was deleted: no client can connect any more.
  [[nodiscard]] bool has_lost_file() const noexcept;
  // Ours alone: what was taken stays. Removes the file of a Unix socket that is ours.
  void close() noexcept;

  [[nodiscard]] const std::vector<int>& fds() const noexcept { return fds_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  ListenerSockets() = default;
  [[nodiscard]] std::optional<std::string> duplicate(std::size_t loops);

  std::vector<int> fds_;
  std::vector<std::optional<std::size_t>> owners_;  // as fds_: the loop that has it alone
  std::vector<std::vector<int>> copies_;            // by loop, until they are taken
  std::uint16_t port_ = 0;
  std::string where_;  // in errors
  bool listens_ = false;
  std::string file_;  // of a Unix socket; empty: there is none, or it is not ours
  bool removes_ = false;
  std::uint64_t inode_ = 0;
};

// The address and port of a bound socket; nothing: it is no socket of IP, nor a Unix socket with a
// name.
[[nodiscard]] std::optional<http::ListenAddress> find_bound(int fd);
// Whether it is a stream socket that listens.
[[nodiscard]] bool is_listening(int fd);
// Whether another process listens there already.
// Why: our own sockets share a port among loops (SO_REUSEPORT), and would share it silently with
// another proxy of the same user. Port 0 is never taken.
[[nodiscard]] bool is_taken(const http::ListenAddress& address);

}  // namespace damper::proxy
