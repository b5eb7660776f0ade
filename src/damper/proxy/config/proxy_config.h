#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/admit/retry_budget.h"
#include "damper/admit/token_bucket.h"
#include "damper/balance/replica_options.h"
#include "damper/balance/replica_set.h"
#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/http/client/client_options.h"
#include "damper/http/codec/connection.h"
#include "damper/http/peer/client_rates.h"
#include "damper/http/server/admission.h"
#include "damper/http/trace/trace_exporter.h"
#include "damper/policy/file/policy_file.h"
#include "damper/proxy/config/access_layout.h"
#include "damper/proxy/config/health_check_options.h"
#include "damper/proxy/config/path_rules.h"
#include "damper/proxy/config/route_action.h"
#include "damper/proxy/split/hash_policy.h"
#include "damper/proxy/split/weighted_split.h"

namespace damper::proxy {

struct ProxyPlaces;

// A proxy cannot know how long a stream lasts, nor how long it is silent: the defaults are Envoy's.
inline constexpr http::ConnectionLimits kStreaming{.body_timeout = std::chrono::minutes(5),
                                                   .message_timeout = Duration{0}};

// Where the proxy listens.
struct ListenerConfig {
  std::string name;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::string mode{};  // of a Unix socket's file, in octal: "0660"; empty: by the umask
  std::optional<http::TlsServerOptions> tls{};        // nothing: plain TCP
  std::size_t max_connections = 10'000;               // of all loops together
  std::size_t max_connections_per_client = 0;         // of those; 0: no limit. See http::ClientKey
  std::vector<std::string> trust{"auto"};             // see Trust
  std::vector<std::string> proxy_protocol{"none"};    // peers that send a ProxyHeader: peers_of()
  http::Protocol protocol = http::Protocol::unknown;  // unknown: both
  PathRules paths{};
  http::ConnectionLimits limits = kStreaming;
};

// How the names of endpoints are resolved again.
struct DnsConfig {
  Duration refresh = std::chrono::seconds(5);      // the interval, without respect_ttl
  bool respect_ttl = false;                        // the interval is the records' TTL
  Duration min_refresh = std::chrono::seconds(5);  // bounds of that
  Duration max_refresh = std::chrono::minutes(5);

  friend bool operator==(const DnsConfig&, const DnsConfig&) = default;
};

// Where requests go: the replicas of one service.
struct ClusterConfig {
  std::string name;
  // "http://10.0.0.1:9000"; a name: each address a replica; the ServiceName of SRV records.
  std::vector<std::string> endpoints;
  DnsConfig dns{};
  http::Protocol protocol = http::Protocol::unknown;  // plain TCP: unknown is h1; TLS: by ALPN
  // Selection of a replica, and outliers: by errors and by latency.
  balance::ReplicaOptions replicas{};
  std::map<std::string, std::string> zones{};  // of endpoints, as they are written in `endpoints`
  std::optional<HealthCheckOptions> health_check{};  // active checks
  // Of each replica, all loops together. `plain` follows from the protocol, as does tls.offer_h2.
  http::PoolOptions pool{.limits = kStreaming};
  http::DialerOptions dialer{};  // connect_timeout
  http::TlsClientOptions tls{};
  std::optional<admit::RetryBudgetOptions> retry_budget{};  // of all its routes together
};

// The requests of a route. An empty field matches everything; the first route of the file that
// matches has the request.
struct RouteMatch {
  struct Header {
    std::string name;
    std::optional<std::string> value{};  // nothing: it has to be there
  };
  std::vector<std::string> hosts{};    // "shop.example", "*.shop.example"; without the port
  std::string path{};                  // the whole path, without the query
  std::string prefix{};                // the path begins with it, at a '/' or its end
  std::vector<std::string> methods{};  // "GET"
  std::vector<Header> headers{};       // all of them
};

// The request rate of each client, of all loops together.
struct ClientRateConfig {
  http::ClientRateOptions rates{};
  std::string header{};  // a client is its value; empty, or a request without it: the address

  friend bool operator==(const ClientRateConfig&, const ClientRateConfig&) = default;
};

struct RouteConfig {
  std::string name;
  RouteMatch match{};
  std::string cluster;          // empty with weighted_clusters
  policy::Settings settings{};  // everything of the engine, and retry_on
  // Declares every request idempotent, whatever its method: gRPC calls are POSTs.
  bool assume_idempotent = false;
  // An Idempotency-Key of the client makes its request idempotent, whatever its method.
  bool trust_idempotency_key = true;
  // Declares every request a read, whatever its method: it may be hedged.
  bool assume_safe = false;
  // Bytes of a request body that are kept for a retry. A longer body is only retried if no byte of
  // it was sent (trap P1). 0 to 16 MiB.
  std::size_t request_buffer = std::size_t{64} * 1024;
  // A replica is asked when the body, or request_buffer of it, has arrived.
  bool request_buffering = false;
  // A response up to this size is buffered until it is complete, so that a broken one, or a unary
  // gRPC response whose trailers have UNAVAILABLE (trap P2), can be retried. 0: it is streamed. 0
  // to 16 MiB.
  std::size_t response_buffer = 0;
  std::optional<admit::TokenBucketOptions> rate_limit{};  // requests, of all loops together
  std::optional<ClientRateConfig> client_rate_limit{};
  // Requests in flight and queued requests, by criticality; of all loops together.
  std::optional<http::AdmissionOptions> admission{};
  // Protocols to which a request may be upgraded (RFC 9110, 7.8); "*": all. h2c never is.
  std::vector<std::string> upgrades{"*"};
  std::size_t max_tunnels = 1000;  // upgraded requests and CONNECTs, of all loops together
  std::string host_rewrite{};      // empty: the client's Host is passed on
  std::string prefix_rewrite{};    // takes the place of match.prefix
  FieldEdits request_fields{};     // of each attempt
  FieldEdits response_fields{};    // of each response, the proxy's own included
  std::vector<ClusterWeight> weighted_clusters{};  // instead of `cluster`
  std::optional<HashPolicy> hash_policy{};         // the key of a request
  // At most one; such a route has no cluster.
  std::optional<DirectResponse> direct_response{};
  std::optional<Redirect> redirect{};
  std::optional<HealthPage> health_page{};

  [[nodiscard]] bool forwards() const noexcept {
    return !direct_response && !redirect && !health_page;
  }
};

struct AdminConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 9901;
  std::string
      token_file{};  // required for requests that change state, if the address is not loopback
};

enum class AccessLog : std::uint8_t { off, failures, all };
inline constexpr EnumNames<AccessLog::all> kAccessLogNames = {"off", "failures", "all"};

// A ProxyConfig is the file of a proxy: read, checked and completed with the defaults.
//
// Invariants, of one that load_proxy() made:
//   (1) At least one listener, one cluster and one route; names differ; a route that forwards()
//       has a cluster, or weighted_clusters.
//   (2) Every part is valid: find_error() of each finds nothing.
//   (3) Loading what print_proxy() makes of it gives the same, but for notes.
struct ProxyConfig {
  std::string file;  // what errors call it
  std::vector<ListenerConfig> listeners;
  std::vector<ClusterConfig> clusters;
  std::vector<RouteConfig> routes;  // in the order in which they are asked
  std::optional<AdminConfig> admin{};
  std::optional<admit::RetryBudgetOptions> retry_budget{};  // of the process
  AccessLog access_log = AccessLog::failures;
  std::string access_log_file{};  // empty: standard output
  AccessLayout access_layout{};
  std::optional<http::TraceExporterOptions> tracing{};  // nothing: no tracing
  std::size_t max_kept_bytes = 0;  // of messages, all loops together; 0: see KeptBytes
  // Held connections of all clusters and loops together, by the file descriptors; not of the file.
  std::size_t max_held = std::numeric_limits<std::size_t>::max();
  std::vector<std::string> dns_resolvers{};  // DnsServers; empty: those of the system
  Duration drain_time = std::chrono::seconds(30);
  Duration drain_delay{0};    // from the signal to stop; the listeners accept connections meanwhile
  std::uint32_t threads = 0;  // loops; 0: one a core
  std::string zone{};         // of this proxy; empty: clusters' zones have no effect
  std::vector<config::Note> notes{};
  std::shared_ptr<const ProxyPlaces> places{};  // for errors after the load; nullptr: no file
};

// The options of the command line, beside a file or instead of one:
// `damper proxy --listen :8080 --to http://127.0.0.1:9000`.
struct Flags {
  std::vector<std::string> listen{};  // "127.0.0.1:8080", ":8080" (loopback), "0.0.0.0:8080"
  std::vector<std::string> to{};      // the endpoints of one cluster
  std::string admin{};                // where the admin pages are; empty: what the file says
  std::string token_file{};           // theirs; empty: what the file says
  std::string zone{};                 // of this proxy; empty: what the file says
  bool admin_off = false;             // no admin pages, whatever the file says
  bool default_admin =
      false;  // admin pages at their default address if neither file nor flags set it
};

// The config of the file, or the first error with its location.
//
// Model: the file is a policy file (policy/policy_file.h) and more: `listeners`, `clusters`,
// `admin` and the rest of proxy_schema.h; its routes' blocks have the keys of a policy and those of
// a proxy's route. A route without `match` takes everything; with one cluster, `cluster` may be
// left out, and so may the routes. Flags have the place of listeners and clusters in a file that
// has none, and an empty text with flags is a proxy with the safe defaults: one route that takes
// everything, 3 attempts within a 10 % budget, failing and slow replicas left alone.
[[nodiscard]] Expected<ProxyConfig, config::Error> load_proxy(std::string_view text,
                                                              std::string_view file,
                                                              const Flags& flags = {});

// The same, with the policies as policy/ has them, places included: what the linter looks at.
struct ProxyFile {
  ProxyConfig config;
  policy::PolicyFile policies;  // its routes as config.routes; the notes are in config.notes
};
[[nodiscard]] Expected<ProxyFile, config::Error> load_proxy_file(std::string_view text,
                                                                 std::string_view file,
                                                                 const Flags& flags = {});

// Whether the tree is a proxy's file, and not a policy's alone: it has listeners or clusters.
[[nodiscard]] bool is_proxy_file(const config::Tree& tree);

// Every value in force, as a file.
[[nodiscard]] std::string print_proxy(const ProxyConfig& config);

}  // namespace damper::proxy
