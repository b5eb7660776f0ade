#include "damper/policy/import/import_draft.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "damper/base/percent.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

std::size_t at(std::string_view path) { return block_schema().position(path); }

std::string shown(const config::Form& form, std::int64_t raw) {
  if (form.kind == config::Kind::chance) return std::to_string(raw / 100) + " %";
  return config::write_value(form, raw) + (form.kind == config::Kind::percent ? " %" : "");
}

}  // namespace

Draft::Draft(ImportNotes& notes) : notes_(&notes), block_(block_schema()) {}

void Draft::set(std::string_view path, std::int64_t raw, config::SourceLocation place) {
  const config::Form& form = block_schema().key_at(path).form;
  const std::int64_t held = form.off == raw ? raw
                                            : std::clamp(raw, static_cast<std::int64_t>(form.low),
                                                         static_cast<std::int64_t>(form.high));
  if (held != raw) {
    notes_->note(place, std::string(path) + " becomes " + shown(form, held) + ": it must be " +
                            accepted(form));
  }
  block_.keys[at(path)] = config::Reading::Entry{place, held};
  const auto section = block_schema().find_section(config::parent(path));
  if (section && !block_.sections[*section]) block_.sections[*section] = {.place = place};
}

void Draft::set_ratio(std::string_view path, const Placed<double>& ratio) {
  const double hundredths = std::min(std::round(ratio.value * Percent::kDenominator), 1e9);
  set(path, static_cast<std::int64_t>(hundredths), ratio.place);
}

void Draft::set_statuses(const RetryOn::Statuses& statuses, config::SourceLocation place) {
  std::vector<double> listed;
  for (std::size_t status = 0; status < statuses.size(); ++status) {
    if (statuses[status]) listed.push_back(static_cast<double>(status));
  }
  block_.keys[at("retry_policy.retriable_status_codes")] = {place, std::move(listed)};
}

std::optional<std::int64_t> Draft::raw(std::string_view path) const {
  const auto& entry = block_.keys[at(path)];
  return entry ? std::optional(std::get<std::int64_t>(entry->value)) : std::nullopt;
}

config::SourceLocation Draft::place_of(std::string_view path) const {
  return block_schema().place_of(block_, path);
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
  apply(draft.block_, Origin::route, route);
  settle_order(route);
  if (const auto sentence = engine::find_error(route.settings.policy)) {
    notes_.fail(place, *sentence);
  }
  result_.file.routes.push_back(std::move(route));
}

// A key that may not be under another one is raised, unless the other one is not set.
void Drafts::settle_order(Route& route) {
  const auto& schema = block_schema();
  std::vector<config::SourceLocation>& places = route.places;
  for (std::size_t i = 0; i < schema.keys().size(); ++i) {
    const config::Key& key = schema.keys()[i];
    if (key.not_under.empty() || !schema.is_on(key, route.settings)) continue;
    const std::size_t other = at(key.not_under);
    const config::Key& least = schema.keys()[other];
    const config::Value value = schema.value(key, route.settings);
    const config::Value least_value = schema.value(least, route.settings);
    if (value >= least_value) continue;
    if (route.origins[other] == Origin::built_in) {
      schema.set(least, route.settings, value);
      route.origins[other] = Origin::route;
      places[other] = places[i];
      continue;
    }
    schema.set(key, route.settings, least_value);
    route.origins[i] = Origin::route;
    if (places[i].line == 0) places[i] = places[other];
    notes_.note(places[i], std::string(key.path) + " becomes " + schema.write(key, route.settings) +
                               ": it may not be under " + std::string(config::leaf(least.path)));
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
