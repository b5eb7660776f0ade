#include "damper/proxy/control/etcd_answer.h"

#include <optional>

#include "damper/base/text/base64.h"
#include "damper/base/text/json_reader.h"

namespace damper::proxy {
namespace {

using text::JsonValue;

constexpr text::JsonLimits kLimits{
    .bytes = kMostEtcdBytes, .depth = 16, .values = 20 * kMostEtcdKeys};

Expected<JsonValue> read_object(std::string_view text) {
  auto value = text::read_json(text, kLimits);
  if (!value) return unexpected("etcd's answer is no JSON: " + value.error());
  if (value->kind != JsonValue::Kind::object) return unexpected("etcd's answer is no object");
  if (const JsonValue* error = value->find("error")) {
    const JsonValue* message = error->find("message");
    if (message == nullptr) message = error;  // A range's is the text itself.
    return unexpected("etcd says: " + message->text.substr(0, 200));
  }
  return value;
}

// Zero is not written.
std::optional<std::int64_t> find_integer(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value == nullptr ? 0 : value->as_integer();
}

bool is_true(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value != nullptr && value->as_boolean() == true;
}

std::optional<std::string> find_bytes(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  if (value == nullptr) return std::string();
  const auto text = value->as_string();
  return text ? text::find_base64(*text) : std::nullopt;
}

std::optional<EtcdEntry> find_entry(const JsonValue& kv, bool deleted) {
  auto key = find_bytes(kv, "key");
  auto value = find_bytes(kv, "value");
  const auto revision = find_integer(kv, "mod_revision");
  if (!key || key->empty() || !value || !revision || *revision < 0) return std::nullopt;
  return EtcdEntry{*std::move(key), *std::move(value), *revision, deleted};
}

bool read_header(const JsonValue& object, EtcdAnswer& out) {
  const JsonValue* header = object.find("header");
  const auto revision = header == nullptr ? std::nullopt : find_integer(*header, "revision");
  if (!revision || *revision < 0) return false;
  out.revision = *revision;
  return true;
}

// The first key after all that begin with the prefix.
std::string end_of(std::string_view prefix) {
  std::string end(prefix);
  ++end.back();  // A slash: 0 comes after it.
  return end;
}

std::string range_of(std::string_view prefix) {
  const std::string all = std::string(prefix) + '/';
  return R"("key":")" + text::to_base64(all) + R"(","range_end":")" + text::to_base64(end_of(all)) +
         '"';
}

}  // namespace

Expected<EtcdAnswer> parse_etcd_range(std::string_view text) {
  const auto object = read_object(text);
  if (!object) return unexpected(object.error());
  EtcdAnswer out;
  if (!read_header(*object, out)) return unexpected("etcd's answer has no revision");
  out.more = is_true(*object, "more");
  const JsonValue* const kvs = object->find("kvs");
  if (kvs == nullptr) return out;
  for (const JsonValue& kv : kvs->items) {
    auto entry = find_entry(kv, false);
    if (!entry) return unexpected("a key of etcd's answer cannot be read");
    out.entries.push_back(*std::move(entry));
  }
  return out;
}

Expected<EtcdAnswer> parse_etcd_watch(std::string_view line) {
  const auto object = read_object(line);
  if (!object) return unexpected(object.error());
  const JsonValue* const result = object->find("result");
  EtcdAnswer out;
  if (result == nullptr || !read_header(*result, out)) {
    return unexpected("a line of etcd's watch has no revision");
  }
  out.created = is_true(*result, "created");
  out.canceled = is_true(*result, "canceled");
  const JsonValue* const events = result->find("events");
  if (events == nullptr) return out;
  for (const JsonValue& event : events->items) {
    const JsonValue* const type = event.find("type");
    const JsonValue* const kv = event.find("kv");
    const bool deleted = type != nullptr && type->text == "DELETE";
    auto entry = kv == nullptr ? std::nullopt : find_entry(*kv, deleted);
    if (!entry) return unexpected("an event of etcd's watch cannot be read");
    out.entries.push_back(*std::move(entry));
  }
  return out;
}

std::string etcd_range(std::string_view prefix) {
  return '{' + range_of(prefix) + R"(,"limit":")" + std::to_string(kMostEtcdKeys) + "\"}";
}

std::string etcd_watch(std::string_view prefix, std::int64_t revision) {
  return R"({"create_request":{)" + range_of(prefix) + R"(,"start_revision":")" +
         std::to_string(revision) + R"("}})";
}

}  // namespace damper::proxy
