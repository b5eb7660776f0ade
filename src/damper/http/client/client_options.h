#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "damper/balance/replica_options.h"
#include "damper/balance/replica_set.h"
#include "damper/base/bounds.h"
#include "damper/http/client/pool.h"
#include "damper/http/net/dialer.h"
#include "damper/http/tls/tls_settings.h"
#include "damper/observe/trace/span_context.h"
#include "damper/observe/trace/tracer.h"

namespace damper::http {

// How a client connects, and what it keeps of an answer.
struct ClientOptions {
  static constexpr Range<std::size_t> kMaxResponseBody{0, std::size_t{1} << 30};
  static constexpr Range<Duration> kTimeout{std::chrono::milliseconds(1), std::chrono::hours(1)};
  static constexpr Range<std::size_t> kMaxEndpoints{1, 100'000};

  PoolOptions pool{};      // of each endpoint
  DialerOptions dialer{};  // connect timeout, happy eyeballs
  TlsClientOptions tls{};  // for https: the trusted certificates
  std::size_t max_response_body = std::size_t{8} * 1024 * 1024;
  // Of a request of an unguarded client that has no deadline.
  Duration timeout = std::chrono::seconds(30);
  std::size_t max_endpoints = 1024;  // those with a pool of their own
  Resolver* resolver = nullptr;      // nullptr: the system's; else it outlives the client
};

// One sentence on what is wrong with the options; nothing when they are valid.
[[nodiscard]] std::optional<std::string> find_error(const ClientOptions& options);

// A service, and how its client behaves beyond the dependency's policy.
struct GuardedClientOptions {
  std::vector<std::string> endpoints;  // 1 to kMostReplicas: "http://127.0.0.1:9000", "unix:/path"
  std::string authority{};             // of Host; empty: each endpoint's own
  balance::ReplicaOptions replicas{};
  ClientOptions client{};
  // POST and PATCH without an Idempotency-Key get one, so that they may be repeated: only for
  // servers that heed it.
  bool make_idempotency_key = false;
  // Makes a span of each call and of each attempt: TraceExporter::make_tracer(), one for each loop.
  // It outlives the client. nullptr: no spans, and `traceparent` is a field as any other.
  observe::Tracer* tracer = nullptr;
};

[[nodiscard]] std::optional<std::string> find_error(const GuardedClientOptions& options);

// What you say of one request; the dependency's policy says the rest.
struct RequestOptions {
  Instant deadline = kNever;         // damper::in(800ms); the policy's timeout holds as well
  std::optional<bool> idempotent{};  // your word, before method and key
  std::optional<bool> safe{};  // your word, before the method: it only reads, and may be hedged
  // With a tracer: the span above this call. None: that of the request's own `traceparent`, else
  // that of the request that this call is made for.
  observe::SpanContext parent{};
};

}  // namespace damper::http
