#include "damper/policy/import/importers.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/policy/import/import_envoy_terms.h"
#include "damper/policy/import/import_terms.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kEnvoy = "Envoy";

void read_outliers(const config::Tree& tree, config::SourceLocation place, Draft& draft,
                   ImportNotes& notes) {
  Fields fields(tree, "outlier_detection", notes);
  Ejection ejection;
  const Placed<std::int64_t> any = fields.integer("consecutive_5xx", 5);
  const auto gateway = fields.integer("consecutive_gateway_failure");
  ejection.consecutive = any;
  if (!enforces(fields, "enforcing_consecutive_5xx", 100, notes)) ejection.consecutive.value = 0;
  const bool counts_gateway = enforces(fields, "enforcing_consecutive_gateway_failure", 0, notes);
  if (counts_gateway && gateway) {
    const bool sooner =
        ejection.consecutive.value == 0 || gateway->value < ejection.consecutive.value;
    if (sooner) ejection.consecutive = *gateway;
    notes.note(gateway->place,
               "consecutive_gateway_failure is joined with consecutive_5xx: failures in a row of "
               "any kind count, and the lower number holds");
  } else if (gateway) {
    notes.note(gateway->place,
               "consecutive_gateway_failure ejects nothing in Envoy unless "
               "enforcing_consecutive_gateway_failure is over 0; it is left out");
  }
  ejection.interval = fields.duration("interval", ejection.interval.value);
  ejection.base = fields.duration("base_ejection_time", ejection.base.value);
  ejection.most = fields.duration("max_ejection_time");
  const Placed<std::int64_t> percent = fields.integer("failure_percentage_threshold", 85);
  ejection.failure_volume = fields.integer("failure_percentage_request_volume", 50);
  if (enforces(fields, "enforcing_failure_percentage", 0, notes)) {
    ejection.failure_percent = percent;
  } else if (percent.place.line > 0) {
    notes.note(percent.place,
               "failure_percentage_threshold ejects nothing in Envoy unless "
               "enforcing_failure_percentage is over 0; it is left out");
  }
  set_ejection(draft, ejection, place, notes);
  fields.leave("max_ejection_percent", "there are no hosts here, only the dependency");
  fields.leave_rest();
}

struct Cluster {
  std::string name;
  config::SourceLocation place;
  Draft draft;
};

// Reads a cluster: the values of all calls to it, which are added to those of its routes. A field
// that is not set has Envoy's default.
Cluster read_cluster(const config::Tree& tree, ImportNotes& notes) {
  Fields fields(tree, "the cluster", notes);
  Cluster cluster{.name = fields.text("name"), .place = tree.place, .draft = Draft(notes)};
  fields.skip({"@type"});
  if (const config::Tree* breakers = fields.take("circuit_breakers")) {
    read_envoy_circuit_breakers(*breakers, cluster.draft, notes);
  }
  if (const config::Tree* outliers = fields.take("outlier_detection")) {
    read_outliers(*outliers, fields.place_of("outlier_detection"), cluster.draft, notes);
  }
  if (!cluster.draft.has("concurrency_limit.initial")) {  // No thresholds.
    cluster.draft.add(default_envoy_cluster(tree.place, notes));
  }
  fields.leave("connect_timeout", "connecting is the transport's; per_try_timeout bounds both");
  fields.leave_rest();
  return cluster;
}

class Importer {
 public:
  Importer(Drafts& drafts, ImportNotes& notes) : drafts_(drafts), notes_(notes) {}

  // Finds the clusters first: routes, which come before them in most files, need them.
  void read(std::span<const config::Tree> documents) {
    for (const config::Tree& document : documents) read_resource(document, true);
    for (const config::Tree& document : documents) read_resource(document, false);
    for (const auto& [name, cluster] : clusters_) {
      if (used_.contains(name)) continue;
      Draft draft = cluster.draft;
      draft.set("retry_policy.num_retries", 0);
      draft.set("timeout", 15s);
      drafts_.add(name, cluster.place, draft);
      notes_.note(cluster.place, "no route in this file leads to cluster " + text::in_quotes(name) +
                                     ": it is imported as one that Envoy does not retry");
    }
  }

 private:
  struct Host {
    std::string name;
    std::optional<Draft> retries;
    std::optional<config::SourceLocation> hedge;
  };

  // What a map is, by its fields. Each pass notes only what is its own: clusters, or all others.
  void read_resource(const config::Tree& tree, bool clusters) {
    if (tree.kind == config::Tree::Kind::null) return;
    ImportNotes silent("");
    Fields fields(tree, "the file", clusters ? silent : notes_);
    if (clusters && !tree.is_map()) return;
    if (fields.has("cluster_name") && fields.has("endpoints")) {
      if (!clusters) notes_.note(tree.place, "endpoints have no equivalent and are left out");
      return;
    }
    constexpr std::array<std::string_view, 4> kOfClusters = {
        "circuit_breakers", "outlier_detection", "load_assignment", "lb_policy"};
    const bool is_cluster = std::any_of(kOfClusters.begin(), kOfClusters.end(),
                                        [&](std::string_view field) { return fields.has(field); });
    if (is_cluster) {
      if (clusters) add_cluster(tree);
      return;
    }
    if (!clusters && (fields.has("routes") || fields.has("domains"))) return read_host(tree);
    if (!clusters && fields.has("virtual_hosts")) return read_route_config(tree);
    if (!clusters && fields.has("filter_chains")) return read_listener(tree);
    for (const std::string_view field : {"static_resources", "resource"}) {
      if (const config::Tree* inner = fields.take(field)) read_resource(*inner, clusters);
    }
    for (const config::Tree& inner : fields.list("resources")) read_resource(inner, clusters);
    for (const config::Tree& cluster : fields.list("clusters")) {
      if (clusters) add_cluster(cluster);
    }
    for (const config::Tree& listener : fields.list("listeners")) {
      if (!clusters) read_listener(listener);
    }
    if (const config::Tree* routes = fields.take("route_config"); routes != nullptr && !clusters) {
      read_route_config(*routes);
    }
    fields.skip({"@type", "name", "version_info", "type_url"});
    if (!clusters) fields.leave_rest();
  }

  void add_cluster(const config::Tree& tree) {
    if (!drafts_.has_room(clusters_.size(), tree.place)) return;
    Cluster cluster = read_cluster(tree, notes_);
    clusters_.emplace(cluster.name, std::move(cluster));
  }

  void read_listener(const config::Tree& tree) {
    Fields fields(tree, "the listener", notes_);
    fields.skip({"@type", "name", "stat_prefix"});
    for (const config::Tree& chain : fields.list("filter_chains")) read_chain(chain);
    if (const config::Tree* chain = fields.take("default_filter_chain")) read_chain(*chain);
    fields.leave_rest();
  }

  void read_chain(const config::Tree& tree) {
    Fields fields(tree, "the filter chain", notes_);
    fields.skip({"name"});
    for (const config::Tree& filter : fields.list("filters")) read_filter(filter);
    fields.leave_rest();
  }

  // Only the HTTP connection manager has routes.
  void read_filter(const config::Tree& tree) {
    Fields filter(tree, "the filter", notes_);
    const std::string name = filter.text("name");
    const config::Tree* config = filter.take("typed_config");
    filter.leave_rest();
    if (config == nullptr) return;
    Fields fields(*config, "the connection manager", notes_);
    if (!fields.has("route_config") && !fields.has("rds") && !fields.has("http_filters")) {
      notes_.note(tree.place, "filter " + text::in_quotes(name) + " has no routes and is left out");
      return;
    }
    fields.skip({"@type", "stat_prefix"});
    if (const config::Tree* routes = fields.take("route_config")) read_route_config(*routes);
    fields.leave("rds", "its routes are not in this file; import what it serves");
    fields.leave_rest();
  }

  void read_route_config(const config::Tree& tree) {
    Fields fields(tree, "the route configuration", notes_);
    fields.skip({"@type", "name"});
    for (const config::Tree& host : fields.list("virtual_hosts")) read_host(host);
    fields.leave_rest();
  }

  void read_host(const config::Tree& tree) {
    Fields fields(tree, "the virtual host", notes_);
    Host host;
    host.name = fields.text("name");
    fields.skip({"@type", "domains"});
    if (const config::Tree* retries = fields.take("retry_policy")) {
      read_envoy_retry_policy(*retries, host.retries.emplace(notes_), notes_);
    }
    if (const config::Tree* hedge = fields.take("hedge_policy")) {
      host.hedge = read_envoy_hedge_policy(*hedge, notes_);
    }
    for (const config::Tree& route : fields.list("routes")) read_route(route, host);
    fields.leave("include_request_attempt_count", "damper-attempt is always sent");
    fields.leave_rest();
  }

  void read_route(const config::Tree& tree, const Host& host) {
    Fields fields(tree, "the route", notes_);
    std::string name = fields.text("name");
    if (const config::Tree* match = fields.take("match"); match != nullptr && name.empty()) {
      ImportNotes silent("");  // Which requests they are is not for a policy to say.
      Fields inner(*match, "match", silent);
      name = host.name;
      for (const std::string_view path : {"prefix", "path", "path_separated_prefix"}) {
        name += inner.text(path);
      }
    }
    if (name.empty()) name = host.name;
    if (const config::Tree* action = fields.take("route")) {
      read_action(*action, name, tree.place, host);
    } else {
      for (const std::string_view field :
           {"redirect", "direct_response", "non_forwarding_action"}) {
        fields.leave(field, "no call is made, so this route is left out");
      }
    }
    fields.leave_rest();
  }

  void read_action(const config::Tree& tree, const std::string& name, config::SourceLocation place,
                   const Host& host) {
    Fields fields(tree, "the route", notes_);
    Draft draft(notes_);
    if (const auto timeout = fields.duration("timeout")) {
      set_timeout(draft, timeout, timeout->place, kEnvoy, notes_);
    } else {
      draft.set("timeout", 15s);
      notes_.note_once("timeout 15s", place, "without a timeout Envoy gives a request 15s");
    }
    if (const config::Tree* retries = fields.take("retry_policy")) {
      read_envoy_retry_policy(*retries, draft, notes_);
    } else if (host.retries) {
      draft.add(*host.retries);
    } else {
      draft.set("retry_policy.num_retries", 0);
      notes_.note_once("no_retries", place,
                       "without a retry_policy Envoy does not retry: num_retries becomes 0");
    }
    const config::Tree* hedge = fields.take("hedge_policy");
    const auto hedges = hedge == nullptr ? host.hedge : read_envoy_hedge_policy(*hedge, notes_);
    if (hedges) hedge_at_timeout(draft, *hedges, notes_);
    draft.add(cluster_of(fields, place));
    fields.leave("idle_timeout", "a call has one timeout, for all of it");
    fields.leave("priority", "there is one priority here");
    fields.leave_rest();
    drafts_.add(name, place, draft);
  }

  Draft cluster_of(Fields& fields, config::SourceLocation place) {
    std::string name = fields.text("cluster");
    config::SourceLocation where = fields.place_of("cluster");
    if (const config::Tree* weighted = fields.take("weighted_clusters")) {
      Fields inner(*weighted, "weighted_clusters", notes_);
      const auto clusters = inner.list("clusters");
      ImportNotes silent("");
      for (const config::Tree& each : clusters) used_.insert(Fields(each, "", silent).text("name"));
      if (!clusters.empty()) name = Fields(clusters.front(), "", silent).text("name");
      where = fields.place_of("weighted_clusters");
      notes_.note(where,
                  "weighted_clusters has no equivalent: the route has what its first "
                  "cluster says, " +
                      text::in_quotes(name));
    }
    fields.leave("cluster_header", "the cluster is known only from the request");
    used_.insert(name);
    const auto known = clusters_.find(name);
    if (known != clusters_.end()) return known->second.draft;
    if (!name.empty()) {
      notes_.note_once("cluster " + name, where,
                       "cluster " + text::in_quotes(name) +
                           " is not in this file: Envoy's defaults for a cluster hold, 3 retries "
                           "and 1024 requests under way");
    }
    return default_envoy_cluster(place, notes_);
  }

  Drafts& drafts_;
  ImportNotes& notes_;
  std::map<std::string, Cluster> clusters_;
  std::set<std::string> used_;  // clusters to which a route leads
};

}  // namespace

void import_envoy(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes) {
  Importer(drafts, notes).read(documents);
}

}  // namespace damper::policy
