#include "damper/proxy/admin/order_json.h"

#include <algorithm>
#include <utility>

#include "damper/admit/reason.h"
#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"

namespace damper::proxy {
namespace {

using text::JsonValue;

constexpr text::JsonLimits kLimits{.bytes = kMostOrderBytes, .depth = 4, .values = 20};

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

Expected<JsonValue> read_order(std::string_view text, std::span<const std::string_view> keys) {
  auto from = text::read_json(text, kLimits);
  if (!from) return unexpected("the body is invalid: " + from.error());
  if (from->kind != JsonValue::Kind::object) {
    return unexpected("the body must be a JSON object with " + text::joined(keys));
  }
  for (const auto& [key, value] : from->fields) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return unexpected("unknown key " + text::in_quotes(key) + text::suggestion(key, keys) +
                        " (accepted: " + text::joined(keys) + ")");
    }
  }
  return *std::move(from);
}

Expected<std::optional<std::string>> find_text(const JsonValue& order, std::string_view key) {
  const JsonValue* const value = order.find(key);
  if (value == nullptr) return std::optional<std::string>();
  const auto text = value->as_string();
  if (!text) return unexpected(std::string(key) + " must be a string");
  return std::optional(std::string(*text));
}

Expected<std::string> read_reason(const JsonValue& order, bool needed, std::string_view why) {
  const auto found = find_text(order, "reason");
  if (!found) return unexpected(found.error());
  std::string reason = found->value_or("");
  if (needed && is_blank(reason)) {
    return unexpected("reason is missing: the next person on duty has to know why " +
                      std::string(why));
  }
  if (reason.size() > admit::Reason::kLongest) {
    return unexpected("reason has " + std::to_string(reason.size()) +
                      " bytes; it must have at most " + std::to_string(admit::Reason::kLongest));
  }
  return reason;
}

Expected<std::optional<Duration>> read_length(const JsonValue& order) {
  const auto length = find_text(order, "for");
  if (!length) return unexpected(length.error());
  if (!*length) return std::optional<Duration>();
  const auto parsed = parse_duration(**length);
  if (!parsed) return unexpected("for: " + parsed.error());
  if (*parsed == Duration{0}) return unexpected(std::string("for is 0; it must be more than 0"));
  return std::optional(*parsed);
}

}  // namespace damper::proxy
