#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/proxy/import/import_route.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kCodes = {{
    {"MOVED_PERMANENTLY", 301},
    {"FOUND", 302},
    {"SEE_OTHER", 303},
    {"TEMPORARY_REDIRECT", 307},
    {"PERMANENT_REDIRECT", 308},
}};

struct Weight {
  std::string name;
  std::int64_t weight = 0;
  config::SourceLocation place;
};

constexpr std::int64_t kMostWeight = 1'000'000;       // of one cluster, here
constexpr std::int64_t kMostInEnvoy = 4'294'967'295;  // of all together, there

// Weights over the bound are divided, all by the same number.
void scale_weights(std::vector<Weight>& weights, config::SourceLocation place, ImportNotes& notes) {
  std::int64_t most = 0;
  for (const Weight& one : weights) most = std::max(most, one.weight);
  if (most <= kMostWeight) return;
  for (Weight& one : weights) {
    const double share = static_cast<double>(one.weight) / static_cast<double>(most);
    one.weight = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(kMostWeight)));
  }
  notes.note(place,
             "the weights are divided so that the largest is " + std::to_string(kMostWeight));
}

std::vector<Weight> read_weights(const Tree& tree, ImportNotes& notes) {
  Fields fields(tree, "weighted_clusters", notes);
  std::vector<Weight> weights;
  for (const Tree& one : fields.list("clusters")) {
    Fields inner(one, "weighted_clusters", notes);
    Weight weight{.name = inner.text("name"), .weight = 0, .place = one.place};
    weight.weight = inner.integer("weight", 0).value;
    inner.leave_rest();
    const auto same = std::find_if(weights.begin(), weights.end(),
                                   [&](const Weight& other) { return other.name == weight.name; });
    weight.weight = std::min(weight.weight, kMostInEnvoy);
    if (weight.weight == 0) continue;
    if (same == weights.end()) {
      weights.push_back(weight);
    } else {
      same->weight = std::min(same->weight + weight.weight, kMostInEnvoy);
    }
  }
  fields.skip({"total_weight", "runtime_key_prefix", "use_hash_policy"});
  fields.leave_rest();
  scale_weights(weights, tree.place, notes);
  return weights;
}

// weighted_clusters: [{cluster: NAME, weight: 9}]
Tree tree_of(const std::vector<Weight>& weights, const EnvoyImport& file,
             config::SourceLocation place) {
  Tree list = make_list({}, place);
  for (const Weight& one : weights) {
    const auto known = file.terms.find(one.name);
    if (known == file.terms.end() || known->second.name.empty()) continue;
    list.items.push_back(make_map(
        {{"cluster", known->second.name}, {"weight", std::to_string(one.weight)}}, one.place));
  }
  return list;
}

}  // namespace

void read_weighted_clusters(const Tree& tree, RouteDraft& route, EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  const std::vector<Weight> weights = read_weights(tree, notes);
  for (const Weight& one : weights) {
    if (const auto known = file.terms.find(one.name); known != file.terms.end()) {
      known->second.used = true;
    }
  }
  const auto is_imported = [&](const Weight& one) {
    const auto known = file.terms.find(one.name);
    return known != file.terms.end() && !known->second.name.empty();
  };
  const auto most =
      std::max_element(weights.begin(), weights.end(), [&](const Weight& a, const Weight& b) {
        return std::pair(is_imported(a), a.weight) < std::pair(is_imported(b), b.weight);
      });
  if (most == weights.end()) return set_cluster("", tree.place, route, file);
  Tree list = tree_of(weights, file, tree.place);
  if (list.items.size() < weights.size()) {
    notes.left_out(tree.place,
                   "a cluster of weighted_clusters is not imported: the others have "
                   "its share");
  }
  if (list.items.size() > 1) route.keys.set("weighted_clusters", list);
  if (route.keys.has("weighted_clusters")) {
    route.calls.add(file.terms.find(most->name)->second.calls);
    return;
  }
  if (weights.size() > 1) {
    notes.left_out(tree.place,
                   "weighted_clusters cannot be imported: the cluster with the most "
                   "weight, " +
                       text::in_quotes(most->name) + ", gets all requests");
  }
  set_cluster(most->name, most->place, route, file);
}

void read_hash_policy(std::span<const Tree> policies, PartDraft& route, ImportNotes& notes) {
  bool is_first = true;
  for (const Tree& policy : policies) {
    if (!is_first) {
      notes.left_out(policy.place, "a route has one hash_policy: this one is left out");
      continue;
    }
    is_first = false;
    Fields fields(policy, "hash_policy", notes);
    fields.skip({"terminal"});
    if (const Tree* header = fields.take("header")) {
      Fields inner(*header, "header", notes);
      route.set("hash_policy.header", inner.text("header_name"), header->place);
      inner.leave_rest();
    } else if (const Tree* cookie = fields.take("cookie")) {
      Fields inner(*cookie, "cookie", notes);
      route.set("hash_policy.cookie", inner.text("name"), cookie->place);
      const auto lifetime = inner.duration("ttl");
      const Tree* path = inner.take("path");
      if (lifetime) route.set("hash_policy.ttl", *lifetime);
      if (lifetime && path != nullptr) route.set("hash_policy.path", *path);
      inner.leave_rest();
    } else if (const Tree* connection = fields.take("connection_properties")) {
      Fields inner(*connection, "connection_properties", notes);
      if (inner.is_true("source_ip")) {
        route.set("hash_policy.client_address", "true", connection->place);
      }
      inner.leave_rest();
    }
    fields.leave_rest();
  }
  const bool has_key = route.has("hash_policy.header") || route.has("hash_policy.cookie") ||
                       route.has("hash_policy.client_address");
  if (!has_key) route.drop("hash_policy");
}

void read_redirect(const Tree& tree, PartDraft& route, ImportNotes& notes) {
  Fields fields(tree, "redirect", notes);
  const auto https = fields.boolean("https_redirect");
  if (https && https->value) route.set("redirect.scheme", "https", https->place);
  if (const Tree* scheme = fields.take("scheme_redirect")) route.set("redirect.scheme", *scheme);
  const config::SourceLocation place = fields.place_of("host_redirect");
  std::string host = fields.text("host_redirect");
  const auto port = fields.integer("port_redirect");
  if (port && host.empty()) {
    notes.left_out(port->place, "port_redirect without host_redirect has no equivalent");
  } else if (port) {
    host += ':' + std::to_string(port->value);
  }
  if (!host.empty()) route.set("redirect.host", host, place);
  if (const Tree* path = fields.take("path_redirect")) route.set("redirect.path", *path);
  if (const Tree* prefix = fields.take("prefix_rewrite"); prefix != nullptr) {
    if (route.has("match.path") || route.has("redirect.path")) {
      notes.left_out(prefix->place, "prefix_rewrite of a route with a path has no equivalent");
    } else {
      if (!route.has("match.prefix")) route.set("match.prefix", "/", prefix->place);
      route.set("redirect.prefix", *prefix);
    }
  }
  fields.leave("regex_rewrite", "a path is rewritten by its prefix alone");
  const Tree* code = fields.take("response_code");
  const auto* const known = std::find_if(kCodes.begin(), kCodes.end(), [&](const auto& row) {
    return code != nullptr && row.first == code->text;
  });
  route.set("redirect.status", known == kCodes.end() ? 301 : known->second,
            code == nullptr ? config::SourceLocation{} : code->place);
  if (const auto strips = fields.boolean("strip_query"); strips && strips->value) {
    route.set("redirect.strip_query", "true", strips->place);
  }
  fields.leave_rest();
  const bool leads_elsewhere = route.has("redirect.scheme") || route.has("redirect.host") ||
                               route.has("redirect.path") || route.has("redirect.prefix");
  if (!leads_elsewhere) {
    notes.left_out(tree.place, "the redirect cannot be imported: the route answers with 503");
    route.drop("redirect");
    route.set("direct_response.status", 503, tree.place);
  }
}

}  // namespace damper::proxy
