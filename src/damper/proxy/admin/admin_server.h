#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/proxy/admin/admin_pages.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/admin/event_streams.h"
#include "damper/proxy/admin/serial_executor.h"

namespace damper::proxy {

struct AdminOptions {
  std::string address = "127.0.0.1";              // an IP address
  std::uint16_t port = 9901;                      // 0: any; see AdminServer::port()
  int adopt_fd = -1;                              // a listening socket to take over instead
  std::string token_file{};                       // see http::LocalAccess
  std::vector<std::string> names{};               // by which clients may call it, beside localhost
  Duration heartbeat = std::chrono::seconds(15);  // of GET /events; 1 ms to 1 h
  std::size_t most_subscribers = 64;              // of GET /events; 1 to 1000
};

// One sentence on what is wrong with the options; nothing when they are valid.
[[nodiscard]] std::optional<std::string> find_error(const AdminOptions& options);

// An AdminServer is the proxy's admin API: AdminPages and EventStreams on an address of their own,
// with a loop and threads of their own.
//
//   auto admin = AdminServer::start({}, target, feed);
//   if (!admin) ... admin.error()
//
// Why of its own: an operator needs it when the data plane is flooded, to read the state and to
// flip a switch. It accepts connections with the reserve of file descriptors, too.
// Model: the loop answers requests that wait for nothing. Three SerialExecutors answer the others:
// one reads, one reloads, one flips switches, so that a stuck data plane does
// not delay a flip.
// Invariants:
//   (1) Whatever comes: a body of 64 KiB at most, kMostConnections connections, kMostWaiting
//       requests for each executor; more are refused, and counted.
//   (2) When the destructor returns, what is target and the feed are used no more.
// Thread safety: port() and set_token_file() may be called concurrently; its creator destroys
// it.
class AdminServer final : private http::RequestSink {
 public:
  static constexpr std::size_t kMostBody = std::size_t{64} * 1024;
  static constexpr std::size_t kMostConnections = 256;
  static constexpr std::size_t kMostWaiting = 64;

  // Or one sentence on why it does not listen. What is target, and the feed, outlive it.
  [[nodiscard]] static Expected<std::unique_ptr<AdminServer>> start(const AdminOptions& options,
                                                                    AdminTarget& target,
                                                                    EventFeed& feed);
  ~AdminServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // As a reload says: from the next request on; empty: none. One sentence: why it changed nothing.
  [[nodiscard]] std::optional<std::string> set_token_file(const std::string& file);

 private:
  class Visitor;  // a request until its head is received

  AdminServer(const AdminOptions& options, AdminTarget& target, EventFeed& feed);
  [[nodiscard]] std::optional<std::string> listen();
  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override;
  [[nodiscard]] http::StreamUser& choose(http::Stream& stream, const http::Head& head,
                                         std::function<void()> on_cut);
  void answer(const http::ExchangePtr& exchange);
  [[nodiscard]] http::Response answer_here(const http::Request& request);

  AdminPages pages_;
  http::ServerMetrics metrics_;
  observe::Counter& busy_;
  http::Loop loop_;
  http::HandlerService service_;
  EventStreams streams_;
  http::Loop::Work work_;
  std::optional<http::Server> server_;  // destroyed on the loop's thread
  std::uint16_t port_ = 0;
  std::array<std::optional<SerialExecutor>, kAdminThreads> executors_;  // by AdminThread
  std::thread thread_;
};

}  // namespace damper::proxy
