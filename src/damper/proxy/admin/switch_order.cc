#include "damper/proxy/admin/switch_order.h"

#include <array>
#include <sstream>

#include "damper/base/duration_text.h"
#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/words.h"
#include "damper/proxy/admin/order_json.h"

namespace damper::proxy {
namespace {

using text::JsonValue;

constexpr std::array<std::string_view, 5> kKeys = {"scope", "switch", "off", "reason", "for"};

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

}  // namespace

Expected<SwitchOrder, std::string> parse_switch_order(std::string_view text) {
  const auto from = read_order(text, kKeys);
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

}  // namespace damper::proxy
