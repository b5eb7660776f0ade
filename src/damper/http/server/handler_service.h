#ifndef DAMPER_HTTP_SERVER_HANDLER_SERVICE_H_
#define DAMPER_HTTP_SERVER_HANDLER_SERVICE_H_

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
  // Bytes of all bodies together, of requests that nobody has let go of; more is answered 503.
  std::size_t max_gathered_bytes = std::size_t{256} << 20;
};

// A HandlerService gathers whole requests and lets a Handler answer them.
//
// Why: most handlers want a request and give an answer; streams and tunnels are for proxies. So
// CONNECT is answered 501.
// Invariants:
//   (1) Every request that came whole goes to the handler once, and is answered once: with what the
//       handler said, or 500 when it threw, or let go of the exchange without a word.
//   (2) A request's body is bounded by max_request_body, whatever its head said.
//       All bodies that were gathered and are held are bounded by max_gathered_bytes: a guard sees
//       a request when it is whole, and can bound only what comes after.
//   (3) When the caller goes away first, give_up is called once, and a late answer is dropped.
//   (4) Exchanges may outlive the service, and the server.
// Thread safety: none; all on the loop's thread, but that any thread may let go of an ExchangePtr.
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

// A function that answers at once. An exception is a 500.
[[nodiscard]] Handler answer_with(std::function<Response(const Request&)> answer);

// Prometheus' text of what the registry has; GET and HEAD alone. The registry outlives it.
[[nodiscard]] Handler make_metrics_handler(const observe::Registry& registry);

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_HANDLER_SERVICE_H_
