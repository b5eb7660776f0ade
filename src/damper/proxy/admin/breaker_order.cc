#include "damper/proxy/admin/breaker_order.h"

#include <array>
#include <sstream>
#include <utility>

#include "damper/base/bounds.h"
#include "damper/base/duration_text.h"
#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/words.h"
#include "damper/proxy/admin/order_json.h"

namespace damper::proxy {
namespace {

using admit::BreakerForce;
using text::JsonValue;

constexpr std::array<std::string_view, 5> kKeys = {"scope", "replica", "force", "reason", "for"};

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

Expected<BreakerOrder, std::string> parse_breaker_order(std::string_view text) {
  const auto from = read_order(text, kKeys);
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
