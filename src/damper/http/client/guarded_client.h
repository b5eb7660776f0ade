#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/balance/replicas.h"
#include "damper/http/client/attempt_driver.h"
#include "damper/http/client/client_metrics.h"
#include "damper/http/client/client_options.h"
#include "damper/http/client/completion.h"
#include "damper/http/client/http_result.h"
#include "damper/http/client/pool.h"
#include "damper/http/net/loop.h"
#include "damper/run/dependency.h"
#include "damper/run/outgoing_fields.h"

namespace damper::http {

class GuardedCall;

// Returns the new body from the response that was read.
using Modify = std::function<std::string(const Response&)>;

// A GuardedClient sends requests to one service under its dependency's policy: retries, hedges,
// deadlines, budget, breaker.
//
//   GuardedClient client(loop, billing, {.endpoints = {"http://10.0.0.1:9000",
//   "http://10.0.0.2:9000"}}); HttpResult invoice = co_await client.get("/invoices/7",
//   damper::in(800ms)); if (!invoice) log(invoice.verdict());
//
// Model: each attempt is one stream on a replica that this call has not tried, if there is one; an
// attempt that loses a race or is late is cancelled on the wire. The engine decides.
// A request may be repeated by its method, by its Idempotency-Key, or by
// RequestOptions::idempotent. Each attempt carries x-request-deadline (its remaining time),
// damper-retry-owner (this dependency if the call retries, or the layer above that does) and
// damper-attempt. Inside the work for an incoming request, its deadline, owner and criticality are
// inherited; the criticality is sent as damper-criticality, unless the request has its own. Every
// function takes a completion token, co_await by default; a callback is one too.
// With a tracer each attempt carries the `traceparent` of its own span (see CallTrace).
// Invariants:
//   (1) A hedge or a retry is sent to another replica if there is one (trap H4).
//   (2) The deadline header is computed for each attempt, when it is sent (trap D2).
//   (3) A call that waits for its next attempt ends when a kill switch is flipped (trap K1).
// Thread safety: none; all on the loop's thread. The dependency may be shared with other threads.
// Cost: one object a call; the request is stored once for all its attempts.
class GuardedClient {
 public:
  // REQUIRES: !find_error(options). The loop and the dependency outlive it, and it outlives its
  // calls: those under way when it is destroyed end as `cancelled`.
  GuardedClient(Loop& loop, Dependency& dependency, const GuardedClientOptions& options);
  ~GuardedClient();

  // A request for a target of the service.
  [[nodiscard]] static Request make(std::string method, std::string target, std::string body = {}) {
    Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    return request;
  }

  using Token = boost::asio::use_awaitable_t<>;

  template <class CompletionToken = Token>
  auto get(std::string target, Instant deadline, CompletionToken token = {}) {
    return start(make("GET", std::move(target)), {.deadline = deadline}, Modify(),
                 std::move(token));
  }
  template <class CompletionToken = Token>
  auto post(std::string target, std::string body, Instant deadline, CompletionToken token = {}) {
    return start(make("POST", std::move(target), std::move(body)), {.deadline = deadline}, Modify(),
                 std::move(token));
  }
  template <class CompletionToken = Token>
  auto put(std::string target, std::string body, Instant deadline, CompletionToken token = {}) {
    return start(make("PUT", std::move(target), std::move(body)), {.deadline = deadline}, Modify(),
                 std::move(token));
  }
  template <class CompletionToken = Token>
  auto del(std::string target, Instant deadline, CompletionToken token = {}) {
    return start(make("DELETE", std::move(target)), {.deadline = deadline}, Modify(),
                 std::move(token));
  }

  // Any request. The scheme is the endpoint's, and so is an empty authority.
  template <class CompletionToken = Token>
  auto request(Request request, RequestOptions options = {}, CompletionToken token = {}) {
    return start(std::move(request), options, Modify(), std::move(token));
  }

  // Updates a resource that others update too: GET, modify(response) -> the new body, PUT with
  // If-Match. After a conflict (409, 412) it is read and modified again, with the same backoff,
  // budget and deadline as any retry. The value is the response to the PUT. A response without a
  // strong ETag cannot be updated: `permanent`.
  template <class CompletionToken = Token>
  auto update(std::string target, Modify modify, RequestOptions options = {},
              CompletionToken token = {}) {
    return start(make("GET", std::move(target)), options, std::move(modify), std::move(token));
  }

  [[nodiscard]] balance::Replicas& replicas() noexcept { return replicas_; }
  [[nodiscard]] const ClientMetrics& metrics() const noexcept { return metrics_; }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_.size(); }  // under way

 private:
  friend class GuardedCall;

  template <class CompletionToken>
  auto start(Request&& request, const RequestOptions& options, Modify&& modify,
             CompletionToken&& token) {
    return boost::asio::async_initiate<std::decay_t<CompletionToken>, void(HttpResult)>(
        [this](auto handler, Request&& wanted, const RequestOptions& words, Modify&& change) {
          begin(std::move(wanted), words, std::move(change),
                make_completion<HttpResult>(std::move(handler), loop_));
        },
        token, std::move(request), options, std::move(modify));
  }

  // With `modify` the request is a GET whose response is modified and written back.
  void begin(Request&& request, const RequestOptions& options, Modify&& modify,
             std::unique_ptr<Completion<HttpResult>> completion);

  Loop& loop_;
  Dependency& dependency_;
  const GuardedClientOptions options_;
  ClientMetrics metrics_;
  Dialer dialer_;
  std::optional<TlsSettings> tls_;
  balance::Replicas replicas_;
  std::vector<std::unique_ptr<Pool>> pools_;  // by replica
  std::string owner_;                         // the dependency's name, if it can be a header
  std::vector<Field> scratch_;                // the fields of the head that is being written
  run::OutgoingFields outgoing_;
  WaitingLine waiting_;    // calls in a backoff
  CancellableList calls_;  // under way; cancelled before the rest is destroyed
};

}  // namespace damper::http
