#include "damper/webhooks/process/serve_options.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/config/form.h"
#include "damper/http/client/url.h"
#include "damper/http/file/tracing_schema.h"
#include "damper/http/net/address_class.h"
#include "damper/http/net/ip_address.h"
#include "damper/store/postgres/postgres_url.h"

namespace damper::webhooks {
namespace {

namespace form = config::form;
using config::Schema;
using config::Value;
using namespace std::chrono_literals;

constexpr double kKiB = 1024;

[[nodiscard]] Expected<std::string> read_path(std::string_view text) {
  if (text.empty() || text.size() > 4096) return unexpected(std::string());
  return std::string(text);
}
[[nodiscard]] Expected<std::string> read_address(std::string_view text) {
  const auto address = http::parse_listen_address(text);
  if (!address) return unexpected(address.error());
  return address->text();
}
[[nodiscard]] Expected<std::string> read_delay(std::string_view text) {
  const auto delay = parse_duration(text);
  if (!delay) return unexpected(delay.error());
  if (!schedule::ListedDelays::kStep.contains(*delay)) return unexpected(std::string());
  return format_duration(*delay);
}
[[nodiscard]] Expected<std::string> read_network(std::string_view text) {
  if (!http::Network::find(text)) return unexpected(std::string());
  return std::string(text);
}
[[nodiscard]] Expected<std::string> read_port(std::string_view text) {
  if (text.empty() || text.size() > 5 ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    return unexpected(std::string());
  }
  const int port = std::stoi(std::string(text));
  if (port < 1 || port > 65535) return unexpected(std::string());
  return std::to_string(port);
}

[[nodiscard]] Expected<http::EgressProxy> parse_proxy(std::string_view text) {
  const auto endpoint = http::parse_endpoint(text);
  if (!endpoint) return unexpected(endpoint.error());
  if (endpoint->tls) return unexpected(std::string("a proxy is spoken to by http, not https"));
  return http::EgressProxy{.host = endpoint->host, .port = endpoint->port, .credentials = {}};
}
[[nodiscard]] std::string text_of(const http::EgressProxy& proxy) {
  return http::Endpoint{.host = proxy.host, .port = proxy.port}.text();
}
[[nodiscard]] Expected<std::string> read_proxy(std::string_view text) {
  const auto proxy = parse_proxy(text);
  if (!proxy) return unexpected(proxy.error());
  return text_of(*proxy);
}

constexpr config::Form kFile = form::parsed(read_path, "the path of a file");
constexpr config::Form kAddress = form::parsed(read_address, http::kListenAddressForms);
constexpr config::Form kDelays = form::parsed_list(
    read_delay, "durations of 1ms to 30 days, such as 5s or 2h", 0, schedule::ListedDelays::kMost);
constexpr config::Form kNetworks =
    form::parsed_list(read_network, "networks, such as 10.0.0.0/8 or fd00::/8", 0, 1000);
constexpr config::Form kProxy =
    form::parsed(read_proxy, "the URL of a proxy, such as http://10.0.0.5:3128");
constexpr config::Form kPorts = form::parsed_list(read_port, "ports, 1 to 65535", 0, 1000);

[[nodiscard]] std::vector<std::string> texts_of(const std::vector<http::Network>& networks) {
  std::vector<std::string> texts;
  texts.reserve(networks.size());
  for (const http::Network& network : networks)
    texts.push_back(network.base.text() + '/' + std::to_string(network.length));
  return texts;
}
[[nodiscard]] std::vector<http::Network> networks_of(const Value& value) {
  std::vector<http::Network> networks;
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    networks.push_back(*http::Network::find(text));
  }
  return networks;
}

[[nodiscard]] Value delays_of(const ServeOptions& options) {
  std::vector<std::string> texts;
  for (const Duration step : options.dispatcher.policy.retries.steps()) {
    texts.push_back(format_duration(step));
  }
  return texts;
}
void set_delays(ServeOptions& options, const Value& value) {
  std::vector<Duration> steps;
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    steps.push_back(*parse_duration(text));
  }
  schedule::ListedDelays& retries = options.dispatcher.policy.retries;
  retries = *schedule::ListedDelays::from(steps, retries.spread());
}
[[nodiscard]] Value spread_of(const ServeOptions& options) {
  return std::int64_t{options.dispatcher.policy.retries.spread().hundredths()};
}
void set_spread(ServeOptions& options, const Value& value) {
  schedule::ListedDelays& retries = options.dispatcher.policy.retries;
  const auto spread =
      Percent::from_hundredths(static_cast<std::int32_t>(std::get<std::int64_t>(value)));
  retries = *schedule::ListedDelays::from(retries.steps(), spread);
}
[[nodiscard]] Value ports_of(const ServeOptions& options) {
  std::vector<std::string> texts;
  texts.reserve(options.dispatcher.guard.ports.size());
  for (const std::uint16_t port : options.dispatcher.guard.ports) {
    texts.push_back(std::to_string(port));
  }
  return texts;
}
void set_ports(ServeOptions& options, const Value& value) {
  options.dispatcher.guard.ports.clear();
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    options.dispatcher.guard.ports.push_back(static_cast<std::uint16_t>(std::stoi(text)));
  }
}

void add_server(Schema<ServeOptions>& s) {
  s.key<[](const ServeOptions& o) -> Value { return o.listen.text(); },
        [](ServeOptions& o, const Value& value) {
          o.listen = *http::parse_listen_address(std::get<std::string>(value));
        }>("listen", kAddress, "Address of the API.");
  s.key<DAMPER_FIELD(store)>("store", kFile,
                             "A SQLite file, which is created if it does not exist; or a database "
                             "of PostgreSQL for several dispatchers: postgres://user@host/name.");
  s.key<[](const ServeOptions& o) -> Value {
    return o.token_file.empty() ? Value() : Value(o.token_file);
  },
        [](ServeOptions& o, Value&& value) { o.token_file = std::get<std::string>(value); }>(
      "token_file", kFile,
      "Tokens of the API's clients: TOKEN APPLICATION|* SCOPES in each line. Required if the "
      "address is not loopback.");
  s.key<[](const ServeOptions& o) -> Value {
    return o.secret_key_file.empty() ? Value() : Value(o.secret_key_file);
  },
        [](ServeOptions& o, Value&& value) { o.secret_key_file = std::get<std::string>(value); }>(
      "secret_key_file", kFile,
      "Keys that encrypt the endpoints' secrets in the store: 32 bytes as base64 in each line. The "
      "first one encrypts, the others only decrypt. Default: STORE.key, created with the store.");
  s.key<DAMPER_FIELD(log_attempts)>("log_attempts", form::choice(kAttemptLoggingNames),
                                    "Which attempts are written to the log.");
  s.key<DAMPER_FIELD(max_payload)>("max_payload", form::bytes(kKiB, 16 * 1024 * kKiB),
                                   "Size of a message's payload.");
  s.key<DAMPER_FIELD(drain_time)>("drain_time", form::duration(0s),
                                  "Time for attempts in flight to end after SIGTERM.");
  s.section("retention", "What is kept.");
  s.key<DAMPER_FIELD(keep_messages)>("retention.messages", form::duration(1min),
                                     "Messages whose deliveries have ended.");
  s.key<DAMPER_FIELD(keep_dead_letters)>("retention.dead_letters", form::duration(1min),
                                         "Dead letters that were not redriven.");
  s.key<DAMPER_FIELD(keep_attempts)>("retention.attempts", form::integer(1000, 1e9),
                                     "Number of attempts in the log.");
}

void add_delivery(Schema<ServeOptions>& s) {
  using engine::DeliveryPolicy;
  s.section("delivery", "How messages are delivered; an endpoint can override some of it.");
  s.key<DAMPER_FIELD(dispatcher.policy.timeout)>(
      "delivery.timeout", form::duration(DeliveryPolicy::kTimeout), "Limit of one attempt.");
  s.key<delays_of, set_delays>("delivery.retries", kDelays,
                               "Mean delays before the retries, one after the other. The default "
                               "is the schedule of Standard Webhooks.");
  s.key<DAMPER_FIELD(schedule)>(
      "delivery.schedule", form::choice(kRetryScheduleNames),
      "`listed` is delivery.retries; the others are exponential, with this jitter.");
  s.key<DAMPER_FIELD(backoff_base)>("delivery.backoff_base",
                                    form::duration(schedule::BackoffOptions::kBase),
                                    "First delay of an exponential schedule.");
  s.key<DAMPER_FIELD(backoff_cap)>("delivery.backoff_cap",
                                   form::duration(schedule::BackoffOptions::kBase),
                                   "Longest delay of an exponential schedule.");
  s.key<DAMPER_FIELD(max_attempts)>("delivery.max_attempts",
                                    form::integer(DeliveryPolicy::kMaxAttempts),
                                    "Attempts of an exponential schedule.");
  s.key<spread_of, set_spread>("delivery.jitter", form::percent(schedule::ListedDelays::kSpread),
                               "Each delay is drawn between its mean less and plus this share.");
  s.key<DAMPER_FIELD(dispatcher.policy.max_age)>(
      "delivery.max_age", form::duration(DeliveryPolicy::kMaxAge),
      "A delivery that is older is a dead letter, whatever its attempts.");
  s.key<DAMPER_FIELD(dispatcher.policy.longest_hold)>(
      "delivery.max_retry_after", form::duration(1s),
      "A longer Retry-After of an endpoint counts as this.");
  s.key<DAMPER_FIELD(dispatcher.policy.disable_after)>(
      "delivery.disable_after", form::duration(0s).with_off(0),
      "An endpoint of which every attempt has failed for this time is disabled.");
  s.key<DAMPER_FIELD(dispatcher.connect_timeout)>(
      "delivery.connect_timeout", form::duration(http::DialerOptions::kConnectTimeout),
      "Limit of name lookup, connection and TLS handshake.");
  s.key<DAMPER_FIELD(dispatcher.max_in_flight)>(
      "delivery.max_in_flight", form::integer(DispatcherOptions::kMaxInFlight),
      "Concurrent attempts to all endpoints; those that fail get half of it at most.");
}

void add_breaker(Schema<ServeOptions>& s) {
  using admit::CircuitBreakerOptions;
  s.section("circuit_breaker", "The breaker of each endpoint, and the rate of all probes.");
  s.key<DAMPER_FIELD(dispatcher.policy.breaker.consecutive_failures)>(
      "circuit_breaker.consecutive_failures",
      form::integer(CircuitBreakerOptions::kConsecutiveFailures).with_off(0),
      "Failures in a row that open it.");
  s.key<DAMPER_FIELD(dispatcher.policy.breaker.failure_rate)>(
      "circuit_breaker.failure_rate", form::percent(CircuitBreakerOptions::kRate),
      "Share of failures in the window that opens it.");
  s.key<DAMPER_FIELD(dispatcher.policy.breaker.window)>(
      "circuit_breaker.window", form::duration(CircuitBreakerOptions::kWindow),
      "The window of the failure rate.");
  s.key<DAMPER_FIELD(dispatcher.policy.breaker.minimum_volume)>(
      "circuit_breaker.minimum_volume", form::integer(CircuitBreakerOptions::kMinimumVolume),
      "Attempts in the window before the rate is evaluated.");
  s.key<DAMPER_FIELD(dispatcher.policy.breaker.open_base)>(
      "circuit_breaker.open_base", form::duration(CircuitBreakerOptions::kOpenBase),
      "First open time; doubled by each trip in a row.");
  s.key<DAMPER_FIELD(dispatcher.policy.breaker.open_cap)>(
      "circuit_breaker.open_cap", form::duration(CircuitBreakerOptions::kOpenBase),
      "Longest open time.");
  s.key<DAMPER_FIELD(dispatcher.policy.breaker.ramp)>(
      "circuit_breaker.ramp", form::duration(CircuitBreakerOptions::kRamp),
      "After it closes, the share of admitted attempts grows to all of them in this time.");
  s.key<DAMPER_FIELD(dispatcher.host_probes.rate_per_second)>(
      "circuit_breaker.host_probes_per_second", form::rate(1, 1e8),
      "Probes a second of all endpoints of one host.");
  s.key<DAMPER_FIELD(dispatcher.all_probes.rate_per_second)>(
      "circuit_breaker.probes_per_second", form::rate(1, 1e8), "Probes a second of all endpoints.");
}

void add_egress(Schema<ServeOptions>& s) {
  s.section("egress",
            "Which addresses are connected to. Private, loopback, link-local and other special "
            "addresses are refused; those of cloud metadata services always.");
  s.key<[](const ServeOptions& o) -> Value { return texts_of(o.dispatcher.guard.allowed); },
        [](ServeOptions& o, const Value& value) {
          o.dispatcher.guard.allowed = networks_of(value);
        }>("egress.allow", kNetworks, "Networks that are allowed besides public addresses.");
  s.key<[](const ServeOptions& o) -> Value { return texts_of(o.dispatcher.guard.refused); },
        [](ServeOptions& o, const Value& value) {
          o.dispatcher.guard.refused = networks_of(value);
        }>("egress.refuse", kNetworks, "Networks that are refused, before `allow`.");
  s.key<ports_of, set_ports>("egress.ports", kPorts, "Ports that are allowed; none: all.");
  s.key<DAMPER_FIELD(dispatcher.guard.allow_plain)>("egress.plain_http", form::kBoolean,
                                                    "Whether URLs may be http.");
  s.key<[](const ServeOptions& o) -> Value {
    return o.dispatcher.proxy ? Value(text_of(*o.dispatcher.proxy)) : Value();
  },
        [](ServeOptions& o, const Value& value) {
          o.dispatcher.proxy = *parse_proxy(std::get<std::string>(value));
        }>(
      "egress.proxy", kProxy,
      "An HTTP proxy through which all endpoints are reached, by CONNECT with the address that "
      "was checked. Environment variables such as https_proxy have no effect.");
  s.key<[](const ServeOptions& o) -> Value {
    return o.proxy_credentials_file.empty() ? Value() : Value(o.proxy_credentials_file);
  },
        [](ServeOptions& o, Value&& value) {
          o.proxy_credentials_file = std::get<std::string>(value);
        }>("egress.proxy_credentials_file", kFile,
           "A file with user:password for the proxy (Basic).");
}

}  // namespace

const config::Schema<ServeOptions>& serve_schema() {
  static const Schema<ServeOptions> kSchema = [] {
    Schema<ServeOptions> schema("webhooks");
    add_server(schema);
    add_delivery(schema);
    add_breaker(schema);
    add_egress(schema);
    http::add_tracing(schema);
    schema.set_may_be_null();
    return schema;
  }();
  return kSchema;
}

DispatcherOptions dispatcher_options(const ServeOptions& options) {
  DispatcherOptions dispatcher = options.dispatcher;
  if (options.schedule != RetrySchedule::listed) {
    dispatcher.policy.backoff =
        backoff_of(options.schedule, options.backoff_base, options.backoff_cap);
    dispatcher.policy.max_attempts = options.max_attempts;
  }
  return dispatcher;
}

std::optional<std::string> find_error(const ServeOptions& options) {
  if (auto error = serve_schema().find_error(options)) return error;
  if (auto error = find_error(dispatcher_options(options))) {
    // A bound that is another key's value, by the names of the file.
    for (const auto& [ours, key] :
         {std::pair{"backoff.", "delivery.backoff_"}, std::pair{"breaker.", "circuit_breaker."}}) {
      if (error->starts_with(ours)) return key + error->substr(std::string_view(ours).size());
    }
    return error;
  }
  if (store::is_postgres_url(options.store)) {
    if (const auto url = store::PostgresUrl::parse(options.store); !url) {
      return "store: " + url.error();
    }
  } else if (options.store.find("://") != std::string::npos) {
    return "store is neither a file nor a URL with postgres:// or postgresql://";
  }
  if (!options.proxy_credentials_file.empty() && !options.dispatcher.proxy) {
    return "egress.proxy_credentials_file is set, and egress.proxy is not";
  }
  const auto address = http::IpAddress::find(options.listen.host);
  const bool loopback = address && http::class_of(*address) == http::AddressClass::loopback;
  if (!loopback && options.token_file.empty()) {
    return "listen is not a loopback address, so that anyone could send: set token_file, see "
           "docs/guide/webhooks.md";
  }
  return std::nullopt;
}

Expected<ServeOptions> load_serve_options(std::string_view text, std::string_view name) {
  const auto tree = config::parse_yaml(text, name);
  if (!tree) return unexpected(to_string(tree.error()));
  ServeOptions options;
  config::Reader reader(name);
  if (const auto error = reader.read(serve_schema(), *tree, tree->place, "the file", options)) {
    return unexpected(to_string(*error));
  }
  if (auto error = find_error(options)) return unexpected(std::string(name) + ": " + *error);
  return options;
}

}  // namespace damper::webhooks
