// The table of proxy_schema.h.
#include "damper/proxy/config/proxy_schema.h"

#include <array>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "damper/policy/file/raw_value.h"
#include "damper/proxy/config/listen_address.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using policy::Key;
using policy::Kind;

constexpr std::array<std::string_view, 3> kAccessLogNames = {"off", "failures", "all"};
constexpr std::array<std::string_view, 3> kProtocolNames = {"auto", "http1", "http2"};
constexpr Duration kTick{1};
constexpr Duration kHour = std::chrono::hours(1);
constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

// A key whose value is one field; `Field` takes the Subject and returns the field.
template <auto Field>
ProxyKey field(Thing thing, Key form) {
  return {.thing = thing,
          .form = form,
          .get = [](const Subject& s) { return policy::to_raw(Field(s)); },
          .set =
              [](const Subject& s, std::int64_t raw) {
                auto& value = Field(s);
                value = policy::from_raw<std::remove_reference_t<decltype(value)>>(raw);
              }};
}
template <auto Field>
ProxyKey number(Thing thing, Kind kind, std::string_view path, std::int64_t low, std::int64_t high,
                std::string_view doc) {
  return field<Field>(thing, {.path = path, .kind = kind, .low = low, .high = high, .doc = doc});
}
template <auto Field>
ProxyKey integer(Thing thing, std::string_view path, std::int64_t low, std::int64_t high,
                 std::string_view doc) {
  return number<Field>(thing, Kind::integer, path, low, high, doc);
}
template <auto Field>
ProxyKey bytes(Thing thing, std::string_view path, std::int64_t low, std::int64_t high,
               std::string_view doc) {
  return number<Field>(thing, Kind::bytes, path, low, high, doc);
}
template <auto Field>
ProxyKey duration(Thing thing, std::string_view path, Duration low, Duration high,
                  std::string_view doc) {
  return number<Field>(thing, Kind::duration, path, low.count(), high.count(), doc);
}
template <auto Field>
ProxyKey choice(Thing thing, std::string_view path, std::span<const std::string_view> names,
                std::string_view doc) {
  ProxyKey key = number<Field>(thing, Kind::choice, path, 0, std::ssize(names) - 1, doc);
  key.form.names = names;
  return key;
}
// A number with decimals.
template <auto Field>
ProxyKey thousandths(Thing thing, std::string_view path, std::int64_t low, std::int64_t high,
                     std::string_view doc) {
  return {.thing = thing,
          .form = {.path = path, .kind = Kind::rate, .low = low, .high = high, .doc = doc},
          .get = [](const Subject& s) -> std::int64_t { return std::llround(Field(s) * 1000); },
          .set = [](const Subject& s,
                    std::int64_t raw) { Field(s) = static_cast<double>(raw) / 1000; }};
}
// Kind, bounds and words of a key of the policy's block, under a name of ours.
template <auto Field>
ProxyKey like(Thing thing, std::string_view path, std::string_view policy_path,
              std::string_view doc = {}) {
  Key form = policy::keys()[*policy::find_key(policy_path)];
  form.path = path;
  if (!doc.empty()) form.doc = doc;
  form.get = nullptr;
  form.set = nullptr;
  form.not_under = {};  // find_error() says it.
  return field<Field>(thing, form);
}
ProxyKey with_off(ProxyKey key, std::int64_t raw, std::string_view word = "off") {
  key.form.off = raw;
  key.form.off_word = word;
  return key;
}

template <auto Field, auto Read>
ProxyKey text(Thing thing, std::string_view path, std::string_view accepted, std::string_view doc) {
  return {.thing = thing,
          .shape = Shape::text,
          .form = {.path = path, .doc = doc},
          .accepted = accepted,
          .text = [](const Subject& s) { return std::string(Field(s)); },
          .take = [](const Subject& s, std::string_view said) -> std::optional<std::string> {
            auto read = Read(said);
            if (!read) return read.error();
            Field(s) = *std::move(read);
            return std::nullopt;
          }};
}
template <auto Field, auto Read>
ProxyKey texts(Thing thing, std::string_view path, std::string_view accepted,
               std::string_view doc) {
  return {.thing = thing,
          .shape = Shape::texts,
          .form = {.path = path, .doc = doc},
          .accepted = accepted,
          .texts = [](const Subject& s) -> std::vector<std::string>& { return Field(s); },
          .take = [](const Subject& s, std::string_view said) -> std::optional<std::string> {
            auto read = Read(said);
            if (!read) return read.error();
            Field(s).push_back(*std::move(read));
            return std::nullopt;
          }};
}
// Address and port of whatever listens.
template <auto Listens>
ProxyKey address(Thing thing, std::string_view doc) {
  return {.thing = thing,
          .shape = Shape::text,
          .form = {.path = thing == Thing::proxy ? "admin.address" : "address", .doc = doc},
          .accepted = kListenAddressForms,
          .text =
              [](const Subject& s) {
                return ListenAddress{Listens(s).address, Listens(s).port}.text();
              },
          .take = [](const Subject& s, std::string_view said) -> std::optional<std::string> {
            auto read = parse_listen_address(said);
            if (!read) return read.error();
            Listens(s).address = std::move(read->host);
            Listens(s).port = read->port;
            return std::nullopt;
          }};
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): the path of a member takes none.
#define DAMPER_AT(expression) [](const Subject& s) -> auto& { return s.expression; }

void add_proxy(std::vector<ProxyKey>& keys) {
  constexpr Thing kThing = Thing::proxy;
  keys.push_back(choice<DAMPER_AT(proxy->access_log)>(
      kThing, "access_log", kAccessLogNames,
      "Which requests are logged, each a line of JSON; failures: those that got no answer of the "
      "service's, or a 5xx."));
  keys.push_back(text<DAMPER_AT(proxy->access_log_file), read_file_name>(
      kThing, "access_log_file", kFileForms, "Where the access log goes; else standard output."));
  keys.push_back(duration<DAMPER_AT(proxy->drain_time)>(
      kThing, "drain_time", Duration{0}, kHour,
      "How long requests under way may take to end once it is asked to stop."));
  keys.push_back(with_off(integer<DAMPER_AT(proxy->threads)>(kThing, "threads", 1, 256,
                                                             "Event loops; auto: one a core."),
                          0, "auto"));
  keys.push_back(address<DAMPER_AT(proxy->admin.value())>(
      kThing, "Where the admin pages are; not loopback: token_file is needed."));
  keys.push_back(text<DAMPER_AT(proxy->admin->token_file), read_file_name>(
      kThing, "admin.token_file", kFileForms,
      "The file with the token that whoever changes state has to show."));
}

template <auto Limits>
void add_limits(std::vector<ProxyKey>& keys, Thing thing) {
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_LIMIT(member) [](const Subject& s) -> auto& { return Limits(s).member; }
  keys.push_back(
      duration<DAMPER_LIMIT(idle_timeout)>(thing, "idle_timeout", kTick, kLongest,
                                           "A connection without a request is closed after it."));
  keys.push_back(duration<DAMPER_LIMIT(head_timeout)>(
      thing, thing == Thing::listener ? "request_headers_timeout" : "response_headers_timeout",
      kTick, kLongest, "From the first byte of a head to its last."));
  keys.push_back(duration<DAMPER_LIMIT(body_timeout)>(
      thing, "stream_idle_timeout", kTick, kLongest,
      "A body or a tunnel that is under way and of which nothing comes is given up after it."));
  keys.push_back(duration<DAMPER_LIMIT(write_timeout)>(
      thing, "write_timeout", kTick, kLongest,
      "A peer that takes nothing of what is to be sent is given up after it."));
  keys.push_back(with_off(duration<DAMPER_LIMIT(message_timeout)>(
                              thing, "message_timeout", Duration{0}, kLongest,
                              "A whole body; a second longer for each KiB moved. off: streams may "
                              "last as long as they like."),
                          0));
  keys.push_back(with_off(
      duration<DAMPER_LIMIT(max_age)>(thing, "max_connection_duration", Duration{0}, kLongest,
                                      "A connection takes no new requests after it."),
      0));
  keys.push_back(bytes<DAMPER_LIMIT(max_head_bytes)>(
      thing, thing == Thing::listener ? "max_request_headers" : "max_response_headers", kKiB, kMiB,
      "Start line and fields of one message."));
  keys.push_back(integer<DAMPER_LIMIT(max_fields)>(thing, "max_headers_count", 1, 1000,
                                                   "Fields of one message."));
  keys.push_back(
      with_off(bytes<DAMPER_LIMIT(max_body_bytes)>(
                   thing, thing == Thing::listener ? "max_request_bytes" : "max_response_bytes", 0,
                   std::int64_t{1} << 40, "One body; off: as much as comes, it is streamed."),
               0));
  keys.push_back(bytes<DAMPER_LIMIT(window_bytes)>(
      thing, "initial_stream_window_size", 16 * kKiB, 16 * kMiB,
      "Bytes of one body that are held while the other side is slow."));
  keys.push_back(bytes<DAMPER_LIMIT(max_output_bytes)>(
      thing, "per_connection_buffer_limit_bytes", 16 * kKiB, 64 * kMiB,
      "Bytes of one connection that wait to be sent."));
  keys.push_back(integer<DAMPER_LIMIT(max_streams)>(thing, "max_concurrent_streams", 1, 10'000,
                                                    "HTTP/2 requests at once on one connection."));
  keys.push_back(integer<DAMPER_LIMIT(max_idle_frames_per_second)>(
      thing, "max_idle_frames_per_second", 10, 1'000'000,
      "HTTP/2 frames that carry nothing; more are a flood, and the connection is closed."));
#undef DAMPER_LIMIT
}

void add_listener(std::vector<ProxyKey>& keys) {
  constexpr Thing kThing = Thing::listener;
  keys.push_back(address<DAMPER_AT(listener[0])>(kThing, "Where it listens."));
  keys.push_back(integer<DAMPER_AT(listener->max_connections)>(
      kThing, "max_connections", 1, 1'000'000,
      "Connections at once, of all loops together; one more is closed at once."));
  add_limits<DAMPER_AT(listener->limits)>(keys, kThing);
  keys.push_back(text<DAMPER_AT(listener->tls->certificate_file), read_file_name>(
      kThing, "tls.certificate_file", kFileForms, "The certificate and its chain, in PEM."));
  keys.push_back(text<DAMPER_AT(listener->tls->key_file), read_file_name>(
      kThing, "tls.key_file", kFileForms, "The certificate's key, in PEM."));
  keys.push_back(text<DAMPER_AT(listener->tls->client_ca_file), read_file_name>(
      kThing, "tls.client_ca_file", kFileForms,
      "Who signs the certificates of clients; a client that shows one must have it from them."));
  keys.push_back(number<DAMPER_AT(listener->tls->require_client_certificate)>(
      kThing, Kind::boolean, "tls.require_client_certificate", 0, 1,
      "Only clients with a certificate are let in (mTLS)."));
}

template <auto Budget>
void add_budget(std::vector<ProxyKey>& keys, Thing thing) {
  const auto add = [&]<auto Field>(std::string_view path) {
    keys.push_back(like<Field>(thing, path, path));
  };
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_BUDGET(member) [](const Subject& s) -> auto& { return Budget(s)->member; }
  add.template operator()<DAMPER_BUDGET(percent)>("retry_budget.budget_percent");
  add.template operator()<DAMPER_BUDGET(window)>("retry_budget.window");
  add.template operator()<DAMPER_BUDGET(reserve)>("retry_budget.reserve");
  add.template operator()<DAMPER_BUDGET(min_per_second)>("retry_budget.min_retries_per_second");
  add.template operator()<DAMPER_BUDGET(deposit_on)>("retry_budget.deposit_on");
  add.template operator()<DAMPER_BUDGET(min_retry_concurrency)>(
      "retry_budget.min_retry_concurrency");
#undef DAMPER_BUDGET
}

void add_outliers(std::vector<ProxyKey>& keys) {
  constexpr Thing kThing = Thing::cluster;
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_OUTLIER(member) DAMPER_AT(cluster->replicas.breaker.member)
  keys.push_back(like<DAMPER_OUTLIER(consecutive_failures)>(
      kThing, "outlier_detection.consecutive_5xx", "circuit_breaker.consecutive_failures",
      "It is ejected at so many failures in a row."));
  keys.push_back(like<DAMPER_OUTLIER(failure_rate)>(
      kThing, "outlier_detection.failure_percentage_threshold", "circuit_breaker.failure_rate",
      "It is ejected when so many of the interval's attempts fail."));
  keys.push_back(like<DAMPER_OUTLIER(minimum_volume)>(
      kThing, "outlier_detection.failure_percentage_request_volume",
      "circuit_breaker.minimum_volume", "Attempts in the interval before a percentage counts."));
  keys.push_back(
      like<DAMPER_OUTLIER(window)>(kThing, "outlier_detection.interval", "circuit_breaker.window"));
  keys.push_back(like<DAMPER_OUTLIER(slow_call_duration)>(
      kThing, "outlier_detection.slow_call_duration", "circuit_breaker.slow_call_duration",
      "An attempt that takes longer is slow; off: none is."));
  keys.push_back(like<DAMPER_OUTLIER(slow_call_rate)>(
      kThing, "outlier_detection.slow_call_rate", "circuit_breaker.slow_call_rate",
      "It is ejected when so many are over slow_call_duration."));
  keys.push_back(like<DAMPER_OUTLIER(open_base)>(
      kThing, "outlier_detection.base_ejection_time", "circuit_breaker.open_base",
      "The first ejection; doubled at each in a row, and jittered."));
  keys.push_back(like<DAMPER_OUTLIER(open_cap)>(kThing, "outlier_detection.max_ejection_time",
                                                "circuit_breaker.open_cap",
                                                "The longest ejection."));
  keys.push_back(like<DAMPER_OUTLIER(probes)>(
      kThing, "outlier_detection.probes", "circuit_breaker.probes",
      "Attempts at once after an ejection, and successes that end it."));
  keys.push_back(like<DAMPER_OUTLIER(probe_lease)>(kThing, "outlier_detection.probe_lease",
                                                   "circuit_breaker.probe_lease"));
  keys.push_back(like<DAMPER_OUTLIER(ramp)>(
      kThing, "outlier_detection.ramp", "circuit_breaker.ramp",
      "Traffic grows to its share over so long after an ejection; off: at once."));
  keys.push_back(with_off(
      thousandths<DAMPER_AT(cluster->replicas.latency_factor)>(
          kThing, "outlier_detection.latency_factor", 1500, 100'000,
          "It is ejected when its answers take so many times as long as the others' do; off: "
          "never for that."),
      0));
  keys.push_back(duration<DAMPER_AT(cluster->replicas.latency_floor)>(
      kThing, "outlier_detection.latency_floor", std::chrono::milliseconds(1),
      std::chrono::minutes(1), "And when they take so much longer, at least."));
  keys.push_back(integer<DAMPER_AT(cluster->replicas.latency_samples)>(
      kThing, "outlier_detection.latency_samples", 1, 10'000,
      "Answers of each before latencies are compared."));
  keys.push_back(number<DAMPER_AT(cluster->replicas.max_ejection_percent)>(
      kThing, Kind::percent, "outlier_detection.max_ejection_percent", 0, 10'000,
      "None is ejected for being slow when more than these would be out."));
  keys.push_back(duration<DAMPER_AT(cluster->replicas.latency_half_life)>(
      kThing, "outlier_detection.latency_half_life", std::chrono::milliseconds(1), kHour,
      "A latency that nothing renews counts half after it: a slow endpoint is tried again."));
#undef DAMPER_OUTLIER
}

void add_cluster(std::vector<ProxyKey>& keys) {
  constexpr Thing kThing = Thing::cluster;
  keys.push_back(texts<DAMPER_AT(cluster->endpoints), read_endpoint>(
      kThing, "endpoints", kEndpointForms,
      "Who answers; a name stands for all of its addresses. All http or all https."));
  keys.push_back(choice<DAMPER_AT(cluster->protocol)>(
      kThing, "protocol", kProtocolNames,
      "What is spoken; auto: HTTP/1.1, and what ALPN says over TLS."));
  keys.push_back(duration<DAMPER_AT(cluster->dns_refresh)>(kThing, "dns_refresh_rate",
                                                           std::chrono::milliseconds(100), kHour,
                                                           "How often names are looked up again."));
  keys.push_back(duration<DAMPER_AT(cluster->dialer.connect_timeout)>(
      kThing, "connect_timeout", std::chrono::milliseconds(1), std::chrono::minutes(5),
      "From the name to the end of the TLS handshake."));
  keys.push_back(integer<DAMPER_AT(cluster->pool.max_connections)>(
      kThing, "max_connections", 1, 10'000,
      "Connections to each endpoint; each loop has an equal share of them, rounded up."));
  keys.push_back(integer<DAMPER_AT(cluster->pool.max_waiting)>(
      kThing, "max_pending_requests", 0, 1'000'000,
      "Requests that wait for a connection to an endpoint; shared out as max_connections is."));
  add_limits<DAMPER_AT(cluster->pool.limits)>(keys, kThing);
  keys.push_back(text<DAMPER_AT(cluster->tls.ca_file), read_file_name>(
      kThing, "tls.ca_file", kFileForms, "Whom to trust, in PEM; else whom the system trusts."));
  keys.push_back(text<DAMPER_AT(cluster->tls.identity.certificate_file), read_file_name>(
      kThing, "tls.certificate_file", kFileForms,
      "Our own certificate, for endpoints that ask for one."));
  keys.push_back(text<DAMPER_AT(cluster->tls.identity.key_file), read_file_name>(
      kThing, "tls.key_file", kFileForms, "Its key."));
  add_outliers(keys);
  add_budget<DAMPER_AT(cluster->retry_budget)>(keys, kThing);
}

void add_match(std::vector<ProxyKey>& keys) {
  constexpr Thing kThing = Thing::route;
  keys.push_back(texts<DAMPER_AT(route->match.hosts), read_host>(
      kThing, "match.hosts", kHostForms,
      "The request's Host, without its port and whatever its case; *.x is every name under x."));
  keys.push_back(text<DAMPER_AT(route->match.path), read_path>(
      kThing, "match.path", kPathForms, "The whole path, as it is written: nothing is unescaped."));
  keys.push_back(text<DAMPER_AT(route->match.prefix), read_path>(
      kThing, "match.prefix", kPathForms,
      "The path is this or goes on with a / after it: /api is not the prefix of /apis."));
  keys.push_back(texts<DAMPER_AT(route->match.methods), read_method>(
      kThing, "match.methods", kMethodForms, "The request's method."));
  keys.push_back({.thing = kThing,
                  .shape = Shape::headers,
                  .form = {.path = "match.headers",
                           .doc = "Fields that the request has, all of them; whole values."}});
}

void add_route(std::vector<ProxyKey>& keys) {
  constexpr Thing kThing = Thing::route;
  keys.push_back(text<DAMPER_AT(route->cluster), read_name>(
      kThing, "cluster", kNameForms, "Where its requests go; may be left out when there is one."));
  keys.push_back(number<DAMPER_AT(route->assume_idempotent)>(
      kThing, Kind::boolean, "assume_idempotent", 0, 1,
      "Your word that any of its requests may be repeated, whatever its method: gRPC calls are "
      "POSTs."));
  keys.push_back(bytes<DAMPER_AT(route->request_buffer)>(
      kThing, "request_buffer", 0, 16 * kMiB,
      "So much of a request's body is kept for a retry; a longer one is retried only when it "
      "surely never left."));
  keys.push_back(bytes<DAMPER_AT(route->response_buffer)>(
      kThing, "response_buffer", 0, 16 * kMiB,
      "An answer up to it is held until it is whole, so that one that breaks off can be retried; "
      "0: passed on as it comes."));
  keys.push_back(text<DAMPER_AT(route->host_rewrite), read_authority>(
      kThing, "host_rewrite", kAuthorityForms, "The Host that is sent; else the client's own."));
  keys.push_back(text<DAMPER_AT(route->prefix_rewrite), read_path>(
      kThing, "prefix_rewrite", kPathForms, "Takes the place of match.prefix."));
  add_match(keys);
  keys.push_back(thousandths<DAMPER_AT(route->rate_limit->rate_per_second)>(
      kThing, "rate_limit.requests_per_second", 1, 100'000'000'000,
      "Requests a second, of all loops together; more are refused with 429."));
  keys.push_back(integer<DAMPER_AT(route->rate_limit->burst)>(
      kThing, "rate_limit.burst", 1, 1'000'000, "Requests at once after a quiet time."));
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_ADMISSION(member) DAMPER_AT(route->admission->member)
  keys.push_back(like<DAMPER_ADMISSION(limit.kind)>(kThing, "admission_control.kind",
                                                    "concurrency_limit.kind"));
  keys.push_back(
      like<DAMPER_ADMISSION(limit.min)>(kThing, "admission_control.min", "concurrency_limit.min"));
  keys.push_back(like<DAMPER_ADMISSION(limit.initial)>(
      kThing, "admission_control.initial", "concurrency_limit.initial",
      "Requests at once, of all loops together, at first; the limit itself when it is fixed."));
  keys.push_back(
      like<DAMPER_ADMISSION(limit.max)>(kThing, "admission_control.max", "concurrency_limit.max"));
  keys.push_back(integer<DAMPER_ADMISSION(queue.capacity)>(
      kThing, "admission_control.queue_capacity", 1, 1'000'000,
      "Requests that wait for a place, of all loops together; at the bound the least critical of "
      "the loop is shed."));
  keys.push_back(duration<DAMPER_ADMISSION(queue.interval)>(
      kThing, "admission_control.queue_interval", std::chrono::milliseconds(1), kHour,
      "A queue that is not empty for so long is under pressure: newest first."));
  keys.push_back(duration<DAMPER_ADMISSION(queue.target)>(
      kThing, "admission_control.queue_target", kTick, kHour,
      "The longest wait under pressure; at most queue_interval."));
  keys.push_back(duration<DAMPER_ADMISSION(longest_wait)>(
      kThing, "admission_control.max_wait", std::chrono::milliseconds(1), kHour,
      "The longest wait of all; then it is shed."));
#undef DAMPER_ADMISSION
}

template <auto Part>
ProxySection optional_part(Thing thing, std::string_view path, std::string_view doc) {
  return {thing, path, doc, [](const Subject& s) { return Part(s).has_value(); },
          [](const Subject& s, bool on) {
            auto& part = Part(s);
            if (!on) part.reset();
            if (on && !part) part.emplace();
          }};
}

const auto kSections = std::to_array<ProxySection>({
    optional_part<DAMPER_AT(proxy->admin)>(
        Thing::proxy, "admin", "Pages that show and change the state of the running proxy."),
    optional_part<DAMPER_AT(proxy->retry_budget)>(
        Thing::proxy, "retry_budget",
        "Bounds the retries of all clusters together, beside their own budgets."),
    optional_part<DAMPER_AT(listener->tls)>(Thing::listener, "tls", "TLS 1.2 and 1.3."),
    {Thing::cluster, "tls", "For endpoints of https."},
    {Thing::cluster, "outlier_detection",
     "When an endpoint is left alone for a while, each by itself; with a single one never."},
    optional_part<DAMPER_AT(cluster->retry_budget)>(
        Thing::cluster, "retry_budget",
        "Bounds the retries of all its routes together, beside their own budgets."),
    {Thing::route, "match", "Which requests it takes; what is left out is not asked."},
    optional_part<DAMPER_AT(route->rate_limit)>(Thing::route, "rate_limit",
                                                "Bounds the rate of its requests."),
    optional_part<DAMPER_AT(route->admission)>(
        Thing::route, "admission_control",
        "Bounds its requests under way; those over it wait, and the least critical are shed."),
});

constexpr ProxyMoved kMoved[] = {
    {Thing::proxy, "concurrency", "threads"},
    {Thing::listener, "tls.certificate_chain", "tls.certificate_file"},
    {Thing::listener, "tls.private_key", "tls.key_file"},
    {Thing::listener, "tls.trusted_ca", "tls.client_ca_file"},
    {Thing::cluster, "tls.certificate_chain", "tls.certificate_file"},
    {Thing::cluster, "tls.private_key", "tls.key_file"},
    {Thing::cluster, "tls.trusted_ca", "tls.ca_file"},
    {Thing::cluster, "circuit_breakers", ""},
    {Thing::cluster, "circuit_breakers.max_connections", "max_connections"},
    {Thing::cluster, "circuit_breakers.max_pending_requests", "max_pending_requests"},
    {Thing::cluster, "circuit_breakers.retry_budget", "retry_budget"},
    {Thing::route, "host_rewrite_literal", "host_rewrite"},
    {Thing::route, "match.domains", "match.hosts"},
};

}  // namespace

std::span<const ProxyKey> proxy_keys() {
  static const std::vector<ProxyKey> kAll = [] {
    std::vector<ProxyKey> all;
    add_proxy(all);
    add_budget<DAMPER_AT(proxy->retry_budget)>(all, Thing::proxy);
    add_listener(all);
    add_cluster(all);
    add_route(all);
    return all;
  }();
  return kAll;
}
std::span<const ProxySection> proxy_sections() { return kSections; }
std::span<const ProxyMoved> proxy_moved() { return kMoved; }

}  // namespace damper::proxy
