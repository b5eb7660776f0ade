#include "damper/proxy/import/import_hosts.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/policy/import/import_envoy_terms.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"
#include "damper/proxy/import/import_route.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;

// A virtual host, read once; its routes are read for each group of its domains.
struct Host {
  std::string name;
  const Tree* tree = nullptr;
  const RouteTable* table = nullptr;
  std::vector<std::string> domains;  // "" for *
  config::SourceLocation place;      // of the domains
  std::optional<policy::Draft> retries{};
  std::optional<config::SourceLocation> hedge{};
  std::span<const Tree> routes{};
};

// Domains of one host that are equally specific.
struct Group {
  std::size_t host = 0;
  std::vector<std::string> domains;
  std::size_t rank = 0;  // 0: exact; the shortest *.domain has the highest; the last: all
};

constexpr std::size_t kAnyRank = static_cast<std::size_t>(-1);
std::size_t rank_of(const std::string& domain) {
  if (domain.empty()) return kAnyRank;
  return domain.starts_with('*') ? 100'000 - std::min<std::size_t>(domain.size(), 99'999) : 0;
}

// A domain without its port, or why it has no equivalent.
std::optional<std::string> read_domain(const Tree& tree, ImportNotes& notes) {
  std::string text = tree.text;
  if (text == "*") return std::string();
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && text.find(']', colon) == std::string::npos) {
    notes.note_once(
        "ports of domains", tree.place,
        "hosts are matched without their port: that of " + text::in_quotes(text) + " is left out");
    text.resize(colon);
  }
  auto host = read_host(text);
  if (host) return *std::move(host);
  notes.left_out(tree.place,
                 "the domain " + text::in_quotes(tree.text) + " has no equivalent and is left out");
  return std::nullopt;
}

std::vector<std::string> read_domains(Fields& fields, const RouteTable& table, ImportNotes& notes) {
  std::vector<std::string> domains;
  const auto add = [&](std::string domain) {
    if (std::find(domains.begin(), domains.end(), domain) == domains.end()) {
      domains.push_back(std::move(domain));
    }
  };
  for (const Tree& tree : fields.list("domains")) {
    auto domain = read_domain(tree, notes);
    if (!domain) continue;
    if (!domain->empty() || table.server_names.empty()) {
      add(*std::move(domain));
      continue;
    }
    // All hosts of a chain that is selected by its names.
    for (const std::string& name : table.server_names) add(name);
    notes.note_once("server_names", tree.place,
                    "routes match the Host, not the server name of TLS: a client may send two that "
                    "differ");
  }
  return domains;
}

Host read_host(const Tree& tree, const RouteTable& table, ImportNotes& notes) {
  Fields fields(tree, "the virtual host", notes);
  Host host{
      .name = fields.text("name"), .tree = &tree, .table = &table, .domains = {}, .place = {}};
  host.place = fields.place_of("domains");
  host.domains = read_domains(fields, table, notes);
  if (const Tree* retries = fields.take("retry_policy")) {
    policy::read_envoy_retry_policy(*retries, host.retries.emplace(notes), notes);
  }
  if (const Tree* hedge = fields.take("hedge_policy")) {
    host.hedge = policy::read_envoy_hedge_policy(*hedge, notes);
  }
  host.routes = fields.list("routes");
  // These are read with each route.
  fields.skip({"typed_per_filter_config", "request_headers_to_add", "request_headers_to_remove",
               "response_headers_to_add", "response_headers_to_remove"});
  fields.leave("include_request_attempt_count", "damper-attempt is always sent");
  fields.leave("require_tls", "requests over plain TCP are not redirected, but forwarded");
  fields.leave_rest();
  return host;
}

std::vector<Host> read_hosts(const std::vector<RouteTable>& tables, ImportNotes& notes) {
  std::vector<Host> hosts;
  for (const RouteTable& table : tables) {
    Fields fields(*table.route_config, "the route configuration", notes);
    fields.skip({"@type", "name", "validate_clusters", "ignore_port_in_host_matching",
                 "request_headers_to_add", "request_headers_to_remove", "response_headers_to_add",
                 "response_headers_to_remove", "most_specific_header_mutations_wins"});
    for (const Tree& tree : fields.list("virtual_hosts")) {
      hosts.push_back(read_host(tree, table, notes));
    }
    fields.leave("vhds", "its virtual hosts are not in this file");
    fields.leave_rest();
  }
  return hosts;
}

bool has_any(const Host& host) {
  return std::find(host.domains.begin(), host.domains.end(), "") != host.domains.end();
}

// Neighbours of the same host become one: no other host is between them.
std::vector<Group> merged(std::vector<Group> groups) {
  std::vector<Group> result;
  for (Group& group : groups) {
    const bool fits = !result.empty() && result.back().host == group.host &&
                      (group.rank == kAnyRank ||
                       result.back().domains.size() + group.domains.size() <= kMostTexts);
    if (!fits) {
      result.push_back(std::move(group));
      continue;
    }
    Group& last = result.back();
    last.rank = group.rank;
    last.domains.insert(last.domains.end(), group.domains.begin(), group.domains.end());
  }
  return result;
}

std::vector<Group> groups_of(std::vector<Host>& hosts) {
  std::size_t with_patterns = 0;  // hosts that take more than exact domains
  for (const Host& host : hosts) {
    with_patterns += std::any_of(host.domains.begin(), host.domains.end(),
                                 [](const std::string& domain) { return rank_of(domain) > 0; })
                         ? 1U
                         : 0U;
  }
  std::vector<Group> groups;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (has_any(hosts[i]) && with_patterns == 1) hosts[i].domains = {""};  // It takes the rest.
    for (const std::string& domain : hosts[i].domains) {
      const std::size_t rank = rank_of(domain);
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
        return group.host == i && group.rank == rank && group.domains.size() < kMostTexts;
      });
      if (same != groups.end()) {
        same->domains.push_back(domain);
      } else {
        groups.push_back({i, {domain}, rank});
      }
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.rank < b.rank; });
  return merged(std::move(groups));
}

}  // namespace

void read_virtual_hosts(const std::vector<RouteTable>& tables, EnvoyImport& file) {
  std::vector<Host> hosts = read_hosts(tables, file.notes);
  const std::vector<Group> groups = groups_of(hosts);
  const bool more_than_exact = !groups.empty() && groups.back().rank > 0;
  for (const Group& group : groups) {
    const Host& host = hosts[group.host];
    RouteSurroundings around{.name = host.name, .hosts = {}, .place = host.place};
    if (group.rank != kAnyRank) around.hosts = group.domains;
    around.filters = host.table->filters;
    around.host = host.tree;
    around.route_config = host.table->route_config;
    around.retries = host.retries ? &*host.retries : nullptr;
    around.hedge = host.hedge;
    bool takes_all = false;
    for (const Tree& route : host.routes) {
      if (file.routes.size() > policy::kMostRoutes) break;  // Drafts says so.
      takes_all = read_route(route, around, file) || takes_all;
    }
    // A later host would take what is left.
    if (takes_all || group.rank == kAnyRank || !more_than_exact) continue;
    RouteDraft rest = file.make_route(host.name + ":rest", host.place);
    rest.keys.set("match.hosts", make_list(group.domains, host.place));
    rest.keys.set("direct_response.status", 404);
    file.routes.push_back(std::move(rest));
  }
}

}  // namespace damper::proxy
