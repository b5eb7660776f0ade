#include "damper/proxy/admin/orders.h"

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <utility>

#include "damper/admit/reason.h"
#include "damper/base/bounds.h"
#include "damper/base/duration_text.h"
#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/words.h"

namespace damper::proxy {
namespace {

using admit::BreakerForce;
using text::JsonValue;

// ---- Parts of both orders ----------------------------------------------------------------------

constexpr text::JsonLimits kLimits{.bytes = kMostOrderBytes, .depth = 4, .values = 20};

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// The text as a JSON object with no other keys.
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

// The text of a key; nothing: the key is missing.
Expected<std::optional<std::string>> find_text(const JsonValue& order, std::string_view key) {
  const JsonValue* const value = order.find(key);
  if (value == nullptr) return std::optional<std::string>();
  const auto text = value->as_string();
  if (!text) return unexpected(std::string(key) + " must be a string");
  return std::optional(std::string(*text));
}

// If the reason is needed it is not blank; `why` ends the sentence.
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

// The length `for`; nothing: the key is missing.
Expected<std::optional<Duration>> read_length(const JsonValue& order) {
  const auto length = find_text(order, "for");
  if (!length) return unexpected(length.error());
  if (!*length) return std::optional<Duration>();
  const auto parsed = parse_duration(**length);
  if (!parsed) return unexpected("for: " + parsed.error());
  if (*parsed == Duration{0}) return unexpected(std::string("for is 0; it must be more than 0"));
  return std::optional(*parsed);
}

// ---- Switches ----------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kSwitchKeys = {"scope", "switch", "off", "reason", "for"};

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

std::optional<std::string> read_rest(const JsonValue& from, SwitchOrder& order) {
  auto reason = read_reason(from, order.off, "the switch is off");
  if (!reason) return reason.error();
  order.reason = *std::move(reason);
  const auto length = read_length(from);
  if (!length) return length.error();
  if (*length && !order.off) return "for is only accepted with off: true";
  order.length = *length;
  return std::nullopt;
}

// ---- Breakers ----------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kBreakerKeys = {"scope", "replica", "force", "reason",
                                                          "for"};

std::optional<std::string> read_target(const JsonValue& from, BreakerOrder& order) {
  const auto scope = find_text(from, "scope");
  if (!scope) return scope.error();
  auto parsed = parse_scope(scope->value_or(""));
  if (!parsed) return parsed.error();
  order.scope = *std::move(parsed);
  if (order.scope.kind == SwitchScope::Kind::process) {
    return "scope is the process; it must be cluster/NAME or route/NAME";
  }
  const auto replica = find_text(from, "replica");
  if (!replica) return replica.error();
  if (!*replica) return std::nullopt;
  order.replica = **replica;
  if (order.replica.empty() || order.replica.size() > kLongestScope) {
    return "replica has " + std::to_string(order.replica.size()) +
           " bytes; it must have from 1 to " + std::to_string(kLongestScope);
  }
  if (order.scope.kind != SwitchScope::Kind::cluster) {
    return "replica is only accepted with a scope of cluster/NAME";
  }
  return std::nullopt;
}

std::optional<std::string> read_force(const JsonValue& from, BreakerOrder& order) {
  const auto word = find_text(from, "force");
  if (!word) return word.error();
  if (!*word) return "force is missing: one of " + text::joined(admit::kBreakerForceNames);
  const auto found = admit::kBreakerForceNames.find(**word);
  if (!found) {
    return "force is " + text::in_quotes(**word) + "; it must be one of " +
           text::joined(admit::kBreakerForceNames);
  }
  order.force = *found;
  const bool forced = order.force != BreakerForce::none;
  auto reason = read_reason(from, forced, "the breaker is forced");
  if (!reason) return reason.error();
  order.reason = *std::move(reason);
  const auto length = read_length(from);
  if (!length) return length.error();
  if (!*length) return std::nullopt;
  if (!forced) return "for is only accepted with force: open or closed";
  order.length = *length;
  return BoundsCheck().field("for", **length, admit::BreakerForceSetting::kLength).error();
}

}  // namespace

Expected<SwitchOrder, std::string> parse_switch_order(std::string_view text) {
  const auto from = read_order(text, kSwitchKeys);
  if (!from) return unexpected(from.error());
  SwitchOrder order;
  auto scope = find_text(*from, "scope");
  if (!scope) return unexpected(scope.error());
  auto parsed = parse_scope(scope->value_or(""));
  if (!parsed) return unexpected(parsed.error());
  order.scope = *std::move(parsed);
  if (auto error = read_switch(*from, order)) return unexpected(*std::move(error));
  if (auto error = read_rest(*from, order)) return unexpected(*std::move(error));
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

Expected<BreakerOrder, std::string> parse_breaker_order(std::string_view text) {
  const auto from = read_order(text, kBreakerKeys);
  if (!from) return unexpected(from.error());
  BreakerOrder order;
  if (auto error = read_target(*from, order)) return unexpected(*std::move(error));
  if (auto error = read_force(*from, order)) return unexpected(*std::move(error));
  return order;
}

std::string print_breaker_order(const BreakerOrder& order) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("scope", order.scope.text());
  if (!order.replica.empty()) json.field("replica", order.replica);
  json.field("force", admit::name(order.force));
  if (!order.reason.empty()) json.field("reason", order.reason);
  if (order.length) json.field("for", format_duration(*order.length));
  json.close('}');
  return out.str();
}

}  // namespace damper::proxy
