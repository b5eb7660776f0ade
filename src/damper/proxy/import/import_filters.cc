#include "damper/proxy/import/import_filters.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "damper/base/text/words.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/import/field_table.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;
using policy::Placed;

// Whether a RuntimeFractionalPercent is over zero by default. Not there: it is zero.
bool is_some(Fields& owner, std::string_view field, ImportNotes& notes) {
  const Tree* tree = owner.take(field);
  if (tree == nullptr) return false;
  Fields fields(*tree, field, notes);
  fields.skip({"runtime_key"});
  const Tree* value = fields.take("default_value");
  fields.leave_rest();
  if (value == nullptr) return false;
  Fields inner(*value, field, notes);
  const Placed<std::int64_t> numerator = inner.integer("numerator", 0);
  const std::string denominator = inner.text("denominator");
  inner.leave_rest();
  const std::int64_t all = denominator == "TEN_THOUSAND" ? 10'000
                           : denominator == "MILLION"    ? 1'000'000
                                                         : 100;
  if (numerator.value > 0 && numerator.value < all) {
    notes.note(numerator.place, std::string(field) + " becomes 100 %");
  }
  return numerator.value > 0;
}

void read_local_rate_limit(const Tree& tree, FilterTerms& terms, EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "local_ratelimit", notes);
  fields.skip({"@type", "stat_prefix"});
  const bool is_enabled = is_some(fields, "filter_enabled", notes);
  const bool is_enforced = is_some(fields, "filter_enforced", notes);
  const Tree* bucket = fields.take("token_bucket");
  fields.leave("descriptors", "a limit for each client is client_rate_limit");
  fields.leave_rest();
  if (bucket == nullptr) return;
  Fields inner(*bucket, "token_bucket", notes);
  const auto most = inner.integer("max_tokens", 1);
  const auto fill = inner.integer("tokens_per_fill", 1);
  const auto interval = inner.duration("fill_interval", std::chrono::seconds(1));
  inner.leave_rest();
  if (!is_enabled || !is_enforced) {
    notes.note(tree.place,
               "local_ratelimit refuses nothing in Envoy unless filter_enabled and "
               "filter_enforced are over 0; it is left out");
    return;
  }
  const double seconds = std::max(1e-9, std::chrono::duration<double>(interval.value).count());
  const double rate = std::min(static_cast<double>(fill.value) / seconds, 1e9);
  terms.keys.set("rate_limit.requests_per_second", std::llround(rate * 1000), bucket->place);
  terms.keys.set("rate_limit.burst", most);
  notes.note_once("rate_limit", tree.place,
                  "local_ratelimit bounds all routes of its listener together in Envoy; here each "
                  "route has the limit of its own");
}

void read_buffer(const Tree& tree, FilterTerms& terms, EnvoyImport& file) {
  Fields fields(tree, "buffer", file.notes);
  fields.skip({"@type"});
  const auto is_disabled = fields.boolean("disabled");
  const Tree* inner = fields.take("buffer");  // of a route
  const auto most = fields.integer("max_request_bytes");
  if (is_disabled && is_disabled->value) {
    terms.keys.set("request_buffering", "false", is_disabled->place);
  }
  if (most && most->value > 0) {
    terms.keys.set("request_buffering", "true", tree.place);
    terms.keys.set("request_buffer", *most);
    file.notes.note_once("buffer", tree.place,
                         "a body over max_request_bytes is streamed after that, not refused with "
                         "413");
  }
  fields.leave_rest();
  if (inner != nullptr) read_buffer(*inner, terms, file);
}

// The path of `headers: [{name: ":path", string_match: {exact: /healthz}}]`.
std::string health_path(Fields& fields, ImportNotes& notes) {
  std::string path;
  for (const Tree& header : fields.list("headers")) {
    Fields inner(header, "headers", notes);
    const std::string name = inner.text("name");
    std::string exact = inner.text("exact_match");
    if (const Tree* match = inner.take("string_match")) {
      Fields string_match(*match, "string_match", notes);
      exact = string_match.text("exact");
      string_match.leave_rest();
    }
    inner.leave_rest();
    if (name == ":path" && !exact.empty()) {
      path = exact;
    } else {
      notes.left_out(header.place,
                     "a condition of the health page other than the exact :path is "
                     "left out");
    }
  }
  return path;
}

void read_health_page(const Tree& tree, FilterTerms& terms, EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "health_check", notes);
  fields.skip({"@type"});
  const auto passes = fields.boolean("pass_through_mode");
  const std::string path = health_path(fields, notes);
  std::vector<std::string> clusters;
  std::optional<Placed<std::int64_t>> least;
  if (const Tree* shares = fields.take("cluster_min_healthy_percentages")) {
    Fields inner(*shares, "cluster_min_healthy_percentages", notes);
    for (std::size_t i = 0; shares->is_map() && i < shares->pairs(); ++i) {
      const std::string& name = shares->key(i).text;
      const auto percent = take_percent(inner, name, notes);
      const auto known = file.terms.find(name);
      if (!percent || known == file.terms.end() || known->second.name.empty()) continue;
      clusters.push_back(known->second.name);
      if (least && least->value != percent->value) {
        notes.note(percent->place, "min_healthy is one for all clusters: the lowest holds");
      }
      if (!least || percent->value < least->value) least = *percent;
    }
    inner.leave_rest();
  }
  fields.leave("cache_time", "the page is made for each request");
  fields.leave_rest();
  if (passes && passes->value) {
    notes.left_out(tree.place,
                   "health_check with pass_through_mode has no equivalent: health "
                   "checks of clients are requests like others");
    return;
  }
  if (path.empty()) {
    notes.left_out(tree.place, "health_check without an exact :path is left out");
    return;
  }
  RouteDraft& page = terms.health_pages.emplace_back(file.make_route("health-page", tree.place));
  page.keys.set("match.path", path, tree.place);
  if (!clusters.empty()) page.keys.set("health_page.clusters", make_list(clusters, tree.place));
  page.keys.set("health_page.min_healthy", least.value_or(Placed<std::int64_t>{.value = 100}));
}

double default_of(Fields& owner, std::string_view field, double otherwise, ImportNotes& notes) {
  const Tree* tree = owner.take(field);
  if (tree == nullptr) return otherwise;
  if (tree->is_scalar()) return otherwise;
  Fields fields(*tree, field, notes);
  fields.skip({"runtime_key"});
  double value = otherwise;
  if (const Tree* inner = fields.take("default_value")) {
    if (inner->is_map()) {
      Fields percent(*inner, field, notes);
      value = percent.number("value", otherwise).value;
      percent.leave_rest();
    } else {
      value = text::find_number<double>(inner->text).value_or(otherwise);
    }
  }
  fields.leave_rest();
  return std::isfinite(value) ? std::clamp(value, 0.0, 1e6) : otherwise;
}

// Both reject with a chance that grows with the share of failures. Ours is
// (requests - multiplier * accepted) / requests, Envoy's with the threshold instead of 100 %.
void read_admission(const Tree& tree, FilterTerms& terms, EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "admission_control", notes);
  fields.skip({"@type", "enabled", "success_criteria"});
  const double threshold = default_of(fields, "sr_threshold", 95, notes);
  terms.calls.set("client_throttle.multiplier",
                  std::llround(100 / std::max(1.0, threshold) * 100 * 100), tree.place);
  terms.calls.set("client_throttle.window",
                  fields.duration("sampling_window", std::chrono::seconds(30)));
  terms.calls.set("client_throttle.max_rejected",
                  std::llround(default_of(fields, "max_rejection_probability", 80, notes) * 100),
                  tree.place);
  fields.leave("aggression", "the chance of a rejection grows linearly");
  fields.leave("rps_threshold", "minimum_volume counts the requests of the window");
  fields.leave_rest();
  notes.note(tree.place,
             "admission_control becomes client_throttle: its multiplier is 100 % divided by "
             "sr_threshold");
}

void read_concurrency(const Tree& tree, FilterTerms& terms, EnvoyImport& file) {
  Fields fields(tree, "adaptive_concurrency", file.notes);
  fields.skip({"@type", "enabled"});
  terms.keys.set("admission_control.kind", "gradient", tree.place);
  if (const Tree* gradient = fields.take("gradient_controller_config")) {
    Fields inner(*gradient, "gradient_controller_config", file.notes);
    if (const Tree* limit = inner.take("concurrency_limit_params")) {
      Fields params(*limit, "concurrency_limit_params", file.notes);
      if (const auto most = params.integer("max_concurrency_limit")) {
        terms.keys.set("admission_control.max", *most);
        const std::int64_t max = terms.keys.raw("admission_control.max");
        if (max < 20) terms.keys.set("admission_control.initial", max, most->place);
      }
      params.leave("concurrency_update_interval", "the limit is adapted with each response");
      params.leave_rest();
    }
    inner.leave("min_rtt_calc_params", "no phase rejects requests in order to measure");
    inner.leave("sample_aggregate_percentile", "the limit follows each latency");
    inner.leave_rest();
  }
  fields.leave_rest();
  file.notes.note(tree.place,
                  "adaptive_concurrency becomes admission_control: requests over the limit are "
                  "queued, and the least critical are shed; each route has a limit of its own");
}

void read_nothing(const Tree&, FilterTerms&, EnvoyImport&) {}

// A new filter is a new row.
struct FilterRow {
  std::string_view name;  // of the filter; of a typed_per_filter_config
  std::string_view type;  // of its configuration, also with PerRoute
  void (*read)(const Tree&, FilterTerms&, EnvoyImport&);
};
constexpr std::array<FilterRow, 6> kFilters = {{
    {"envoy.filters.http.router", "Router", read_nothing},
    {"envoy.filters.http.local_ratelimit", "LocalRateLimit", read_local_rate_limit},
    {"envoy.filters.http.buffer", "Buffer", read_buffer},
    {"envoy.filters.http.health_check", "HealthCheck", read_health_page},
    {"envoy.filters.http.admission_control", "AdmissionControl", read_admission},
    {"envoy.filters.http.adaptive_concurrency", "AdaptiveConcurrency", read_concurrency},
}};

// Filters that refuse requests: without them more requests reach the service.
constexpr std::array<std::string_view, 8> kGuards = {
    "ext_authz", "jwt_authn", "rbac", "basic_auth", "oauth2", "csrf", "api_key_auth", "ip_tagging"};

void read_filter(const std::string& name, const Tree* config, config::SourceLocation place,
                 FilterTerms& terms, EnvoyImport& file) {
  std::string type = config == nullptr ? std::string() : type_of(*config);
  if (type.ends_with("PerRoute")) type.resize(type.size() - std::string_view("PerRoute").size());
  for (const FilterRow& row : kFilters) {
    if (type.empty() ? row.name != name : row.type != type) continue;
    const Tree none = make_map({}, place);
    row.read(config == nullptr ? none : *config, terms, file);
    return;
  }
  const std::string_view leaf = std::string_view(name).substr(name.rfind('.') + 1);
  const bool guards = std::find(kGuards.begin(), kGuards.end(), leaf) != kGuards.end();
  file.notes.left_out(place, "the HTTP filter " + text::in_quotes(name) +
                                 " has no equivalent and is left out" +
                                 (guards ? ": requests that it refuses are forwarded" : ""));
}

}  // namespace

FilterTerms::FilterTerms(ImportNotes& notes)
    : keys(route_schema(), "filters", {}, notes), calls(notes) {}

void read_http_filters(std::span<const Tree> filters, FilterTerms& terms, EnvoyImport& file) {
  for (const Tree& filter : filters) {
    Fields fields(filter, "the HTTP filter", file.notes);
    const std::string name = fields.text("name");
    const Tree* config = fields.take("typed_config");
    const bool is_disabled = fields.is_true("disabled");
    fields.skip({"is_optional"});
    fields.leave_rest();
    if (is_disabled) {
      file.notes.left_out(
          filter.place, "the HTTP filter " + text::in_quotes(name) + " is disabled, and left out");
      continue;
    }
    read_filter(name, config, filter.place, terms, file);
  }
}

void read_upgrade_configs(std::span<const Tree> configs, std::vector<std::string>& upgrades,
                          ImportNotes& notes) {
  for (const Tree& config : configs) {
    Fields fields(config, "upgrade_configs", notes);
    const std::string type = fields.text("upgrade_type");
    const auto is_on = fields.boolean("enabled");
    fields.skip({"connect_config"});
    fields.leave("filters", "an upgrade has the filters of its route");
    fields.leave_rest();
    if (type == "CONNECT") {
      notes.note_once("connect", config.place,
                      "CONNECT needs no upgrade here: a route with methods [CONNECT] tunnels it");
      continue;
    }
    upgrades.erase(std::remove(upgrades.begin(), upgrades.end(), type), upgrades.end());
    if (!is_on || is_on->value) upgrades.push_back(type);
  }
}

void read_filter_overrides(Fields& owner, FilterTerms& terms, EnvoyImport& file) {
  const Tree* overrides = owner.take("typed_per_filter_config");
  if (overrides == nullptr) return;
  Fields fields(*overrides, "typed_per_filter_config", file.notes);
  for (std::size_t i = 0; overrides->is_map() && i < overrides->pairs(); ++i) {
    const std::string& name = overrides->key(i).text;
    fields.skip({name});
    read_filter(name, &overrides->value(i), overrides->key(i).place, terms, file);
  }
}

}  // namespace damper::proxy
