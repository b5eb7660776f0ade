#include "damper/webhooks/api/api_json.h"

#include <sstream>

#include "damper/base/duration_text.h"
#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"
#include "damper/webhooks/api/time_text.h"
#include "damper/webhooks/key.h"

namespace damper::webhooks {
namespace {

using text::JsonWriter;

// One object, written by `write`.
template <class Write>
[[nodiscard]] std::string object(Write write) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  write(json);
  json.close('}');
  out << '\n';
  return std::move(out).str();
}

// null if there is none.
template <class T>
void write_optional(JsonWriter& json, std::string_view key, const std::optional<T>& value) {
  if (value) return json.field(key, *value);
  json.field(key, nullptr);
}
// null if it is empty.
void write_text(JsonWriter& json, std::string_view key, std::string_view text) {
  write_optional(json, key, text.empty() ? std::nullopt : std::optional(text));
}

// A list of objects, each written by `write`.
template <class Items, class Write>
void write_list(JsonWriter& json, std::string_view key, const Items& items, Write write) {
  json.open('[', key);
  for (const auto& item : items) {
    json.open('{');
    write(json, item);
    json.close('}');
  }
  json.close(']');
}

void write_time(JsonWriter& json, std::string_view key, const std::optional<UnixTime>& time) {
  write_text(json, key, time ? time_text(*time) : std::string());
}

void write_duration(JsonWriter& json, std::string_view key,
                    const std::optional<Duration>& duration) {
  write_text(json, key, duration ? format_duration(*duration) : std::string());
}

void write_pairs(JsonWriter& json, std::string_view key,
                 const std::vector<std::pair<std::string, std::string>>& pairs) {
  json.open('{', key);
  for (const auto& [name, value] : pairs) json.field(name, value);
  json.close('}');
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.open('[', key);
  for (const std::string& text : texts) json.element(text);
  json.close(']');
}

void write_if(JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.field(key, text);
}

void write_status(JsonWriter& json, const EndpointStatus& status) {
  json.open('{', "status");
  json.field("breaker", admit::name(status.breaker));
  json.field("in_flight", status.in_flight);
  write_time(json, "next_due", status.next_due);
  write_time(json, "blocked_until", status.blocked_until);
  write_text(json, "last_error", status.last_error);
  json.field("delivered", status.delivered);
  json.field("failed", status.failed);
  write_text(json, "held", status.held);
  write_text(json, "held_scope", status.held_scope);
  json.close('}');
}

void write_endpoint(JsonWriter& json, const Endpoint& endpoint, const EndpointStatus& status) {
  const EndpointConfig& config = endpoint.config;
  json.field("id", id_text(kEndpointPrefix, endpoint.id));
  json.field("created", time_text(endpoint.created));
  json.field("url", config.url);
  json.field("description", config.description);
  write_texts(json, "types", config.types);
  write_texts(json, "channels", config.channels);
  write_pairs(json, "filter", config.filter);
  write_pairs(json, "headers", config.headers);
  json.field("concurrency", config.concurrency);
  write_optional(json, "rate", config.rate);
  write_duration(json, "timeout", config.timeout);
  if (config.retries) {
    json.open('[', "retries");
    for (const Duration delay : *config.retries) json.element(format_duration(delay));
    json.close(']');
  } else {
    json.field("retries", nullptr);
  }
  write_text(json, "schedule", config.schedule ? kRetryScheduleNames[*config.schedule] : "");
  write_duration(json, "backoff_base", config.backoff_base);
  write_duration(json, "backoff_cap", config.backoff_cap);
  write_optional(json, "max_attempts", config.max_attempts);
  write_duration(json, "max_age", config.max_age);
  json.field("client_errors_end", config.client_errors_end);
  json.field("ordering", kOrderingNames[config.ordering]);
  json.field("disabled", config.disabled);
  if (config.disabled) json.field("disabled_reason", config.disabled_reason);
  json.field("secrets", config.secrets.size());
  write_status(json, status);
}

void write_application(JsonWriter& json, const ApplicationView& application) {
  json.field("name", application.name);
  json.field("endpoints", application.endpoints);
}

void write_message(JsonWriter& json, const Message& message) {
  json.field("id", id_text(kMessagePrefix, message.id));
  json.field("type", message.type);
  json.field("created", time_text(message.created));
  write_if(json, "channel", message.channel);
  write_if(json, "ordering_key", message.ordering_key);
  write_if(json, "idempotency_key", message.idempotency_key);
  json.field("bytes", message.payload.size());
}

// As it is, if it is JSON: a message that came by another way than the API need not be.
void write_payload(JsonWriter& json, const std::string& payload) {
  const std::string wrapped = "{\"payload\":" + payload + "}";
  const text::JsonLimits limits{.bytes = wrapped.size(), .depth = 100, .raw_field = "payload"};
  if (const auto value = text::read_json(wrapped, limits); value && value->fields.size() == 1) {
    json.raw("payload", payload);
  } else {
    json.field("payload", payload);
  }
}

void write_attempts(JsonWriter& json, std::string_view key, std::span<const Attempt> attempts) {
  json.open('[', key);
  for (const Attempt& attempt : attempts) {
    json.open('{');
    json.field("number", attempt.number);
    json.field("message", id_text(kMessagePrefix, attempt.message));
    json.field("endpoint", id_text(kEndpointPrefix, attempt.endpoint));
    json.field("attempt", attempt.attempt);
    json.field("time", time_text(attempt.time));
    json.field("duration", format_duration(attempt.duration));
    write_optional(json, "status",
                   attempt.status != 0 ? std::optional(attempt.status) : std::nullopt);
    json.field("outcome", attempt.outcome);
    write_if(json, "error", attempt.error);
    write_if(json, "answer", attempt.answer);
    json.close('}');
  }
  json.close(']');
}

void write_dead(JsonWriter& json, std::string_view key, std::span<const DeadLetter> letters) {
  json.open('[', key);
  for (const DeadLetter& letter : letters) {
    json.open('{');
    json.field("endpoint", id_text(kEndpointPrefix, letter.endpoint));
    json.field("message", id_text(kMessagePrefix, letter.message));
    json.field("time", time_text(letter.time));
    json.field("attempts", letter.attempts);
    json.field("reason", letter.reason);
    json.close('}');
  }
  json.close(']');
}

void write_redrive(JsonWriter& json, const RedriveJob& job) {
  write_text(json, "id", job.state == RedriveState::dry_run ? "" : id_text(kRedrivePrefix, job.id));
  json.field("state", kRedriveStateNames[job.state]);
  json.field("started", time_text(job.started));
  json.field("total", job.total);
  json.field("count", job.count);
  json.field("rate", job.filter.rate_per_second);
  json.field("delete", job.filter.discard);
  write_text(json, "error", job.error);
}

void write_switch(JsonWriter& json, const HoldView& view) {
  const auto& [scope, which, status] = view;
  json.open('{');
  json.field("name", kHoldNames[which]);
  write_text(json, "application", scope.application);
  write_text(json, "endpoint", scope.endpoint ? id_text(kEndpointPrefix, *scope.endpoint) : "");
  json.field("off", status.off);
  write_optional(json, "reason", status.off ? std::optional(status.reason) : std::nullopt);
  const bool ends = status.off && status.remaining <= kLongest;
  write_text(json, "remaining", ends ? format_duration(status.remaining) : "");
  json.close('}');
}

[[nodiscard]] bool is_below(const HoldScope& scope, const HoldScope& above) {
  if (above.endpoint) return false;
  if (above.application.empty()) return !scope.application.empty();
  return scope.endpoint && scope.application == above.application;
}

void write_switches(JsonWriter& json, std::string_view key, const Deliveries& deliveries,
                    const HoldScope& scope) {
  json.open('[', key);
  for (std::size_t i = 0; i < kHoldNames.size(); ++i) {
    const Hold which{static_cast<std::uint8_t>(i)};
    write_switch(json, {scope, which, deliveries.holding(scope, which)});
  }
  for (const HoldView& view : deliveries.holds()) {
    if (is_below(view.scope, scope)) write_switch(json, view);
  }
  json.close(']');
}

}  // namespace

std::string error_json(std::string_view sentence, std::string_view code) {
  return object([&](JsonWriter& json) {
    json.field("error", sentence);
    json.field("code", code);
  });
}

std::string application_json(const ApplicationView& application) {
  return object([&](JsonWriter& json) { write_application(json, application); });
}

std::string applications_json(std::span<const ApplicationView> applications,
                              const std::optional<std::string>& next) {
  return object([&](JsonWriter& json) {
    write_list(json, "data", applications, write_application);
    write_optional(json, "next", next);
  });
}

std::string endpoint_json(const Endpoint& endpoint, const EndpointStatus& status, bool secret) {
  return object([&](JsonWriter& json) {
    write_endpoint(json, endpoint, status);
    if (secret) json.field("secret", endpoint.config.secrets.front().key);
  });
}

std::string endpoints_json(std::span<const EndpointView> endpoints,
                           const std::optional<std::string>& next) {
  return object([&](JsonWriter& json) {
    write_list(json, "data", endpoints, [](JsonWriter& to, const EndpointView& view) {
      write_endpoint(to, *view.endpoint, view.status);
    });
    write_optional(json, "next", next);
  });
}

std::string secret_json(const EndpointConfig& config) {
  return object([&](JsonWriter& json) {
    const std::string& secret = config.secrets.front().key;
    const auto key = SigningKey::parse(secret);
    json.field("secret", secret);
    json.field("verifying_key", key ? key->verifying_key().text() : "");
    json.field("others", config.secrets.size() - 1);
  });
}

std::string accepted_json(const Accepted& accepted, std::size_t endpoints) {
  return object([&](JsonWriter& json) {
    json.field("id", id_text(kMessagePrefix, accepted.message));
    json.field("endpoints", endpoints);
    json.field("repeated", accepted.repeated);
  });
}

std::string messages_json(std::span<const Message> messages, std::size_t limit) {
  return object([&](JsonWriter& json) {
    write_list(json, "data", messages, write_message);
    write_text(json, "next",
               messages.size() < limit ? "" : id_text(kMessagePrefix, messages.back().id));
  });
}

std::string message_json(const MessageStatus& status, std::span<const Attempt> attempts) {
  return object([&](JsonWriter& json) {
    write_message(json, status.message);
    write_payload(json, status.message.payload);
    json.open('[', "waiting");
    for (const WaitingDelivery& waiting : status.waiting) {
      json.open('{');
      json.field("endpoint", id_text(kEndpointPrefix, waiting.endpoint));
      json.field("due", time_text(waiting.due));
      json.field("attempts", waiting.attempts);
      json.close('}');
    }
    json.close(']');
    write_dead(json, "dead", status.dead);
    write_attempts(json, "attempts", attempts);
  });
}

std::string attempts_json(std::span<const Attempt> attempts, std::size_t limit) {
  return object([&](JsonWriter& json) {
    write_attempts(json, "data", attempts);
    if (attempts.size() < limit) return json.field("next", nullptr);
    json.field("next", attempts.back().number);
  });
}

std::string dead_json(std::span<const DeadLetter> letters, std::size_t limit) {
  return object([&](JsonWriter& json) {
    write_dead(json, "data", letters);
    write_text(json, "next",
               letters.size() < limit ? "" : id_text(kMessagePrefix, letters.back().message));
  });
}

std::string redrive_json(const RedriveJob& job) {
  return object([&](JsonWriter& json) { write_redrive(json, job); });
}

std::string redrives_json(std::span<const RedriveJob> jobs) {
  return object([&](JsonWriter& json) { write_list(json, "data", jobs, write_redrive); });
}

std::string redriven_json(const Redriven& redriven) {
  return object([&](JsonWriter& json) {
    json.field("count", redriven.count);
    json.field("remaining", redriven.remaining);
  });
}

std::string switches_json(const Deliveries& deliveries, const HoldScope& scope) {
  return object([&](JsonWriter& json) { write_switches(json, "data", deliveries, scope); });
}

std::string stats_json(const StoreCounts& counts, const Deliveries& deliveries,
                       std::size_t applications, std::size_t endpoints) {
  return object([&](JsonWriter& json) {
    const DeliveryTotals totals = deliveries.totals();
    json.field("applications", applications);
    json.field("endpoints", endpoints);
    json.field("messages", counts.messages);
    json.field("waiting", counts.waiting);
    json.field("dead", counts.dead);
    json.field("logged_attempts", counts.attempts);
    json.field("attempts", totals.attempts);
    json.field("delivered", totals.delivered);
    json.field("failed", totals.failed);
    json.field("died", totals.dead);
    json.field("in_flight", totals.in_flight);
    write_switches(json, "switches", deliveries, {});
  });
}

}  // namespace damper::webhooks
