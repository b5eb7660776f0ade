#include "damper/proxy/import/import_route.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/policy/import/import_envoy_terms.h"
#include "damper/policy/import/import_terms.h"
#include "damper/proxy/import/field_table.h"
#include "damper/proxy/import/import_match.h"

namespace damper::proxy {
namespace {

using config::SourceLocation;
using config::Tree;
using policy::Fields;
using policy::ImportNotes;
using namespace std::chrono_literals;

constexpr std::string_view kEnvoy = "Envoy";

constexpr std::array<FieldRow, 2> kActionRows = {{
    {"host_rewrite_literal", "host_rewrite", As::text},
    {"host_rewrite", "host_rewrite", As::text},
}};

// The route's own name, or its virtual host's and its path's.
std::string name_of(Fields& fields, const Tree* match, const RouteSurroundings& around) {
  std::string name = fields.text("name");
  if (!name.empty() || match == nullptr) return name.empty() ? around.name : name;
  name = around.name;
  ImportNotes silent("");
  Fields inner(*match, "", silent);
  for (const std::string_view path : {"prefix", "path", "path_separated_prefix"}) {
    name += inner.text(path);
  }
  return name;
}

void read_direct_response(const Tree& tree, PartDraft& route, ImportNotes& notes) {
  Fields fields(tree, "direct_response", notes);
  route.set("direct_response.status", fields.integer("status", 200));
  if (const Tree* body = fields.take("body")) {
    Fields inner(*body, "body", notes);
    if (const Tree* text = inner.take("inline_string"); text != nullptr && !text->text.empty()) {
      const std::int64_t status = route.raw("direct_response.status");
      if (status != 204 && status != 304) route.set("direct_response.body", *text);
    }
    inner.leave("filename", "the body of a direct_response stands in the file");
    inner.leave_rest();
  }
  fields.leave_rest();
}

// The retries of a route, else those of its virtual host, and its hedges.
void read_retries(Fields& fields, const RouteSurroundings& around, SourceLocation place,
                  policy::Draft& calls, ImportNotes& notes) {
  if (const Tree* retries = fields.take("retry_policy")) {
    policy::read_envoy_retry_policy(*retries, calls, notes);
  } else if (around.retries != nullptr) {
    calls.add(*around.retries);
  } else {
    calls.set("retry_policy.num_retries", 0);
    notes.note_once("no_retries", place,
                    "without a retry_policy Envoy does not retry: num_retries becomes 0");
  }
  const Tree* hedge = fields.take("hedge_policy");
  const auto hedges =
      hedge == nullptr ? around.hedge : policy::read_envoy_hedge_policy(*hedge, notes);
  if (hedges) policy::hedge_at_timeout(calls, *hedges, notes);
}

void read_rewrites(Fields& fields, PartDraft& route, ImportNotes& notes) {
  take_rows(fields, kActionRows, route, notes);
  if (const Tree* rewrite = fields.take("prefix_rewrite"); rewrite != nullptr) {
    if (route.has("match.path")) {
      notes.left_out(rewrite->place, "prefix_rewrite of a route with a path has no equivalent");
    } else {
      if (!route.has("match.prefix")) route.set("match.prefix", "/", rewrite->place);
      route.set("prefix_rewrite", *rewrite);
    }
  }
  fields.leave("regex_rewrite", "a path is rewritten by its prefix alone");
  fields.leave("auto_host_rewrite", "the client's Host is sent, or host_rewrite");
}

// Envoy refuses each upgrade that neither the route nor the connection manager enables.
void read_upgrades(Fields& fields, const RouteSurroundings& around, PartDraft& route,
                   ImportNotes& notes) {
  SourceLocation place;
  std::vector<std::string> upgrades;
  if (around.filters != nullptr) {
    upgrades = around.filters->upgrades;
    place = around.filters->upgrades_place;
  }
  if (fields.has("upgrade_configs")) {
    place = fields.place_of("upgrade_configs");
    read_upgrade_configs(fields.list("upgrade_configs"), upgrades, notes);
  }
  route.set("upgrades", make_list(upgrades, place));
  if (!route.has("upgrades")) route.set("upgrades", make_list({}, place));
}

void read_action(const Tree& tree, const RouteSurroundings& around, RouteDraft& route,
                 EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "the route", notes);
  const SourceLocation place = route.keys.place();
  if (const auto timeout = fields.duration("timeout")) {
    policy::set_timeout(route.calls, timeout, timeout->place, kEnvoy, notes);
  } else {
    route.calls.set("timeout", 15s);
    notes.note_once("timeout 15s", place, "without a timeout Envoy gives a request 15s");
  }
  read_retries(fields, around, place, route.calls, notes);
  read_rewrites(fields, route.keys, notes);
  read_upgrades(fields, around, route.keys, notes);
  if (fields.has("hash_policy")) read_hash_policy(fields.list("hash_policy"), route.keys, notes);
  fields.leave("cluster_header", "the cluster is known only from the request");
  if (const Tree* weighted = fields.take("weighted_clusters")) {
    read_weighted_clusters(*weighted, route, file);
  } else {
    const SourceLocation where = fields.place_of("cluster");
    set_cluster(fields.text("cluster"), where, route, file);
  }
  fields.leave("idle_timeout", "a call has one timeout, and stream_idle_timeout is the listener's");
  fields.leave("priority", "there is one priority here");
  fields.leave_rest();
}

void add_surroundings(const RouteSurroundings& around, RouteDraft& route, EnvoyImport& file) {
  if (!around.hosts.empty()) {
    route.keys.set("match.hosts", make_list(around.hosts, around.place));
  }
  if (around.filters == nullptr || route.keys.has("direct_response.status") ||
      route.keys.has("redirect.status")) {
    return;
  }
  FilterTerms of_host(file.notes);
  if (around.host != nullptr) {
    Fields host(*around.host, "the virtual host", file.notes);
    read_filter_overrides(host, of_host, file);
  }
  route.keys.add(of_host.keys);
  route.keys.add(around.filters->keys);
  route.calls.add(of_host.calls);
  route.calls.add(around.filters->calls);
  const bool keeps_nothing =
      route.keys.has("request_buffer") && route.keys.raw("request_buffer") == 0;
  if (keeps_nothing) route.keys.remove("request_buffering");
}

void read_edits(Fields& fields, const RouteSurroundings& around, PartDraft& route,
                EnvoyImport& file) {
  FieldEditsImport edits(file.notes);
  edits.read(fields);
  for (const Tree* outer : {around.host, around.route_config}) {
    if (outer == nullptr) continue;
    Fields level(*outer, "the virtual host", file.notes);
    edits.read(level);
  }
  edits.set(route);
}

// A route that forwards nothing has no keys about forwarding.
void drop_calls_of_own_response(RouteDraft& route, ImportNotes& notes) {
  if (!route.keys.has("direct_response.status") && !route.keys.has("redirect.status")) return;
  for (const std::string_view key :
       {"request_headers_to_add", "request_headers_to_set", "request_headers_to_remove", "upgrades",
        "host_rewrite", "prefix_rewrite"}) {
    route.keys.remove(key);
  }
  route.keys.drop("hash_policy");
  route.calls = policy::Draft(notes);
}

}  // namespace

void set_cluster(const std::string& name, SourceLocation place, RouteDraft& route,
                 EnvoyImport& file) {
  const auto known = file.terms.find(name);
  if (known != file.terms.end()) known->second.used = true;
  if (known == file.terms.end() || known->second.name.empty()) {
    file.notes.left_out(place, "the cluster " + text::in_quotes(name) +
                                   " is not imported: the route answers with 503, as in Envoy");
    route.keys.set("direct_response.status", 503, place);
    route.keys.set("direct_response.body", "no cluster", place);
    return;
  }
  route.keys.set("cluster", known->second.name, place);
  route.calls.add(known->second.calls);
}

bool read_route(const Tree& tree, const RouteSurroundings& around, EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "the route", notes);
  fields.skip({"metadata", "decorator", "stat_prefix"});
  const Tree* match = fields.take("match");
  RouteDraft route = file.make_route(name_of(fields, match, around), tree.place);
  const bool is_translated = match == nullptr || read_match(*match, route.keys, notes);
  const bool takes_all = !route.keys.has("match.path") && !route.keys.has("match.prefix") &&
                         !route.keys.has("match.methods") && !route.keys.has("match.headers");
  if (!is_translated) {
    notes.left_out(tree.place,
                   "the route is left out: requests that it takes in Envoy get one of "
                   "the routes after it, or 404");
    return false;
  }
  FilterTerms overrides(notes);
  read_filter_overrides(fields, overrides, file);
  route.keys.add(overrides.keys);
  route.calls.add(overrides.calls);
  if (const Tree* action = fields.take("route")) {
    read_action(*action, around, route, file);
  } else if (const Tree* redirect = fields.take("redirect")) {
    read_redirect(*redirect, route.keys, notes);
  } else if (const Tree* direct = fields.take("direct_response")) {
    read_direct_response(*direct, route.keys, notes);
  } else {
    notes.left_out(tree.place, "the route has no action that can be imported: it answers with 503");
    route.keys.set("direct_response.status", 503, tree.place);
  }
  read_edits(fields, around, route.keys, file);
  drop_calls_of_own_response(route, notes);
  for (const std::string_view field :
       {"per_request_buffer_limit_bytes", "request_body_buffer_limit"}) {
    if (const auto limit = fields.integer(field)) route.keys.set("request_buffer", *limit);
  }
  add_surroundings(around, route, file);
  fields.leave_rest();
  file.routes.push_back(std::move(route));
  return takes_all;
}

}  // namespace damper::proxy
