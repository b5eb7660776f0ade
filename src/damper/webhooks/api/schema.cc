#include "damper/webhooks/api/schema.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"
#include "damper/webhooks/api/time_text.h"

namespace damper::webhooks {
namespace {

using text::JsonValue;
using Kind = FieldKind;

[[nodiscard]] bool is_text(const JsonValue& value) noexcept {
  return value.kind == JsonValue::Kind::string;
}

// A sentence on why the value is not of this kind.
[[nodiscard]] std::optional<std::string> find_error(const JsonValue& value, Kind kind) {
  const auto must = [](bool holds, const char* sentence) {
    return holds ? std::nullopt : std::optional<std::string>(sentence);
  };
  switch (kind) {
    case Kind::text: return must(is_text(value), "must be a string");
    case Kind::boolean: return must(value.as_boolean().has_value(), "must be true or false");
    case Kind::integer:
      return must(value.kind == JsonValue::Kind::number && value.as_integer(),
                  "must be an integer");
    case Kind::number: return must(value.as_number().has_value(), "must be a number");
    case Kind::duration: {
      if (!is_text(value)) return "must be a duration such as \"15s\"";
      const auto duration = parse_duration(value.text);
      return duration ? std::nullopt : std::optional("is invalid: " + duration.error());
    }
    case Kind::time: {
      if (!is_text(value)) return "must be a time such as \"2026-11-16T20:15:00Z\"";
      const auto time = parse_time(value.text);
      return time ? std::nullopt : std::optional("is invalid: " + time.error());
    }
    case Kind::texts:
      return must(value.kind == JsonValue::Kind::array && std::ranges::all_of(value.items, is_text),
                  "must be an array of strings");
    case Kind::durations: {
      if (value.kind != JsonValue::Kind::array) return "must be an array of durations";
      for (const JsonValue& item : value.items) {
        if (auto error = find_error(item, Kind::duration)) return "has an item that " + *error;
      }
      return std::nullopt;
    }
    case Kind::text_map:
      return must(value.kind == JsonValue::Kind::object &&
                      std::ranges::all_of(value.fields,
                                          [](const auto& field) { return is_text(field.second); }),
                  "must be an object of strings");
    case Kind::any:
    case Kind::object:
    case Kind::list: return std::nullopt;  // The last two are of answers.
  }
  return std::nullopt;
}

[[nodiscard]] std::vector<std::string_view> names_of(const Schema& schema) {
  std::vector<std::string_view> names;
  names.reserve(schema.fields.size());
  for (const SchemaField& field : schema.fields) names.push_back(field.name);
  return names;
}

[[nodiscard]] std::optional<ApiError> check(const JsonValue& body, const Schema& schema) {
  for (const auto& [name, value] : body.fields) {
    const auto field = std::ranges::find(schema.fields, name, &SchemaField::name);
    if (field == schema.fields.end()) {
      const auto names = names_of(schema);
      return ApiError{.code = "unknown_field",
                      .sentence = "unknown field " + text::in_quotes(name) +
                                  text::suggestion(name, names) +
                                  " (accepted: " + text::joined(names) + ")"};
    }
    if (field->nullable && value.kind == JsonValue::Kind::null) continue;
    if (auto error = find_error(value, field->kind)) {
      return invalid(std::string(field->name) + " " + *error);
    }
  }
  for (const SchemaField& field : schema.fields) {
    if (field.required && body.find(field.name) == nullptr) {
      return invalid(std::string(field.name) + " is missing");
    }
  }
  return std::nullopt;
}

}  // namespace

Expected<JsonValue, ApiError> read_body(std::string_view text, const Schema& schema,
                                        const text::JsonLimits& limits) {
  if (text.empty()) text = "{}";
  auto body = text::read_json(text, limits);
  if (!body) return unexpected(invalid("the body is not valid JSON: " + body.error()));
  if (body->kind != JsonValue::Kind::object) {
    return unexpected(invalid("the body must be a JSON object"));
  }
  if (auto error = check(*body, schema)) return unexpected(*std::move(error));
  return *std::move(body);
}

}  // namespace damper::webhooks
