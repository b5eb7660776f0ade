#pragma once

#include <array>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/http/client/client_metrics.h"
#include "damper/http/client/client_options.h"
#include "damper/http/client/completion.h"
#include "damper/http/client/pool.h"
#include "damper/http/codec/message.h"
#include "damper/http/net/loop.h"
#include "damper/run/result.h"

namespace damper::http {

class Fetch;

// A Client sends requests to any endpoint, each once: no retries, no budget. See GuardedClient for
// those.
//
//   Client client(loop);
//   Result<Response> page = co_await client.fetch(make_request("GET", url), damper::in(2s));
//   if (!page) log(page.error().error.message());   // connect_refused, reset, head_timeout, ...
//
// Model: a pool for each endpoint that was asked, as many as max_endpoints; one that is unused
// makes room for another. Whole requests and whole answers; what is to be streamed opens
// a stream itself, with open().
// A status is no failure here: 500 is a Response.
// Invariants:
//   (1) Each fetch ends once, by its deadline; without one, by `timeout`.
//   (2) An answer's body has at most max_response_body bytes.
// Thread safety: none; all on the loop's thread.
class Client {
 public:
  // REQUIRES: !find_error(options). The loop outlives it, and it outlives its requests: those that
  // are under way when it goes end as `cancelled`.
  explicit Client(Loop& loop, const ClientOptions& options = {});
  ~Client();

  // The request has a scheme and an authority: where it goes. A completion token: co_await by
  // default; a function of Result<Response> is one too.
  template <class CompletionToken = boost::asio::use_awaitable_t<>>
  auto fetch(Request request, Instant deadline, CompletionToken token = {}) {
    return boost::asio::async_initiate<CompletionToken, void(Result<Response>)>(
        [this](auto handler, Request&& wanted, Instant until) {
          start(std::move(wanted), until,
                make_completion<Result<Response>>(std::move(handler), loop_));
        },
        token, std::move(request), deadline);
  }
  void start(Request&& request, Instant deadline,
             std::unique_ptr<Completion<Result<Response>>> completion);

  // A stream to an endpoint, to send and receive in pieces. Nothing bounds its time but
  // the connection's limits: the user cancels.
  void open(const Endpoint& endpoint, PoolUser& user);

  // The pool of an endpoint, made if there is none; nullptr: there are too many, or TLS does not
  // work.
  [[nodiscard]] Pool* find_pool(const Endpoint& endpoint);

  [[nodiscard]] Loop& loop() const noexcept { return loop_; }
  [[nodiscard]] const ClientMetrics& metrics() const noexcept { return metrics_; }
  [[nodiscard]] std::size_t pools() const noexcept { return pools_[0].size() + pools_[1].size(); }

 private:
  friend class Fetch;
  using Pools = std::map<std::string, std::unique_ptr<Pool>, std::less<>>;  // by authority

  [[nodiscard]] Pool* find_pool(std::string_view scheme, std::string_view authority);
  void make_room();

  Loop& loop_;
  const ClientOptions options_;
  ClientMetrics metrics_;
  Dialer dialer_;
  std::optional<TlsSettings> tls_;  // made when it is first needed
  std::array<Pools, 2> pools_;      // http, https
  CancellableList fetches_;         // under way
};

// A request for a URL: "GET", parse_url(...).
[[nodiscard]] Request make_request(std::string method, const Url& url, std::string body = {});

}  // namespace damper::http
