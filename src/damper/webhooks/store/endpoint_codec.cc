#include "damper/webhooks/store/endpoint_codec.h"

#include <sstream>

#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"

namespace damper::webhooks {
namespace {

using text::JsonValue;

// Of a configuration at all of its limits, with every byte escaped.
constexpr text::JsonLimits kConfigLimits{
    .bytes = std::size_t{16} << 20, .depth = 8, .values = 10'000};

void write_strings(text::JsonWriter& json, std::string_view key,
                   const std::vector<std::string>& strings) {
  if (strings.empty()) return;
  json.open('[', key);
  for (const std::string& each : strings) json.element(std::string_view(each));
  json.close(']');
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// As one list: a name, its value, the next name.
void write_pairs(text::JsonWriter& json, std::string_view key, const Pairs& pairs) {
  json.open('[', key);
  for (const auto& [name, value] : pairs) {
    json.element(std::string_view(name));
    json.element(std::string_view(value));
  }
  json.close(']');
}

void write_lists(text::JsonWriter& json, const EndpointConfig& config) {
  write_strings(json, "types", config.types);
  write_strings(json, "channels", config.channels);
  write_pairs(json, "filter", config.filter);
  write_pairs(json, "headers", config.headers);
  json.open('[', "secrets");
  for (const EndpointSecret& secret : config.secrets) {
    json.open('{');
    json.field("key", std::string_view(secret.key));
    if (secret.expires) json.field("expires", secret.expires->time_since_epoch().count());
    json.close('}');
  }
  json.close(']');
}

// Reads fields of one object; the first that has the wrong kind is the error.
class ConfigReader {
 public:
  explicit ConfigReader(const JsonValue& object) : object_(object) {}

  void read(std::string_view name, std::string& to) {
    if (const JsonValue* field = object_.find(name)) assign(name, field->as_string(), to);
  }
  void read(std::string_view name, bool& to) {
    if (const JsonValue* field = object_.find(name)) assign(name, field->as_boolean(), to);
  }
  void read(std::string_view name, std::int32_t& to) {
    if (const JsonValue* field = object_.find(name)) assign(name, field->as_integer(), to);
  }
  void read(std::string_view name, std::optional<double>& to) {
    if (const JsonValue* field = object_.find(name)) assign(name, field->as_number(), to);
  }
  void read(std::string_view name, std::optional<Duration>& to) {
    if (const JsonValue* field = object_.find(name)) assign(name, field->as_integer(), to);
  }
  void read(std::string_view name, std::optional<UnixTime>& to) {
    if (const JsonValue* field = object_.find(name)) {
      std::optional<std::chrono::milliseconds> since;
      assign(name, field->as_integer(), since);
      if (since) to = UnixTime(*since);
    }
  }
  void read(std::string_view name, std::vector<std::string>& to) {
    const JsonValue* field = object_.find(name);
    if (field == nullptr) return;
    to.reserve(field->items.size());
    for (const JsonValue& item : field->items) assign(name, item.as_string(), to.emplace_back());
  }
  void read(std::string_view name, Pairs& to) {
    std::vector<std::string> list;
    read(name, list);
    to.reserve(list.size() / 2);
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
      to.emplace_back(std::move(list[i]), std::move(list[i + 1]));
    }
  }
  void read(std::string_view name, std::optional<std::vector<Duration>>& to) {
    const JsonValue* field = object_.find(name);
    if (field == nullptr) return;
    to.emplace().reserve(field->items.size());
    for (const JsonValue& item : field->items) assign(name, item.as_integer(), to->emplace_back());
  }
  void read(std::string_view name, std::vector<EndpointSecret>& to) {
    const JsonValue* field = object_.find(name);
    if (field == nullptr) return;
    to.reserve(field->items.size());
    for (const JsonValue& item : field->items) {
      ConfigReader reader(item);
      EndpointSecret& secret = to.emplace_back();
      reader.read("key", secret.key);
      reader.read("expires", secret.expires);
      if (error_.empty()) error_ = reader.error_;
    }
  }
  void read(std::string_view name, std::optional<std::int32_t>& to) {
    if (const JsonValue* field = object_.find(name)) assign(name, field->as_integer(), to);
  }
  void read(std::string_view name, std::optional<RetrySchedule>& to) {
    std::string text;
    read(name, text);
    if (!text.empty()) assign(name, kRetryScheduleNames.find(text), to);
  }
  void read(std::string_view name, Ordering& to) {
    std::string text(kOrderingNames[to]);
    read(name, text);
    assign(name, kOrderingNames.find(text), to);
  }

  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  template <class From, class To>
  void assign(std::string_view name, const std::optional<From>& from, To& to) {
    if (from) {
      to = To(*from);
    } else if (error_.empty()) {
      error_.append("the field '").append(name).append("' has another type");
    }
  }

  const JsonValue& object_;
  std::string error_;
};

}  // namespace

std::string encode(const EndpointConfig& config) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("url", std::string_view(config.url));
  json.field("description", std::string_view(config.description));
  write_lists(json, config);
  json.field("concurrency", config.concurrency);
  if (config.rate) json.field("rate", *config.rate);
  if (config.timeout) json.field("timeout", config.timeout->count());
  if (config.retries) {
    json.open('[', "retries");
    for (const Duration delay : *config.retries) json.element(delay.count());
    json.close(']');
  }
  if (config.schedule) json.field("schedule", kRetryScheduleNames[*config.schedule]);
  if (config.backoff_base) json.field("backoff_base", config.backoff_base->count());
  if (config.backoff_cap) json.field("backoff_cap", config.backoff_cap->count());
  if (config.max_attempts) json.field("max_attempts", *config.max_attempts);
  if (config.max_age) json.field("max_age", config.max_age->count());
  json.field("client_errors_end", config.client_errors_end);
  json.field("ordering", kOrderingNames[config.ordering]);
  json.field("disabled", config.disabled);
  json.field("disabled_reason", std::string_view(config.disabled_reason));
  json.close('}');
  return std::move(out).str();
}

Expected<EndpointConfig> decode(std::string_view text) {
  const auto object = text::read_json(text, kConfigLimits);
  if (!object) return unexpected(object.error());
  EndpointConfig config;
  ConfigReader reader(*object);
  reader.read("url", config.url);
  reader.read("description", config.description);
  reader.read("types", config.types);
  reader.read("channels", config.channels);
  reader.read("filter", config.filter);
  reader.read("headers", config.headers);
  reader.read("secrets", config.secrets);
  reader.read("concurrency", config.concurrency);
  reader.read("rate", config.rate);
  reader.read("timeout", config.timeout);
  reader.read("retries", config.retries);
  reader.read("schedule", config.schedule);
  reader.read("backoff_base", config.backoff_base);
  reader.read("backoff_cap", config.backoff_cap);
  reader.read("max_attempts", config.max_attempts);
  reader.read("max_age", config.max_age);
  reader.read("client_errors_end", config.client_errors_end);
  reader.read("ordering", config.ordering);
  reader.read("disabled", config.disabled);
  reader.read("disabled_reason", config.disabled_reason);
  if (!reader.error().empty()) return unexpected(reader.error());
  return config;
}

}  // namespace damper::webhooks
