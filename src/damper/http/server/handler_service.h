#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "damper/http/codec/connection.h"
#include "damper/http/codec/message.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/handler.h"
#include "damper/http/server/server_metrics.h"

namespace damper::observe {
class Registry;
}

namespace damper::http {

struct HandlerServiceOptions {
  std::size_t max_request_body =
      std::size_t{1024} * 1024;  // bytes; more is answered 413 (Content Too Large)
  // Bytes of the bodies of all live exchanges together; more is answered 503.
  std::size_t max_gathered_bytes = std::size_t{256} << 20;
};

// A HandlerService collects complete requests and passes them to a Handler.
//
// Why: most handlers need a request and return an answer; streams and tunnels are for proxies. So
// CONNECT is answered 501.
// Invariants:
//   (1) Every complete request is passed to the handler once, and answered once: with the handler's
//       answer, or 500 if it threw or released the exchange without one.
//   (2) A request's body is bounded by max_request_body, whatever its Content-Length.
//       All bodies in memory are bounded by max_gathered_bytes: a guard sees only complete
//       requests.
//   (3) If the client disconnects first, give_up is called once, and a late answer is dropped.
//   (4) Exchanges may outlive the service, and the server.
// Thread safety: none; all on the loop's thread, but any thread may release an ExchangePtr.
// Metrics and loop outlive the service and its exchanges.
// Cost: one allocation for an exchange beside those of its request.
class HandlerService final : public RequestSink {
 public:
  HandlerService(Loop& loop, Handler handler, const HandlerServiceOptions& options = {},
                 ServerMetrics* metrics = nullptr);
  HandlerService(const HandlerService&) = delete;
  HandlerService& operator=(const HandlerService&) = delete;
  ~HandlerService();

  [[nodiscard]] StreamUser& on_request(Stream& stream) override;

 private:
  struct Shared;
  class Incoming;
  std::shared_ptr<Shared> shared_;
};

// A handler that answers synchronously. An exception is answered 500.
[[nodiscard]] Handler answer_with(std::function<Response(const Request&)> answer);

// The registry in Prometheus' text format, for GET and HEAD. The registry outlives it.
[[nodiscard]] Handler make_metrics_handler(const observe::Registry& registry);

}  // namespace damper::http
