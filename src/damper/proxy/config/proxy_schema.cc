#include "damper/proxy/config/proxy_schema.h"

#include <array>
#include <utility>

#include "damper/base/enum_names.h"
#include "damper/http/dns/dns_server.h"
#include "damper/http/dns/resolv_conf.h"
#include "damper/http/file/tracing_schema.h"
#include "damper/http/server/listen_address.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/balance_schema.h"
#include "damper/proxy/config/health_check_schema.h"
#include "damper/proxy/config/match_schema.h"
#include "damper/proxy/config/outlier_schema.h"
#include "damper/proxy/config/policy_like.h"
#include "damper/proxy/config/proxy_texts.h"
#include "damper/proxy/config/tls_schema.h"
#include "damper/proxy/config/trust.h"
#include "damper/proxy/split/split_schema.h"

namespace damper::proxy {
namespace {

using config::kTick;
using config::Schema;
using config::Value;
using namespace std::chrono_literals;
namespace form = config::form;

constexpr EnumNames<http::Protocol::h2> kProtocolNames = {"auto", "http1", "http2"};
constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
// find_error(ShedQueueOptions): no longer than the longest Retry-After.
constexpr Duration kLongestQueueInterval = admit::ShedQueueOptions{}.longest_retry_after;
constexpr config::Form kFile = form::parsed(read_file_name, kFileForms);
constexpr config::Form kPath = form::parsed(read_path, kPathForms);

// The address and the port of a struct that has both.
template <class T>
Value address_of(const T& listens) {
  return http::ListenAddress{listens.address, listens.port}.text();
}
template <class T>
void set_address(T& listens, const Value& value) {
  auto address = http::parse_listener_address(std::get<std::string>(value));
  listens.address = address->host;
  listens.port = address->port;
}
constexpr config::Form kAddress = form::parsed(
    [](std::string_view text) -> Expected<std::string> {
      const auto address = http::parse_listen_address(text);
      if (!address) return unexpected(address.error());
      return address->text();
    },
    http::kListenAddressForms);

constexpr config::Form kListenerAddress = form::parsed(
    [](std::string_view text) -> Expected<std::string> {
      const auto address = http::parse_listener_address(text);
      if (!address) return unexpected(address.error());
      return address->text();
    },
    http::kListenerAddressForms);

// The names that differ between requests and responses.
struct LimitNames {
  std::string_view head_timeout;
  std::string_view max_head;
  std::string_view max_body;
};

template <auto Limits, class T>
void add_limits(Schema<T>& s, const LimitNames& names) {
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_LIMIT(member) [](auto& t) -> auto& { return Limits(t).member; }
  s.template key<DAMPER_LIMIT(idle_timeout)>(
      "idle_timeout", form::duration(kTick),
      "A connection without a request is closed after this time.");
  s.template key<DAMPER_LIMIT(head_timeout)>(names.head_timeout, form::duration(kTick),
                                             "Limit from the first to the last byte of a head.");
  s.template key<DAMPER_LIMIT(body_timeout)>(
      "stream_idle_timeout", form::duration(kTick),
      "A body or a tunnel that receives no data for this time is aborted.");
  s.template key<DAMPER_LIMIT(write_timeout)>(
      "write_timeout", form::duration(kTick),
      "A connection whose peer reads no pending output for this time is closed.");
  s.template key<DAMPER_LIMIT(message_timeout)>("message_timeout", form::duration(0s).with_off(0),
                                                "Limit for a complete body, extended by 1 s per "
                                                "KiB transferred. off: no limit, for streams.");
  s.template key<DAMPER_LIMIT(max_age)>("max_connection_duration", form::duration(0s).with_off(0),
                                        "A connection accepts no new requests after this time.");
  s.template key<DAMPER_LIMIT(max_head_bytes)>(names.max_head,
                                               form::bytes(http::ConnectionLimits::kMaxHeadBytes),
                                               "Size of the start line and fields of a message.");
  s.template key<DAMPER_LIMIT(max_fields)>("max_headers_count",
                                           form::integer(http::ConnectionLimits::kMaxFields),
                                           "Number of fields of a message.");
  s.template key<DAMPER_LIMIT(max_body_bytes)>(
      names.max_body, form::bytes(0, 1024 * 1024 * kMiB).with_off(0),
      "Size of a body. off: no limit; bodies are streamed.");
  s.template key<DAMPER_LIMIT(window_bytes)>(
      "initial_stream_window_size", form::bytes(http::ConnectionLimits::kWindowBytes),
      "Bytes of a body that are buffered while the other side is slow.");
  s.template key<DAMPER_LIMIT(max_output_bytes)>(
      "per_connection_buffer_limit_bytes", form::bytes(http::ConnectionLimits::kMaxOutputBytes),
      "Pending output of a connection.");
  s.template key<DAMPER_LIMIT(max_streams)>("max_concurrent_streams",
                                            form::integer(http::ConnectionLimits::kMaxStreams),
                                            "Concurrent HTTP/2 streams of a connection.");
  s.template key<DAMPER_LIMIT(max_idle_frames_per_second)>(
      "max_idle_frames_per_second", form::integer(10, 1'000'000),
      "HTTP/2 frames without content; a connection that sends more is closed as a flood.");
#undef DAMPER_LIMIT
}

template <auto Budget, class T>
void add_budget(Schema<T>& s) {
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_BUDGET(member, path) \
  like<[](auto& t) -> auto& { return Budget(t)->member; }>(s, path, path)
  DAMPER_BUDGET(percent, "retry_budget.budget_percent");
  DAMPER_BUDGET(window, "retry_budget.window");
  DAMPER_BUDGET(reserve, "retry_budget.reserve");
  DAMPER_BUDGET(min_per_second, "retry_budget.min_retries_per_second");
  DAMPER_BUDGET(deposit_on, "retry_budget.deposit_on");
  DAMPER_BUDGET(min_retry_concurrency, "retry_budget.min_retry_concurrency");
#undef DAMPER_BUDGET
}

void add_admission(Schema<RouteConfig>& s) {
  s.key<DAMPER_FIELD(rate_limit->rate_per_second)>(
      "rate_limit.requests_per_second", form::rate(admit::TokenBucketOptions::kRatePerSecond),
      "Requests per second, of all loops together; more are refused with 429.");
  s.key<DAMPER_FIELD(rate_limit->burst)>("rate_limit.burst",
                                         form::integer(admit::TokenBucketOptions::kBurst),
                                         "Requests at once after an idle period.");
  s.key<DAMPER_FIELD(client_rate_limit->rates.bucket.rate_per_second)>(
      "client_rate_limit.requests_per_second",
      form::rate(admit::TokenBucketOptions::kRatePerSecond),
      "Requests per second of each client, of all loops together; more are refused with 429.");
  s.key<DAMPER_FIELD(client_rate_limit->rates.bucket.burst)>(
      "client_rate_limit.burst", form::integer(admit::TokenBucketOptions::kBurst),
      "Requests at once of a client after an idle period.");
  s.key<DAMPER_FIELD(client_rate_limit->header)>(
      "client_rate_limit.header", form::parsed(read_header_name, kHeaderNameForms),
      "A client is the value of this field. Default, and for requests without it or with several: "
      "its address (IPv6: the /64).");
  s.key<DAMPER_FIELD(client_rate_limit->rates.max_clients)>(
      "client_rate_limit.max_clients", form::integer(http::ClientRateOptions::kMaxClients),
      "Clients that are tracked at once, rounded up to a power of two. Those whose burst is "
      "complete again are forgotten first; beyond the bound, requests of further clients are "
      "admitted.");
  like<DAMPER_FIELD(admission->limit.kind)>(s, "admission_control.kind", "concurrency_limit.kind");
  like<DAMPER_FIELD(admission->limit.min)>(s, "admission_control.min", "concurrency_limit.min");
  like<DAMPER_FIELD(admission->limit.initial)>(
      s, "admission_control.initial", "concurrency_limit.initial",
      "Initial limit of requests in flight, of all loops together; the limit itself if the kind is "
      "fixed.");
  like<DAMPER_FIELD(admission->limit.max)>(s, "admission_control.max", "concurrency_limit.max");
  s.key<DAMPER_FIELD(admission->queue.capacity)>(
      "admission_control.queue_capacity", form::integer(admit::ShedQueueOptions::kCapacity),
      "Queued requests, of all loops together; at the bound the least critical request of the "
      "loop is shed.");
  s.key<DAMPER_FIELD(admission->queue.interval)>(
      "admission_control.queue_interval",
      form::duration(admit::ShedQueueOptions::kInterval.low, kLongestQueueInterval),
      "A queue that is not empty for this long is under pressure, and serves the newest first.");
  s.key<DAMPER_FIELD(admission->queue.target)>(
      "admission_control.queue_target", form::duration(kTick, kLongestQueueInterval),
      "Longest wait under pressure; at most queue_interval.");
  s.key<DAMPER_FIELD(admission->longest_wait)>("admission_control.max_wait",
                                               form::duration(1ms, 1h),
                                               "Longest wait; then the request is shed.");
}

Schema<ProxyConfig> make_proxy() {
  Schema<ProxyConfig> s("proxy");
  s.key<DAMPER_FIELD(access_log)>(
      "access_log", form::choice(kAccessLogNames),
      "Requests that are logged, one line each. failures: those without a response of the "
      "service, or with a 5xx.");
  s.key<DAMPER_FIELD(access_log_file)>("access_log_file", kFile,
                                       "File of the access log. Default: standard output.");
  s.key<DAMPER_FIELD(access_layout.format)>(
      "access_log_format", form::choice(kAccessFormatNames),
      "json: an object for each request. combined: the format of Apache and nginx of that name.");
  s.key<DAMPER_FIELD(access_layout.fields)>("access_log_fields", form::tokens(kAccessFieldNames, 1),
                                            "Fields of a JSON line.");
  s.key<DAMPER_FIELD(max_kept_bytes)>(
      "max_kept_bytes", form::bytes(kMiB, 1024 * 1024 * kMiB).with_off(0, "auto"),
      "Bytes of heads and bodies that are kept in memory, of all loops together: for retries, by "
      "request_buffering and response_buffer, and for clients that do not read. Without room a "
      "body is not kept for a retry, and a request that has to be kept is shed. auto: a quarter "
      "of the memory of the machine or of the cgroup.");
  s.key<DAMPER_FIELD(dns_resolvers)>(
      "dns_resolvers",
      form::parsed_list(read_dns_server, http::kDnsServerForms, 0, http::ResolvConf::kMostServers),
      "DNS servers for all names of clusters, instead of the system's resolver. Default: the "
      "system's resolver, and the servers of /etc/resolv.conf for SRV records and "
      "respect_dns_ttl.");
  s.key<DAMPER_FIELD(drain_time)>("drain_time", form::duration(0s, 1h),
                                  "Time for requests in flight to finish when the proxy stops.");
  s.key<DAMPER_FIELD(drain_delay)>(
      "drain_delay", form::duration(0s, 1h),
      "Time from SIGTERM to the drain. Meanwhile the listeners accept connections, and health "
      "pages and /readyz answer 503, so that load balancers remove the proxy first.");
  s.key<DAMPER_FIELD(threads)>("threads", form::integer(1, 256).with_off(0, "auto"),
                               "Event loops. auto: one per core.");
  s.key<DAMPER_FIELD(zone)>("zone", policy::kName,
                            "Zone of this proxy, for the zones of its clusters.");
  s.key<[](const ProxyConfig& proxy) { return address_of(*proxy.admin); },
        [](ProxyConfig& proxy, const Value& value) { set_address(*proxy.admin, value); }>(
      "admin.address", kAddress,
      "Address of the admin API. An address that is not loopback needs token_file.");
  s.key<DAMPER_FIELD(admin->token_file)>(
      "admin.token_file", kFile,
      "File with the token that requests which change state must carry.");
  add_budget<DAMPER_FIELD(retry_budget)>(s);
  http::add_tracing(s);
  s.alias("tracing.random_sampling", "tracing.sampling");
  s.optional_section<DAMPER_FIELD(admin)>("admin",
                                          "API to show and change the state of the proxy.");
  s.optional_section<DAMPER_FIELD(retry_budget)>(
      "retry_budget", "Bounds the retries of all clusters together, beside their own budgets.");
  s.alias("concurrency", "threads");
  return s;
}

Schema<ListenerConfig> make_listener() {
  Schema<ListenerConfig> s("listener");
  s.key<address_of<ListenerConfig>, set_address<ListenerConfig>>(
       "address", kListenerAddress, "Address and port to listen on, or a Unix socket.")
      .required = true;
  s.key<DAMPER_FIELD(mode)>("mode", form::parsed(read_mode, kModeForms),
                            "Permissions of a Unix socket's file. Default: by the umask.");
  s.key<DAMPER_FIELD(max_connections)>(
      "max_connections", form::integer(1, 1'000'000),
      "Connections at once, of all loops together; a further one is closed.");
  s.key<DAMPER_FIELD(max_connections_per_client)>(
      "max_connections_per_client", form::integer(1, 1'000'000).with_off(0),
      "Connections at once of one client, by address (IPv6: by /64), of all loops together; a "
      "further one is closed. off: no limit.");
  s.key<DAMPER_FIELD(trust)>(
      "trust", form::parsed_list(read_trust, kTrustForms, 1, kMostTexts),
      "Peers whose fields about deadline, retries, criticality, origin and request id are believed "
      "and forwarded; those of others are removed. auto: all if the address is loopback and there "
      "is no proxy_protocol, else none.");
  s.key<DAMPER_FIELD(proxy_protocol)>(
      "proxy_protocol", form::parsed_list(read_peers, kPeersForms, 1, kMostTexts),
      "Load balancers of connections, whose connections must begin with a header of the PROXY "
      "protocol, version 1 or 2. The client's address is the one in it, also for trust and the "
      "limits by client.");
  s.key<DAMPER_FIELD(protocol)>(
      "protocol", form::choice(kProtocolNames),
      "Protocol of the clients; a connection with another one is closed. auto: HTTP/2 by its "
      "preface or by ALPN, else HTTP/1.1.");
  s.key<DAMPER_FIELD(paths.normalize)>(
      "normalize_path", form::kBoolean,
      "Normalizes the path before its route is looked up, and forwards it so: unreserved "
      "characters "
      "are unescaped, slashes merged, dot segments removed; a broken escape is refused with 400.");
  s.key<DAMPER_FIELD(paths.escaped_slashes)>(
      "escaped_slashes", form::choice(kEscapedSlashesNames),
      "Paths with %2F, %5C or a backslash, which some services take for a slash. refuse: 400.");
  add_limits<DAMPER_FIELD(limits)>(
      s, {"request_headers_timeout", "max_request_headers", "max_request_bytes"});
  s.key<DAMPER_FIELD(limits.max_resets_per_second)>(
      "max_resets_per_second", form::integer(http::ResetLimit::kPerSecond),
      "HTTP/2 streams that the client ends in an error before their answer; a connection with more "
      "is closed as a flood. One that it resets after 250 ms or more counts an eighth. A burst may "
      "have ten times as many, and ten answered requests allow one more. At least half of "
      "max_concurrent_streams, if clients have deadlines under 1 s.");
  add_tls(s);
  return s;
}

Schema<ClusterConfig> make_cluster() {
  Schema<ClusterConfig> s("cluster");
  s.key<DAMPER_FIELD(endpoints)>("endpoints",
                                 form::parsed_list(read_endpoint, kEndpointForms, 1, kMostTexts),
                                 "Upstream URLs, all http or all https. A DNS name expands to one "
                                 "replica per address; with http+srv or https+srv, to one per "
                                 "address and port of its SRV records.")
      .required = true;
  s.key<DAMPER_FIELD(protocol)>("protocol", form::choice(kProtocolNames),
                                "Protocol of the upstream. auto: HTTP/1.1, or by ALPN over TLS.");
  s.key<DAMPER_FIELD(dns.refresh)>("dns_refresh_rate", form::duration(100ms, 1h),
                                   "Interval at which DNS names are resolved again.");
  s.key<DAMPER_FIELD(dns.respect_ttl)>(
      "respect_dns_ttl", form::kBoolean,
      "DNS names are resolved again when the TTL of their records is over, instead of every "
      "dns_refresh_rate.");
  s.key<DAMPER_FIELD(dns.min_refresh)>("dns_min_refresh_rate", form::duration(100ms, 1h),
                                       "With respect_dns_ttl: a shorter TTL counts as this.");
  s.key<DAMPER_FIELD(dns.max_refresh)>("dns_max_refresh_rate", form::duration(100ms, 24h),
                                       "With respect_dns_ttl: a longer TTL counts as this.");
  add_balance(s);
  s.key<DAMPER_FIELD(dialer.connect_timeout)>(
      "connect_timeout", form::duration(http::DialerOptions::kConnectTimeout),
      "Limit for name resolution, connection and TLS handshake together.");
  s.key<DAMPER_FIELD(pool.max_connections)>(
      "max_connections", form::integer(http::PoolOptions::kMaxConnections),
      "Connections to each replica; each loop has an equal share of them, rounded up.");
  s.key<DAMPER_FIELD(pool.max_held)>(
      "max_held_connections", form::integer(http::PoolOptions::kMaxHeld),
      "HTTP/1.1 connections to each replica, beside max_connections, that wait for a client which "
      "stalls its upload or does not read the response; shared between loops as max_connections. "
      "Beyond it they count among max_connections.");
  s.key<DAMPER_FIELD(pool.max_waiting)>(
      "max_pending_requests", form::integer(http::PoolOptions::kMaxWaiting),
      "Requests that wait for a connection to a replica; shared between loops as max_connections.");
  add_limits<DAMPER_FIELD(pool.limits)>(
      s, {"response_headers_timeout", "max_response_headers", "max_response_bytes"});
  add_tls(s);
  add_health_check(s);
  add_outliers(s);
  add_budget<DAMPER_FIELD(retry_budget)>(s);
  s.section("tls", "TLS to https upstreams.");
  s.optional_section<DAMPER_FIELD(health_check)>(
      "health_checks",
      "Probes each replica; one whose probes fail gets no requests. A new replica is used until it "
      "fails.");
  s.section("outlier_detection",
            "Ejects a failing or slow replica for a while. The only replica is never ejected.");
  s.optional_section<DAMPER_FIELD(retry_budget)>(
      "retry_budget", "Bounds the retries of all its routes together, beside their own budgets.");
  s.alias("health_checks.service_name", "health_checks.service");
  s.alias("circuit_breakers", "");
  s.alias("circuit_breakers.max_connections", "max_connections");
  s.alias("circuit_breakers.max_pending_requests", "max_pending_requests");
  s.alias("circuit_breakers.retry_budget", "retry_budget");
  return s;
}

Schema<RouteConfig> make_route() {
  Schema<RouteConfig> s("route");
  s.key<DAMPER_FIELD(cluster)>("cluster", policy::kName,
                               "Cluster that serves the requests. Default: the only cluster.");
  add_split(s);
  s.key<DAMPER_FIELD(assume_idempotent)>(
      "assume_idempotent", form::kBoolean,
      "Declares every request idempotent, whatever its method: gRPC calls are POSTs.");
  s.key<DAMPER_FIELD(trust_idempotency_key)>(
      "trust_idempotency_key", form::kBoolean,
      "An Idempotency-Key field makes a request idempotent, so that a POST may be retried. false: "
      "the field is only forwarded, for services that ignore it.");
  s.key<DAMPER_FIELD(assume_safe)>(
      "assume_safe", form::kBoolean,
      "Declares every request a read, whatever its method: it is retried, and hedged if "
      "hedge_policy is set.");
  s.key<DAMPER_FIELD(request_buffer)>(
      "request_buffer", form::bytes(0, 16 * kMiB),
      "Bytes of a request body that are kept for a retry. A longer body is only retried if no byte "
      "of it was sent.");
  s.key<DAMPER_FIELD(request_buffering)>(
      "request_buffering", form::kBoolean,
      "A replica is asked when the whole body, or request_buffer of it, has arrived: a client that "
      "stalls its upload never reaches one. Not for streams in both directions.");
  s.key<DAMPER_FIELD(response_buffer)>(
      "response_buffer", form::bytes(0, 16 * kMiB),
      "A response up to this size is buffered until it is complete, so that a broken one can be "
      "retried. 0: responses are streamed.");
  s.key<DAMPER_FIELD(upgrades)>(
      "upgrades", form::parsed_list(read_upgrade, kUpgradeForms, 0, kMostTexts),
      "Protocols to which a request may be upgraded; another one is refused with 403. *: all, "
      "except h2c. []: none.");
  s.key<DAMPER_FIELD(max_tunnels)>(
      "max_tunnels", form::integer(1, 1'000'000),
      "Upgraded requests and CONNECTs at once, of all loops together, to each of the "
      "weighted_clusters; further ones are refused with 503.");
  s.key<DAMPER_FIELD(host_rewrite)>("host_rewrite", form::parsed(read_authority, kAuthorityForms),
                                    "Host sent upstream. Default: the client's.");
  s.key<DAMPER_FIELD(prefix_rewrite)>("prefix_rewrite", kPath,
                                      "Replaces match.prefix. A path with a segment .. is refused "
                                      "with 400.");
  add_match(s);
  add_admission(s);
  add_action_keys(s);
  s.section("match", "Requests that the route accepts; a key that is not set matches everything.");
  s.optional_section<DAMPER_FIELD(rate_limit)>("rate_limit", "Bounds the rate of requests.");
  s.optional_section<DAMPER_FIELD(client_rate_limit)>(
      "client_rate_limit", "Bounds the rate of requests of each client.");
  s.optional_section<DAMPER_FIELD(admission)>(
      "admission_control",
      "Bounds requests that wait for the head of their response; further ones are queued, and the "
      "least critical are shed.");
  s.alias("host_rewrite_literal", "host_rewrite");
  s.alias("match.domains", "match.hosts");
  return s;
}

}  // namespace

const Schema<ProxyConfig>& proxy_schema() {
  static const Schema<ProxyConfig> kSchema = make_proxy();
  return kSchema;
}
const Schema<ListenerConfig>& listener_schema() {
  static const Schema<ListenerConfig> kSchema = make_listener();
  return kSchema;
}
const Schema<ClusterConfig>& cluster_schema() {
  static const Schema<ClusterConfig> kSchema = make_cluster();
  return kSchema;
}
const Schema<RouteConfig>& route_schema() {
  static const Schema<RouteConfig> kSchema = make_route();
  return kSchema;
}

}  // namespace damper::proxy
