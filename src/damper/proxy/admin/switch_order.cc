#include "damper/proxy/admin/switch_order.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "damper/base/duration_text.h"
#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/words.h"

namespace damper::proxy {
namespace {

using text::JsonValue;

constexpr std::array<std::string_view, 5> kKeys = {"scope", "switch", "off", "reason", "for"};
constexpr text::JsonLimits kLimits{.bytes = kMostOrderBytes, .depth = 4, .values = 20};

// The text of a key; nothing: the key is missing.
Expected<std::optional<std::string>, std::string> find_text(const JsonValue& order,
                                                            std::string_view key) {
  const JsonValue* const value = order.find(key);
  if (value == nullptr) return std::optional<std::string>();
  const auto text = value->as_string();
  if (!text) return unexpected(std::string(key) + " must be a string");
  return std::optional(std::string(*text));
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::optional<std::string> read_switch(const JsonValue& from, SwitchOrder& order) {
  const auto word = find_text(from, "switch");
  if (!word) return word.error();
  if (!*word) return "switch is missing: one of " + text::joined(admit::kSwitchNames);
  const auto found = admit::kSwitchNames.find(**word);
  if (!found) {
    return "switch is " + text::in_quotes(**word) + "; it must be one of " +
           text::joined(admit::kSwitchNames);
  }
  order.which = *found;
  const JsonValue* const off = from.find("off");
  const auto truth = off == nullptr ? std::nullopt : off->as_boolean();
  if (!truth) return "off must be true or false";
  order.off = *truth;
  return std::nullopt;
}

std::optional<std::string> read_reason(const JsonValue& from, SwitchOrder& order) {
  const auto reason = find_text(from, "reason");
  if (!reason) return reason.error();
  order.reason = reason->value_or("");
  if (order.off && is_blank(order.reason)) {
    return "reason is missing: the next person on duty has to know why the switch is off";
  }
  if (order.reason.size() > admit::Reason::kLongest) {
    return "reason has " + std::to_string(order.reason.size()) + " bytes; it must have at most " +
           std::to_string(admit::Reason::kLongest);
  }
  const auto length = find_text(from, "for");
  if (!length) return length.error();
  if (!*length) return std::nullopt;
  if (!order.off) return "for is only accepted with off: true";
  const auto parsed = parse_duration(**length);
  if (!parsed) return "for: " + parsed.error();
  if (*parsed == Duration{0}) return "for is 0; it must be more than 0";
  order.length = *parsed;
  return std::nullopt;
}

}  // namespace

Expected<SwitchOrder, std::string> parse_switch_order(std::string_view text) {
  const auto from = text::read_json(text, kLimits);
  if (!from) return unexpected("the body is invalid: " + from.error());
  if (from->kind != JsonValue::Kind::object) {
    return unexpected(
        std::string("the body must be a JSON object with scope, switch, off and reason"));
  }
  for (const auto& [key, value] : from->fields) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return unexpected("unknown key " + text::in_quotes(key) + text::suggestion(key, kKeys) +
                        " (accepted: " + text::joined(kKeys) + ")");
    }
  }
  SwitchOrder order;
  auto scope = find_text(*from, "scope");
  if (!scope) return unexpected(scope.error());
  auto parsed = parse_scope(scope->value_or(""));
  if (!parsed) return unexpected(parsed.error());
  order.scope = *std::move(parsed);
  if (auto error = read_switch(*from, order)) return unexpected(*std::move(error));
  if (auto error = read_reason(*from, order)) return unexpected(*std::move(error));
  return order;
}

std::string print_order(const SwitchOrder& order) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  // Left out for the process: a proxy up to 0.9 calls it "".
  if (order.scope != SwitchScope{}) json.field("scope", order.scope.text());
  json.field("switch", admit::name(order.which));
  json.field("off", order.off);
  if (!order.reason.empty()) json.field("reason", order.reason);
  if (order.length) json.field("for", format_duration(*order.length));
  json.close('}');
  return out.str();
}

}  // namespace damper::proxy
