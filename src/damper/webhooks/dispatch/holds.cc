#include "damper/webhooks/dispatch/holds.h"

#include <algorithm>
#include <sstream>

#include "damper/base/text/json_reader.h"
#include "damper/base/text/json_writer.h"

namespace damper::webhooks {
namespace {

constexpr std::string_view kSettingPrefix = "hold.";
constexpr std::string_view kApplicationPart = ".application.";
constexpr std::string_view kEndpointPart = ".endpoint.";

[[nodiscard]] std::chrono::milliseconds up_to_ms(Duration length) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(length);
}

}  // namespace

void Holds::drop_ended(Instant now) {
  const auto ended = [now](const auto& row) { return row.second.until <= now; };
  for (Scopes& scopes : scopes_) {
    if (scopes.all && scopes.all->until <= now) scopes.all.reset();
    std::erase_if(scopes.applications, ended);
    std::erase_if(scopes.endpoints, ended);
  }
}

bool Holds::set(const HoldScope& scope, Hold which, const HoldOrder& order, Instant now) {
  Scopes& scopes = scopes_[static_cast<std::size_t>(which)];
  Entry* const known = find(scope, which);
  if (!order.off) {
    if (known != nullptr) known->until = std::min(known->until, now);
    return true;
  }
  Entry entry{.until = order.length ? add(now, *order.length) : kNever,
              .reason = order.reason,
              .application = scope.application};
  if (!scope.endpoint && scope.application.empty()) {
    scopes.all = std::move(entry);
    return true;
  }
  const auto is_full = [&] {
    std::size_t count = 0;
    for (const Scopes& one : scopes_) {
      count += scope.endpoint ? one.endpoints.size() : one.applications.size();
    }
    return count >= kMost;
  };
  if (known == nullptr && is_full()) {  // (1)
    drop_ended(now);
    if (is_full()) return false;
  }
  if (scope.endpoint) {
    scopes.endpoints.insert_or_assign(*scope.endpoint, std::move(entry));
  } else {
    scopes.applications.insert_or_assign(scope.application, std::move(entry));
  }
  return true;
}

std::optional<Instant> Holds::held_until(Hold which, std::string_view application, Id endpoint,
                                         Instant now) const noexcept {
  const Scopes& scopes = scopes_[static_cast<std::size_t>(which)];
  if (!scopes.all && scopes.size() == 0) return std::nullopt;
  Instant until = now;
  if (scopes.all) until = std::max(until, scopes.all->until);
  if (const auto found = scopes.applications.find(application);
      found != scopes.applications.end()) {
    until = std::max(until, found->second.until);
  }
  if (const auto found = scopes.endpoints.find(endpoint); found != scopes.endpoints.end()) {
    until = std::max(until, found->second.until);
  }
  return until > now ? std::optional(until) : std::nullopt;
}

std::optional<HoldScope> Holds::holding_scope(Hold which, std::string_view application, Id endpoint,
                                              Instant now) const {
  const std::string name(application);
  for (const HoldScope& scope :
       {HoldScope{}, HoldScope{.application = name}, HoldScope{name, endpoint}}) {
    if (status(scope, which, now).off) return scope;
  }
  return std::nullopt;
}

Instant Holds::last_end(std::string_view application, Id endpoint, Instant now) const noexcept {
  Instant last = Instant::min();
  const auto see = [&](const Entry& entry) {
    if (entry.until <= now) last = std::max(last, entry.until);
  };
  for (const Scopes& scopes : scopes_) {
    if (scopes.all) see(*scopes.all);
    if (const auto found = scopes.applications.find(application);
        found != scopes.applications.end()) {
      see(found->second);
    }
    if (const auto found = scopes.endpoints.find(endpoint); found != scopes.endpoints.end()) {
      see(found->second);
    }
  }
  return last;
}

Holds::Entry* Holds::find(const HoldScope& scope, Hold which) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): this is not const.
  return const_cast<Entry*>(std::as_const(*this).find(scope, which));
}

const Holds::Entry* Holds::find(const HoldScope& scope, Hold which) const {
  const Scopes& scopes = scopes_[static_cast<std::size_t>(which)];
  if (scope.endpoint) {
    const auto found = scopes.endpoints.find(*scope.endpoint);
    return found == scopes.endpoints.end() ? nullptr : &found->second;
  }
  if (scope.application.empty()) return scopes.all ? &*scopes.all : nullptr;
  const auto found = scopes.applications.find(scope.application);
  return found == scopes.applications.end() ? nullptr : &found->second;
}

admit::SwitchStatus Holds::status(const HoldScope& scope, Hold which, Instant now) const {
  const Entry* const entry = find(scope, which);
  if (entry == nullptr || entry->until <= now) return {};
  return {.off = true,
          .remaining = entry->until == kNever ? kForever : between(now, entry->until),
          .reason = entry->reason};
}

std::vector<HoldView> Holds::list(Instant now) const {
  std::vector<HoldView> views;
  const auto view = [&](HoldScope scope, Hold which) {
    admit::SwitchStatus state = status(scope, which, now);
    if (state.off) views.push_back({std::move(scope), which, std::move(state)});
  };
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    const Hold which{static_cast<std::uint8_t>(i)};
    view({}, which);
    for (const auto& [name, entry] : scopes_[i].applications) view({.application = name}, which);
    for (const auto& [id, entry] : scopes_[i].endpoints) {
      view({.application = entry.application, .endpoint = id}, which);
    }
  }
  return views;
}

std::string hold_setting(const HoldScope& scope, Hold which) {
  std::string name = std::string(kSettingPrefix) + std::string(kHoldNames[which]);
  if (scope.endpoint) {
    name.append(kEndpointPart).append(id_text(kEndpointPrefix, *scope.endpoint));
  } else if (!scope.application.empty()) {
    name.append(kApplicationPart).append(scope.application);
  }
  return name;
}

std::string hold_text(const HoldScope& scope, const HoldOrder& order, UnixTime now) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("reason", order.reason);
  if (order.length || !order.off) {
    const Duration length = order.off ? *order.length : Duration{0};
    json.field("until", (now + up_to_ms(length)).time_since_epoch().count());
  }
  if (scope.endpoint) json.field("application", scope.application);
  json.close('}');
  return std::move(out).str();
}

std::optional<StoredHold> find_stored_hold(std::string_view name, std::string_view text,
                                           UnixTime now) {
  if (!name.starts_with(kSettingPrefix)) return std::nullopt;
  name.remove_prefix(kSettingPrefix.size());
  const std::string_view word = name.substr(0, name.find('.'));
  const auto which = kHoldNames.find(word);
  const auto value = text::read_json(text, {.bytes = 4096, .depth = 2, .values = 10});
  if (!which || !value || value->kind != text::JsonValue::Kind::object) return std::nullopt;
  StoredHold hold{.scope = {}, .which = *which, .order = {.off = true}};
  name.remove_prefix(word.size());
  if (name.starts_with(kApplicationPart)) {
    hold.scope.application = name.substr(kApplicationPart.size());
  } else if (name.starts_with(kEndpointPart)) {
    hold.scope.endpoint = parse_id(kEndpointPrefix, name.substr(kEndpointPart.size()));
    if (!hold.scope.endpoint) return std::nullopt;
    if (const auto* const of = value->find("application")) hold.scope.application = of->text;
  } else if (!name.empty()) {
    return std::nullopt;
  }
  if (const auto* const reason = value->find("reason")) hold.order.reason = reason->text;
  if (const auto* const until = value->find("until")) {
    const auto since = until->as_integer();
    if (!since) return std::nullopt;
    hold.order.length = UnixTime(std::chrono::milliseconds(*since)) - now;
  }
  return hold;
}

}  // namespace damper::webhooks
