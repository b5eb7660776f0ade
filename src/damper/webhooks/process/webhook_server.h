#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/http/server/server_metrics.h"
#include "damper/http/trace/trace_exporter.h"
#include "damper/observe/registry.h"
#include "damper/webhooks/api/api_handler.h"
#include "damper/webhooks/dispatch/directory.h"
#include "damper/webhooks/dispatch/dispatcher.h"
#include "damper/webhooks/process/endpoint_notices.h"
#include "damper/webhooks/process/serve_options.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// A WebhookServer is a dispatcher with its store and its API, on one loop: what `damper webhooks
// serve` runs, and what a program embeds.
//
//   http::Loop loop;
//   auto server = WebhookServer::open(loop, options, write_line);
//   if (!server) ... server.error()
//   (*server)->start([](std::optional<std::string> error) { ... });
//   loop.run();
//
// Model: open() opens the store; start() makes the application `default`, loads what the store has,
// delivers, and then serves the API and GET /metrics. With options.tracing it has an exporter of
// its own, otherwise dispatcher.tracer may be one of the program's: requests to the API have spans,
// and below them attempts.
// Thread safety: none; all on the loop's thread. The loop outlives it.
class WebhookServer {
 public:
  using WriteLine = std::function<void(const std::string& line)>;
  static constexpr Duration kTraceDrain = std::chrono::seconds(2);

  // REQUIRES: !find_error(options). The error is a sentence.
  [[nodiscard]] static Expected<std::unique_ptr<WebhookServer>> open(http::Loop& loop,
                                                                     ServeOptions options,
                                                                     WriteLine log);
  WebhookServer(const WebhookServer&) = delete;
  WebhookServer& operator=(const WebhookServer&) = delete;
  ~WebhookServer();

  // `done` gets a sentence if it cannot, on the loop.
  void start(const std::function<void(std::optional<std::string>)>& done);
  // Applies what can change while it runs: the tokens (their file is read again), log_attempts,
  // retention, drain_time, and of `delivery` and `circuit_breaker` what is policy: not
  // connect_timeout, max_in_flight and the rates of probes. The result has the keys that differ and
  // need a restart. The error is a sentence, and nothing was changed. REQUIRES: !find_error(fresh).
  [[nodiscard]] Expected<std::vector<std::string>> reload(const ServeOptions& fresh);
  // Accepts no request, starts no attempt; `done` is called when all results are in the store, or
  // after drain_time. What was in flight then is delivered again after the next start. Spans that
  // wait are exported first, within kTraceDrain and drain_time.
  void drain(std::function<void()> done);

  // Accepts a message as POST .../messages does, without HTTP: its id and time are set here. `done`
  // gets the id when the message is durable, on the loop, or the error that the API would answer;
  // it is not called if the server is destroyed first. Without a traceparent it is below the
  // request that the program serves: that of the current run::Scope. REQUIRES: it has started.
  using Sent = std::function<void(Expected<Accepted, ApiError>)>;
  void send(Message message, Sent done);

  // REQUIRES: it has started.
  [[nodiscard]] std::uint16_t port() const noexcept { return server_->port(); }
  [[nodiscard]] const Directory& directory() const noexcept { return directory_; }
  [[nodiscard]] Dispatcher& dispatcher() noexcept { return *dispatcher_; }

 private:
  // How many endpoints of the store are encrypted with an old key.
  using OldSeals = std::shared_ptr<std::atomic<std::size_t>>;

  WebhookServer(http::Loop& loop, ServeOptions options, std::unique_ptr<Store> store,
                OldSeals old_seals, std::optional<ApiTokens> tokens,
                std::unique_ptr<http::TraceExporter> exporter, WriteLine log);
  // Writes every endpoint again, with the new key, some at a time; then `done`.
  void reseal(const std::function<void()>& done);
  void reseal_some(const std::shared_ptr<std::vector<Id>>& left, const std::function<void()>& done);
  void on_event(const DeliveryEvent& event);
  void answer(const http::ExchangePtr& exchange);
  void make_metrics();
  // With spans, if there is a tracer.
  [[nodiscard]] http::Handler make_api_handler();
  [[nodiscard]] std::optional<std::string> serve();
  void prune(Instant now);
  void accept(Message message, Sent done, int repetitions);
  // Reads the counts of the store for the metrics.
  void count(Instant now);
  // Accepts a message about an endpoint, for the endpoints that subscribe.
  void send_notice(NewMessage notice);
  void on_drained(Instant now);

  http::Loop& loop_;
  ServeOptions options_;
  const WriteLine log_;
  std::unique_ptr<Store> store_;
  const OldSeals old_seals_;
  Directory directory_;
  observe::Registry registry_;
  http::ServerMetrics metrics_;
  std::array<observe::Counter*, kDeliveryEventNames.size()> events_{};
  std::array<observe::Counter*, decide::kOutcomeNames.size()> attempts_{};
  observe::Histogram* seconds_ = nullptr;
  observe::Registry::Collection totals_;
  std::optional<StoreCounts> counts_;  // of the last count()
  EndpointNotices notices_{directory_};
  IdMaker ids_;                                    // of send() and of the notices
  std::unique_ptr<http::TraceExporter> exporter_;  // nullptr: none of its own
  std::unique_ptr<observe::Tracer> tracer_;        // of exporter_
  std::optional<Dispatcher> dispatcher_;
  std::optional<ApiHandler> api_;
  http::Handler api_handler_;
  http::Handler metrics_handler_;
  std::size_t max_request_body_ = 0;
  std::optional<http::HandlerService> service_;
  std::optional<http::Server> server_;
  http::Loop::MemberTimer<WebhookServer> pruner_;
  http::Loop::MemberTimer<WebhookServer> counter_;
  http::Loop::MemberTimer<WebhookServer> drain_end_;
  std::function<void()> drained_;
  bool exporting_ = false;  // drained but for the spans
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace damper::webhooks
