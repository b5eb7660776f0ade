#include "damper/webhooks/model/endpoint.h"

#include <algorithm>
#include <array>

#include "damper/webhooks/key.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kMostSecrets = 10;

[[nodiscard]] constexpr bool is_lower_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
[[nodiscard]] constexpr bool is_word(char c) noexcept {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

// "invoice.*", which is all types of that prefix, or "*".
[[nodiscard]] bool is_pattern(std::string_view type) noexcept {
  if (type == "*") return true;
  if (type.ends_with(".*")) type.remove_suffix(2);
  return is_event_type(type);
}

[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view type) noexcept {
  if (pattern == "*") return true;
  if (!pattern.ends_with(".*")) return pattern == type;
  pattern.remove_suffix(1);  // "invoice."
  return type.starts_with(pattern);
}

[[nodiscard]] bool is_header_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMostTypeBytes && std::ranges::all_of(name, is_word);
}

// Fields that the dispatcher or the codec writes.
[[nodiscard]] bool is_reserved(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  constexpr std::array<std::string_view, 10> kReserved = {
      "host",    "connection", "content-length", "transfer-encoding", "content-type",
      "trailer", "te",         "upgrade",        "keep-alive",        "expect"};
  return lower.starts_with("webhook-") || lower.starts_with("damper-") ||
         std::ranges::find(kReserved, lower) != kReserved.end();
}

[[nodiscard]] bool is_printable(std::string_view value) noexcept {
  return std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

schedule::BackoffOptions backoff_of(RetrySchedule schedule, Duration base, Duration cap) noexcept {
  using schedule::Jitter;
  const Jitter jitter = schedule == RetrySchedule::equal          ? Jitter::equal
                        : schedule == RetrySchedule::decorrelated ? Jitter::decorrelated
                                                                  : Jitter::full;
  return {.jitter = jitter, .base = base, .cap = cap};
}

bool is_application_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMostNameBytes && is_lower_or_digit(name.front()) &&
         std::ranges::all_of(
             name, [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_event_type(std::string_view type) noexcept {
  if (type.empty() || type.size() > kMostTypeBytes || type.back() == '.') return false;
  char before = '.';
  for (const char c : type) {
    if (c == '.' ? before == '.' : !is_word(c)) return false;
    before = c;
  }
  return true;
}

std::optional<std::string> find_error(const EndpointConfig& config) {
  if (config.url.empty() || config.url.size() > kMostUrlBytes) {
    return "url must have 1 to " + std::to_string(kMostUrlBytes) + " characters";
  }
  if (config.description.size() > kMostHeaderBytes) {
    return "description must have at most " + std::to_string(kMostHeaderBytes) + " bytes";
  }
  if (std::max({config.types.size(), config.channels.size(), config.headers.size()}) >
      kMostListItems) {
    return "types, channels and headers must have at most " + std::to_string(kMostListItems) +
           " items each";
  }
  for (const std::string& type : config.types) {
    if (!is_pattern(type)) {
      return "types: \"" + type.substr(0, kMostTypeBytes) +
             "\" is not an event type such as invoice.paid, or a prefix such as invoice.*";
    }
  }
  for (const std::string& channel : config.channels) {
    if (!is_event_type(channel)) {
      return "channels: \"" + channel.substr(0, kMostTypeBytes) +
             "\" is not a name such as eu-west";
    }
  }
  for (const auto& [name, value] : config.headers) {
    if (!is_header_name(name) || is_reserved(name)) {
      return "headers: \"" + name.substr(0, kMostTypeBytes) +
             "\" is not a header name that may be set";
    }
    if (value.size() > kMostHeaderBytes || !is_printable(value)) {
      return "headers: the value of \"" + name + "\" must be printable ASCII, at most " +
             std::to_string(kMostHeaderBytes) + " bytes";
    }
  }
  if (config.secrets.empty() || config.secrets.size() > kMostSecrets) {
    return "an endpoint must have 1 to " + std::to_string(kMostSecrets) + " secrets";
  }
  for (const EndpointSecret& secret : config.secrets) {
    if (const auto key = SigningKey::parse(secret.key); !key) return "secret: " + key.error();
  }
  if (!EndpointConfig::kConcurrency.contains(config.concurrency)) {
    return "concurrency must be 1 to 1000, not " + std::to_string(config.concurrency);
  }
  if (config.rate && !EndpointConfig::kRate.contains(*config.rate)) {
    return "rate must be 0.001 to 100000 attempts a second";
  }
  if (config.timeout && !EndpointConfig::kTimeout.contains(*config.timeout)) {
    return "timeout must be 100ms to 5m";
  }
  if (config.retries) {
    if (config.retries->size() > EndpointConfig::kMostRetries) {
      return "retries must have at most " + std::to_string(EndpointConfig::kMostRetries) +
             " delays";
    }
    for (const Duration delay : *config.retries) {
      if (delay < std::chrono::milliseconds(1) || delay > kLongest) {
        return "retries: each delay must be 1ms to 30d";
      }
    }
  }
  if (config.max_attempts && !EndpointConfig::kMaxAttempts.contains(*config.max_attempts)) {
    return "max_attempts must be 1 to 1000000";
  }
  if (config.max_age && !EndpointConfig::kMaxAge.contains(*config.max_age)) {
    return "max_age must be 1s to 30d";
  }
  // Also if the schedule is listed: it can be changed.
  const auto backoff = backoff_of(config.schedule.value_or(RetrySchedule::full),
                                  config.backoff_base.value_or(kBackoffBase),
                                  config.backoff_cap.value_or(kBackoffCap));
  if (auto error = schedule::find_error(backoff)) return "backoff_" + *error;
  return find_filter_error(config.filter);
}

bool matches(const EndpointConfig& config, std::string_view type,
             std::string_view channel) noexcept {
  if (config.disabled) return false;
  const bool of_type =
      config.types.empty() || std::ranges::any_of(config.types, [&](const std::string& pattern) {
        return matches_pattern(pattern, type);
      });
  const bool of_channel = config.channels.empty() ||
                          std::ranges::find(config.channels, channel) != config.channels.end();
  return of_type && of_channel;
}

}  // namespace damper::webhooks
