#include "damper/policy/import/import_draft.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/duration_text.h"
#include "damper/base/percent.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

std::size_t at(std::string_view path) {
  const auto position = find_key(path);
  DAMPER_CHECK(position.has_value());
  return *position;
}

std::string shown(const Key& key, std::int64_t raw) {
  if (key.kind == Kind::duration) return format_duration(Duration{raw});
  if (key.kind == Kind::percent || key.kind == Kind::chance) {
    return std::to_string(raw / 100) + " %";
  }
  return std::to_string(raw);
}

bool is_on(const Key& key, const Settings& settings) {
  const auto section = find_section(parent(key.path));
  const auto on = section ? sections()[*section].on : nullptr;
  return on == nullptr || on(settings);
}

}  // namespace

Draft::Draft(ImportNotes& notes) : notes_(&notes) {
  block_.keys.resize(keys().size());
  block_.sections.resize(sections().size());
}

void Draft::say(std::string_view path, std::int64_t raw, config::SourceLocation place) {
  const std::size_t position = at(path);
  const Key& key = keys()[position];
  const bool off = key.off == raw;
  const std::int64_t held = off ? raw : std::clamp(raw, key.low, key.high);
  if (held != raw) {
    notes_->note(place, std::string(path) + " becomes " + shown(key, held) + ": it must be " +
                            accepted(key));
  }
  block_.keys[position] = Block::Said{.place = place, .raw = held, .statuses = {}};
  if (const auto section = find_section(parent(path)); section && !block_.sections[*section]) {
    block_.sections[*section] = Block::Turned{.place = place};
  }
}

void Draft::say_ratio(std::string_view path, const Placed<double>& said) {
  const double hundredths = std::min(std::round(said.value * Percent::kDenominator), 1e9);
  say(path, static_cast<std::int64_t>(hundredths), said.place);
}

void Draft::say_statuses(const RetryOn::Statuses& statuses, config::SourceLocation place) {
  block_.keys[at("retry_policy.retriable_status_codes")] =
      Block::Said{.place = place, .raw = 0, .statuses = statuses};
}

std::optional<std::int64_t> Draft::raw(std::string_view path) const {
  const auto& said = block_.keys[at(path)];
  return said ? std::optional(said->raw) : std::nullopt;
}

config::SourceLocation Draft::place_of(std::string_view path) const {
  const auto& said = block_.keys[at(path)];
  return said ? said->place : config::SourceLocation{};
}

void Draft::add(const Draft& other) {
  for (std::size_t i = 0; i < block_.keys.size(); ++i) {
    if (!block_.keys[i]) block_.keys[i] = other.block_.keys[i];
  }
  for (std::size_t i = 0; i < block_.sections.size(); ++i) {
    if (!block_.sections[i]) block_.sections[i] = other.block_.sections[i];
  }
}

bool Drafts::has_room(std::size_t taken, config::SourceLocation place) {
  if (taken < kMostRoutes) return true;
  notes_.fail(place, "is more than a policy file can hold: at most " + std::to_string(kMostRoutes) +
                         " routes");
  return false;
}

void Drafts::add(std::string_view name, config::SourceLocation place, const Draft& draft) {
  if (!has_room(size(), place)) return;
  Route route;
  route.name = unique_name(name);
  route.place = place;
  route.origins.resize(keys().size(), Origin::built_in);
  route.places.resize(keys().size());
  apply(draft.block_, Origin::route, route);
  settle_order(route);
  if (const auto sentence = engine::find_error(route.settings.policy)) {
    notes_.fail(place, *sentence);
  }
  result_.file.routes.push_back(std::move(route));
}

// A key that may not be under another one is lifted, unless nobody said the other one.
void Drafts::settle_order(Route& route) {
  std::vector<config::SourceLocation>& places = route.places;
  for (std::size_t i = 0; i < keys().size(); ++i) {
    const Key& key = keys()[i];
    if (key.not_under.empty() || !is_on(key, route.settings)) continue;
    const std::size_t other = at(key.not_under);
    const Key& least = keys()[other];
    if (key.get(route.settings) >= least.get(route.settings)) continue;
    if (route.origins[other] == Origin::built_in) {
      least.set(route.settings, key.get(route.settings));
      route.origins[other] = Origin::route;
      places[other] = places[i];
      continue;
    }
    key.set(route.settings, least.get(route.settings));
    route.origins[i] = Origin::route;
    if (places[i].line == 0) places[i] = places[other];
    notes_.note(places[i], std::string(key.path) + " becomes " + write(key, route.settings) +
                               ": it may not be under " + std::string(leaf(least.path)));
  }
}

std::string Drafts::unique_name(std::string_view name) {
  const std::string stem = as_route_name(name);
  std::string unique = stem;
  std::size_t& asked = named_[stem];
  while (++asked > 1) {
    const std::string end = ':' + std::to_string(asked);
    unique = stem.substr(0, kLongestName - end.size()) + end;
    if (!named_.contains(unique)) break;
  }
  named_[unique] = std::max<std::size_t>(named_[unique], 1);
  return unique;
}

Imported Drafts::take(std::string_view file) {
  result_.file.file = file;
  result_.file.shape = "routes";
  result_.notes = notes_.take();
  return std::move(result_);
}

}  // namespace damper::policy
