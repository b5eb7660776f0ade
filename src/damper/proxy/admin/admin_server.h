#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/proxy/admin/admin_target.h"
#include "damper/proxy/admin/event_feed.h"

namespace damper::proxy {

struct AdminOptions {
  std::string address = "127.0.0.1";              // an IP address
  std::uint16_t port = 9901;                      // 0: any; see AdminServer::port()
  int adopt_fd = -1;                              // a listening socket to take over instead
  std::string token_file{};                       // see AdminAccess
  std::vector<std::string> names{};               // by which clients may call it, beside localhost
  Duration heartbeat = std::chrono::seconds(15);  // of GET /events; 1 ms to 1 h
  std::size_t most_subscribers = 64;              // of GET /events; 1 to 1000
};

// One sentence on what is wrong with the options; nothing when they are valid.
[[nodiscard]] std::optional<std::string> find_error(const AdminOptions& options);

// An AdminServer is the proxy's door for operators: AdminPages and EventStreams on an address of
// their own, with a loop and threads of their own.
//
//   auto admin = AdminServer::start({}, target, feed);
//   if (!admin) ... admin.error()
//
// Why of its own: when the data plane is flooded, this is where one looks and where one flips the
// switch.
// Model: the loop answers what waits for nobody. Three clerks answer the rest: one looks, one
// reloads, one flips switches, so that a data plane that is stuck keeps nobody from the switch.
// Invariants:
//   (1) Whatever comes: a body of 64 KiB at most, kMostConnections connections, kMostWaiting
//       requests for each executor; more are refused, and counted.
//   (2) When the destructor returns, what is target and the feed are used no more.
// Thread safety: port() and set_token_file() may be called concurrently; whoever made it destroys
// it.
class AdminServer {
 public:
  static constexpr std::size_t kMostBody = std::size_t{64} * 1024;
  static constexpr std::size_t kMostConnections = 256;
  static constexpr std::size_t kMostWaiting = 64;

  // Or one sentence on why it does not listen. What is target, and the feed, outlive it.
  [[nodiscard]] static Expected<std::unique_ptr<AdminServer>> start(const AdminOptions& options,
                                                                    AdminTarget& target,
                                                                    EventFeed& feed);
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;
  ~AdminServer();

  [[nodiscard]] std::uint16_t port() const noexcept;
  // As a reload says: from the next request on; empty: none. One sentence: why it changed nothing.
  [[nodiscard]] std::optional<std::string> set_token_file(const std::string& file);

 private:
  class Inside;
  explicit AdminServer(std::unique_ptr<Inside> inside);

  std::unique_ptr<Inside> inside_;
};

}  // namespace damper::proxy
