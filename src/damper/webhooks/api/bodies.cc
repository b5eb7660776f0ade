#include "damper/webhooks/api/bodies.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "damper/admit/reason.h"
#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"
#include "damper/http/client/url.h"
#include "damper/http/net/address_class.h"
#include "damper/webhooks/api/schema.h"
#include "damper/webhooks/api/time_text.h"
#include "damper/webhooks/key.h"

namespace damper::webhooks {
namespace {

// PostgreSQL's text has no byte 0.
[[nodiscard]] bool has_nul(std::string_view text) noexcept {
  return text.find('\0') != std::string_view::npos;
}

using text::JsonValue;

constexpr std::size_t kEnvelopeBytes = std::size_t{16} * 1024;  // a message's body but its payload
constexpr std::size_t kPayloadDepth = 64;
constexpr std::size_t kMostSecrets = 10;
constexpr text::JsonLimits kBodyLimits{.bytes = kMostBodyBytes, .depth = 4, .values = 500};

// Of a body that read_body() has checked: the kinds are right.
class Body {
 public:
  explicit Body(const JsonValue& value) : value_(value) {}

  [[nodiscard]] const JsonValue* find(std::string_view name) const { return value_.find(name); }
  void get(std::string_view name, std::string& out) const {
    if (const JsonValue* const value = find(name)) out = value->text;
  }
  void get(std::string_view name, bool& out) const {
    if (const JsonValue* const value = find(name)) out = value->boolean;
  }
  void get(std::string_view name, std::vector<std::string>& out) const {
    const JsonValue* const value = find(name);
    if (value == nullptr) return;
    out.clear();
    out.reserve(value->items.size());
    for (const JsonValue& item : value->items) out.push_back(item.text);
  }
  void get(std::string_view name, std::vector<std::pair<std::string, std::string>>& out) const {
    const JsonValue* const value = find(name);
    if (value == nullptr) return;
    out.clear();
    out.reserve(value->fields.size());
    for (const auto& [key, text] : value->fields) out.emplace_back(key, text.text);
  }
  // null: none. Out of its range, it is 0.
  void get(std::string_view name, std::optional<std::int32_t>& out) const {
    const JsonValue* const value = find(name);
    if (value == nullptr) return;
    out.reset();
    if (value->kind != JsonValue::Kind::number) return;
    const std::int64_t number = value->as_integer().value_or(0);
    out = number < std::numeric_limits<std::int32_t>::max()
              ? static_cast<std::int32_t>(std::max<std::int64_t>(number, 0))
              : 0;
  }
  // null: none.
  void get(std::string_view name, std::optional<double>& out) const {
    if (const JsonValue* const value = find(name)) out = value->as_number();
  }
  void get(std::string_view name, std::optional<Duration>& out) const {
    const JsonValue* const value = find(name);
    if (value == nullptr) return;
    out.reset();
    if (value->kind == JsonValue::Kind::string) out = *parse_duration(value->text);
  }
  void get(std::string_view name, std::optional<UnixTime>& out) const {
    if (const JsonValue* const value = find(name)) out = *parse_time(value->text);
  }

 private:
  const JsonValue& value_;
};

[[nodiscard]] std::optional<ApiError> find_name_error(std::string_view field,
                                                      const std::string& name) {
  if (is_event_type(name)) return std::nullopt;
  return invalid(std::string(field) + " is " + text::in_quotes(name) +
                 "; it must be words of A-Z, a-z, 0-9, _ and - with . between them, at most " +
                 std::to_string(kMostTypeBytes) + " characters");
}

// How an address that the guard refuses can be allowed.
[[nodiscard]] std::string allow_hint(const std::string& text, const http::EgressGuard& guard) {
  const auto url = http::parse_url(text);
  const auto address = url ? http::IpAddress::find(url->endpoint.host) : std::nullopt;
  if (!address) return {};
  const http::AddressClass found = http::class_of(*address);
  if (found == http::AddressClass::metadata || !guard.find_refusal(*address, {})) return {};
  const bool is_v4 = address->text().find(':') == std::string::npos;
  const std::string network = found == http::AddressClass::loopback && is_v4
                                  ? "127.0.0.0/8"
                                  : address->text() + (is_v4 ? "/32" : "/128");
  return "; damper webhooks serve --allow " + network + " (egress.allow) allows it";
}

[[nodiscard]] std::optional<ApiError> find_url_error(const std::string& text,
                                                     const http::EgressGuard* guard) {
  const auto url = guard != nullptr ? http::parse_url(text, *guard) : http::parse_url(text);
  if (url) return std::nullopt;
  return invalid("url is " + text::in_quotes(text) + ": " + url.error() +
                 (guard != nullptr ? allow_hint(text, *guard) : ""));
}

[[nodiscard]] std::optional<ApiError> apply_schedule(const Body& body, EndpointConfig& config) {
  if (const JsonValue* const schedule = body.find("schedule")) {
    config.schedule.reset();
    if (schedule->kind == JsonValue::Kind::string) {
      config.schedule = kRetryScheduleNames.find(schedule->text);
      if (!config.schedule) {
        return invalid("schedule is " + text::in_quotes(schedule->text) + "; it must be one of " +
                       text::joined(kRetryScheduleNames));
      }
    }
  }
  body.get("backoff_base", config.backoff_base);
  body.get("backoff_cap", config.backoff_cap);
  body.get("max_attempts", config.max_attempts);
  body.get("max_age", config.max_age);
  body.get("client_errors_end", config.client_errors_end);
  return std::nullopt;
}

[[nodiscard]] std::optional<ApiError> apply(const Body& body, const http::EgressGuard* guard,
                                            EndpointConfig& config) {
  body.get("url", config.url);
  body.get("description", config.description);
  body.get("types", config.types);
  body.get("channels", config.channels);
  body.get("filter", config.filter);
  body.get("headers", config.headers);
  if (const JsonValue* const concurrency = body.find("concurrency")) {
    const std::int64_t number = concurrency->as_integer().value_or(0);
    config.concurrency = static_cast<std::int32_t>(std::clamp<std::int64_t>(number, 0, 1'000'000));
  }
  body.get("rate", config.rate);
  body.get("timeout", config.timeout);
  if (const JsonValue* const retries = body.find("retries")) {
    config.retries.reset();
    if (retries->kind == JsonValue::Kind::array) {
      auto& delays = config.retries.emplace();
      delays.reserve(retries->items.size());
      for (const JsonValue& delay : retries->items) delays.push_back(*parse_duration(delay.text));
    }
  }
  if (auto error = apply_schedule(body, config)) return error;
  if (const JsonValue* const ordering = body.find("ordering")) {
    const auto found = kOrderingNames.find(ordering->text);
    if (!found) {
      return invalid("ordering is " + text::in_quotes(ordering->text) + "; it must be one of " +
                     text::joined(kOrderingNames));
    }
    config.ordering = *found;
  }
  body.get("disabled", config.disabled);
  body.get("disabled_reason", config.disabled_reason);
  if (config.disabled_reason.size() > kMostHeaderBytes) {
    return invalid("disabled_reason must have at most " + std::to_string(kMostHeaderBytes) +
                   " bytes");
  }
  if (!config.disabled) config.disabled_reason.clear();
  if (config.disabled && config.disabled_reason.empty()) config.disabled_reason = "by hand";
  if (auto error = find_error(config)) return invalid(*std::move(error));
  return find_url_error(config.url, guard);
}

[[nodiscard]] Expected<RedriveFilter, ApiError> redrive_filter(const Body& fields) {
  RedriveFilter filter;
  if (const JsonValue* const message = fields.find("message")) {
    filter.message = parse_id(kMessagePrefix, message->text);
    if (!filter.message) {
      return unexpected(invalid("message is " + text::in_quotes(message->text) +
                                "; it must be the id of a message"));
    }
  }
  fields.get("from", filter.from);
  fields.get("until", filter.until);
  fields.get("type", filter.type);
  fields.get("reason", filter.reason);
  if (!filter.type.empty()) {
    if (auto error = find_name_error("type", filter.type)) return unexpected(*std::move(error));
  }
  if (filter.reason.size() > kMostKeyBytes || has_nul(filter.reason)) {
    return unexpected(invalid("reason must have at most " + std::to_string(kMostKeyBytes) +
                              " bytes, none of them 0"));
  }
  fields.get("delete", filter.discard);
  fields.get("dry_run", filter.dry_run);
  std::optional<double> rate;
  fields.get("rate", rate);
  filter.rate_per_second = rate.value_or(filter.rate_per_second);
  if (!EndpointConfig::kRate.contains(filter.rate_per_second)) {
    return unexpected(invalid("rate must be 0.001 to 100000 deliveries a second"));
  }
  return filter;
}

// The secret of the body, or a new one.
[[nodiscard]] Expected<std::string, ApiError> secret_of(const Body& body) {
  std::string secret;
  body.get("secret", secret);
  if (secret.empty()) return SigningKey::generate(Scheme::v1).text();
  if (const auto key = SigningKey::parse(secret); !key) {
    return unexpected(invalid("secret: " + key.error()));
  }
  return secret;
}

}  // namespace

std::optional<ApiError> find_key_error(std::string_view key) {
  const bool visible = std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
  if (visible && !key.empty() && key.size() <= kMostKeyBytes) return std::nullopt;
  return invalid("an idempotency key must have 1 to " + std::to_string(kMostKeyBytes) +
                 " visible ASCII characters");
}

Expected<MessageBody, ApiError> parse_message(std::string_view body, std::size_t max_payload) {
  const auto too_large = [&] {
    return unexpected(ApiError{
        .status = 413,
        .code = "too_large",
        .sentence = "a payload must have at most " + std::to_string(max_payload) + " bytes"});
  };
  if (body.size() > max_payload + kEnvelopeBytes) return too_large();
  const auto value = read_body(body, kNewMessage,
                               {.bytes = max_payload + kEnvelopeBytes,
                                .depth = kPayloadDepth,
                                .values = 20,
                                .raw_field = "payload"});
  if (!value) return unexpected(value.error());
  const Body fields(*value);
  MessageBody message;
  fields.get("type", message.type);
  fields.get("channel", message.channel);
  fields.get("ordering_key", message.ordering_key);
  fields.get("idempotency_key", message.idempotency_key);
  const JsonValue& payload = *fields.find("payload");
  message.payload = body.substr(payload.begin, payload.end - payload.begin);
  if (message.payload.size() > max_payload) return too_large();
  if (auto error = find_name_error("type", message.type)) return unexpected(*std::move(error));
  if (fields.find("channel") != nullptr) {
    if (auto error = find_name_error("channel", message.channel)) {
      return unexpected(*std::move(error));
    }
  }
  if (fields.find("ordering_key") != nullptr &&
      (message.ordering_key.empty() || message.ordering_key.size() > kMostTypeBytes ||
       has_nul(message.ordering_key))) {
    return unexpected(invalid("ordering_key must have 1 to " + std::to_string(kMostTypeBytes) +
                              " bytes, none of them 0"));
  }
  if (fields.find("idempotency_key") != nullptr) {
    if (auto error = find_key_error(message.idempotency_key)) return unexpected(*std::move(error));
  }
  return message;
}

Expected<std::string, ApiError> parse_application(std::string_view body) {
  const auto value = read_body(body, kNewApplication, kBodyLimits);
  if (!value) return unexpected(value.error());
  std::string name = value->find("name")->text;
  if (!is_application_name(name)) {
    return unexpected(invalid("name is " + text::in_quotes(name) +
                              "; it must be a-z, 0-9, and after the first character also -, _ and "
                              "., at most " +
                              std::to_string(kMostNameBytes) + " characters"));
  }
  return name;
}

std::optional<ApiError> apply_new_endpoint(std::string_view body, const http::EgressGuard* guard,
                                           EndpointConfig& config) {
  const auto value = read_body(body, kNewEndpoint, kBodyLimits);
  if (!value) return value.error();
  auto secret = secret_of(Body(*value));
  if (!secret) return secret.error();
  config.secrets = {{.key = *std::move(secret)}};
  return apply(Body(*value), guard, config);
}

std::optional<ApiError> apply_endpoint_change(std::string_view body, const http::EgressGuard* guard,
                                              EndpointConfig& config) {
  const auto value = read_body(body, kEndpointChange, kBodyLimits);
  if (!value) return value.error();
  return apply(Body(*value), guard, config);
}

Expected<RotationBody, ApiError> parse_rotation(std::string_view body) {
  const auto value = read_body(body, kRotation, kBodyLimits);
  if (!value) return unexpected(value.error());
  const Body fields(*value);
  RotationBody rotation;
  std::optional<Duration> grace;
  fields.get("grace", grace);
  rotation.grace = grace.value_or(rotation.grace);
  auto secret = secret_of(fields);
  if (!secret) return unexpected(secret.error());
  rotation.secret = *std::move(secret);
  return rotation;
}

void rotate(EndpointConfig& config, const RotationBody& rotation, UnixTime now) {
  const UnixTime expires = now + std::chrono::ceil<std::chrono::milliseconds>(rotation.grace);
  std::vector<EndpointSecret> secrets = {{.key = rotation.secret}};
  for (EndpointSecret& old : config.secrets) {
    old.expires = std::min(old.expires.value_or(expires), expires);
    if (*old.expires > now && old.key != rotation.secret && secrets.size() < kMostSecrets) {
      secrets.push_back(std::move(old));
    }
  }
  config.secrets = std::move(secrets);
}

Expected<RedriveFilter, ApiError> parse_redrive(std::string_view body, Id endpoint) {
  const auto value = read_body(body, kRedrive, kBodyLimits);
  if (!value) return unexpected(value.error());
  auto filter = redrive_filter(Body(*value));
  if (filter) filter->endpoint = endpoint;
  return filter;
}

Expected<RedrivesBody, ApiError> parse_redrives(std::string_view body) {
  const auto value = read_body(body, kNewRedrive, kBodyLimits);
  if (!value) return unexpected(value.error());
  auto filter = redrive_filter(Body(*value));
  if (!filter) return unexpected(filter.error());
  RedrivesBody redrives{.filter = *std::move(filter)};
  if (const JsonValue* const endpoint = value->find("endpoint")) {
    redrives.endpoint = parse_id(kEndpointPrefix, endpoint->text);
    if (!redrives.endpoint) {
      return unexpected(invalid("endpoint is " + text::in_quotes(endpoint->text) +
                                "; it must be the id of an endpoint"));
    }
  }
  return redrives;
}

Expected<HoldOrder, ApiError> parse_switch(std::string_view body) {
  const auto value = read_body(body, kSwitchOrder, kBodyLimits);
  if (!value) return unexpected(value.error());
  const Body fields(*value);
  HoldOrder order;
  fields.get("off", order.off);
  fields.get("reason", order.reason);
  fields.get("for", order.length);
  if (order.off && order.reason.find_first_not_of(" \t\r\n") == std::string::npos) {
    return unexpected(
        invalid("reason is missing: the next person on duty has to know why the switch is off"));
  }
  if (order.reason.size() > admit::Reason::kLongest) {
    return unexpected(
        invalid("reason must have at most " + std::to_string(admit::Reason::kLongest) + " bytes"));
  }
  if (order.length && !order.off) {
    return unexpected(invalid("for is only accepted with off: true"));
  }
  if (order.length && *order.length == Duration{0}) {
    return unexpected(invalid("for is 0; it must be more than 0"));
  }
  return order;
}

}  // namespace damper::webhooks
