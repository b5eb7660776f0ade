#include "damper/webhooks/model/payload_filter.h"

#include <algorithm>

namespace damper::webhooks {
namespace {

using text::JsonValue;

[[nodiscard]] const JsonValue* find_field(const JsonValue& payload,
                                          std::string_view path) noexcept {
  const JsonValue* value = &payload;
  while (value != nullptr) {
    const std::string_view name = path.substr(0, path.find('.'));
    value = value->find(name);
    if (name.size() == path.size()) return value;
    path.remove_prefix(name.size() + 1);
  }
  return nullptr;
}

[[nodiscard]] bool is_equal(const JsonValue& value, std::string_view text) noexcept {
  switch (value.kind) {
    case JsonValue::Kind::string:
    case JsonValue::Kind::number: return value.text == text;
    case JsonValue::Kind::boolean: return text == (value.boolean ? "true" : "false");
    default: return false;
  }
}

}  // namespace

std::optional<std::string> find_filter_error(const PayloadFilter& filter) {
  if (filter.size() > kMostFilterFields) {
    return "filter must have at most " + std::to_string(kMostFilterFields) + " fields";
  }
  for (const auto& [path, text] : filter) {
    if (path.empty() || std::max(path.size(), text.size()) > kMostFilterBytes) {
      return "filter: a path must have 1 to " + std::to_string(kMostFilterBytes) +
             " bytes, its value at most as many";
    }
    if (path.front() == '.' || path.back() == '.' || path.find("..") != std::string::npos) {
      return "filter: \"" + path + "\" is not a path such as data.country";
    }
  }
  return std::nullopt;
}

bool matches(const PayloadFilter& filter, const JsonValue& payload) noexcept {
  return std::ranges::all_of(filter, [&payload](const auto& field) {
    const JsonValue* const value = find_field(payload, field.first);
    return value != nullptr && is_equal(*value, field.second);
  });
}

JsonValue read_payload(std::string_view payload) {
  auto value = text::read_json(payload, {.bytes = payload.size(), .depth = 64, .values = 100'000});
  return value ? *std::move(value) : JsonValue{};
}

}  // namespace damper::webhooks
