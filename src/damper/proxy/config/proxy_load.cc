#include "damper/proxy/config/proxy_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/config/yaml_tree.h"
#include "damper/http/server/listen_address.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_check.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Error;
using config::Reader;
using config::Reading;
using config::SourceLocation;
using config::Tree;
using text::in_quotes;

constexpr std::array<std::string_view, 4> kPolicyWords = {"routes", "route", "dependencies",
                                                          "defaults"};
constexpr std::string_view kOnlyName = "default";

Tree scalar(std::string_view text, SourceLocation place) {
  Tree tree;
  tree.kind = Tree::Kind::scalar;
  tree.place = place;
  tree.text = text;
  return tree;
}
Tree map_at(SourceLocation place) {
  Tree tree;
  tree.kind = Tree::Kind::map;
  tree.place = place;
  return tree;
}
void put(Tree& map, const Tree& key, Tree value) {
  map.items.push_back(key);
  map.items.push_back(std::move(value));
}
const Tree* find(const Tree& map, std::string_view word) {
  for (std::size_t i = 0; map.is_map() && i < map.pairs(); ++i) {
    if (map.key(i).text == word) return &map.value(i);
  }
  return nullptr;
}

class Loader {
 public:
  Loader(std::string_view file, const Flags& flags) : flags_(flags) { config_.file = file; }

  [[nodiscard]] Expected<ProxyFile, Error> load(const Tree& top) {
    read_top(top);
    if (!first_) add_flags();
    if (!first_) complete_admin(find(top, "admin") != nullptr);
    read_routes(top);
    if (!first_) complete();
    if (!first_) first_ = find_error(config_, places_);
    if (first_) return unexpected(*std::move(first_));
    for (config::Note& note : notes_of(config_, places_, policies_)) {
      config_.notes.push_back(std::move(note));
    }
    config_.places = std::make_shared<const ProxyPlaces>(std::move(places_));
    return ProxyFile{std::move(config_), std::move(policies_)};
  }

  // For proxy_items_schema().
  template <class T>
  [[nodiscard]] std::optional<Error> read_items(Reader& reader, const config::Section& section,
                                                const Tree& word, const Tree& map,
                                                const config::Schema<T>& schema, std::size_t most,
                                                std::vector<T>& things,
                                                std::vector<Reading>& places) {
    return reader.read_named(
        section, word, map, most, policy::kName,
        [&](const Tree& name, const Tree& body) -> std::optional<Error> {
          T& thing = things.emplace_back();
          thing.name = name.text;
          const std::string called = std::string(schema.title()) + ' ' + name.text;
          return reader.read(schema, body, name.place, called, thing, &places.emplace_back());
        });
  }
  static std::optional<Error> read_listeners(Reader& reader, const config::Section& section,
                                             const Tree& word, const Tree& map, void*) {
    auto& self = reader.context<Loader>();
    return self.read_items(reader, section, word, map, listener_schema(), kMostListeners,
                           self.config_.listeners, self.places_.listeners);
  }
  static std::optional<Error> read_clusters(Reader& reader, const config::Section& section,
                                            const Tree& word, const Tree& map, void*) {
    auto& self = reader.context<Loader>();
    return self.read_items(reader, section, word, map, cluster_schema(), kMostClusters,
                           self.config_.clusters, self.places_.clusters);
  }

 private:
  // Of several errors the first in the file is reported.
  void fail(Error error) {
    const auto order = [](const Error& e) { return std::pair(e.place.line, e.place.column); };
    if (!first_ || order(error) < order(*first_)) first_ = std::move(error);
  }
  void fail(SourceLocation place, std::string sentence) {
    fail(Error{config_.file, place, std::move(sentence)});
  }

  void read_top(const Tree& top) {
    Reader reader(config_.file, &config_.notes, this);
    places_.proxy = Reading(proxy_schema(), top.place);
    Reading items(proxy_items_schema());
    const std::array<Reader::Target, 2> targets = {
        {{&proxy_items_schema(), &items}, {&proxy_schema(), &places_.proxy}}};
    if (auto wrong = reader.read(targets, top, top.place, "the file")) {
      return fail(*std::move(wrong));
    }
    proxy_schema().apply(places_.proxy, config_);
  }

  void fail_flag(std::string_view flag, std::string sentence) {
    fail(Error{std::string(flag), {}, std::move(sentence)});
  }
  void refuse(std::string_view flag, std::string_view forms, const std::string& text,
              const std::string& why) {
    fail_flag(flag, "must be " + std::string(forms) + ", not " + in_quotes(text) + ": " + why);
  }

  void add_flags() {
    if (!flags_.listen.empty() && !config_.listeners.empty()) {
      return fail_flag("--listen", "the file has listeners of its own: one of both is enough");
    }
    if (!flags_.to.empty() && !config_.clusters.empty()) {
      return fail_flag("--to", "the file has clusters of its own: one of both is enough");
    }
    if (!flags_.zone.empty()) add_zone();
    for (const std::string& text : flags_.listen) add_listen(text);
    if (!flags_.to.empty()) add_to();
    if (!flags_.admin.empty()) add_admin();
    if (first_) return;
    if (config_.listeners.empty()) {
      return fail({1, 1}, "the file has no listeners: say where to listen, or use --listen");
    }
    if (config_.clusters.empty()) {
      return fail({1, 1}, "the file has no clusters: say where requests go, or use --to");
    }
  }

  void add_listen(const std::string& text) {
    const auto address = http::parse_listener_address(text);
    if (!address) return refuse("--listen", http::kListenerAddressForms, text, address.error());
    if (config_.listeners.size() == kMostListeners) {
      return fail_flag("--listen",
                       "is given more than " + std::to_string(kMostListeners) + " times");
    }
    const std::size_t number = config_.listeners.size() + 1;
    config_.listeners.push_back(
        {.name = std::string(kOnlyName) + (number > 1 ? '-' + std::to_string(number) : ""),
         .address = address->host,
         .port = address->port});
    places_.listeners.emplace_back();
  }

  void add_to() {
    ClusterConfig cluster{.name = std::string(kOnlyName), .endpoints = {}};
    if (flags_.to.size() > balance::kMostReplicas) {
      return fail_flag("--to",
                       "is given more than " + std::to_string(balance::kMostReplicas) + " times");
    }
    for (const std::string& text : flags_.to) {
      auto endpoint = read_endpoint(text);
      if (!endpoint) return refuse("--to", kEndpointForms, text, endpoint.error());
      cluster.endpoints.push_back(*std::move(endpoint));
    }
    config_.clusters.push_back(std::move(cluster));
    places_.clusters.emplace_back();
  }

  void add_zone() {
    auto zone = policy::parse_name(flags_.zone);
    if (!zone) return refuse("--zone", policy::kNameForms, flags_.zone, zone.error());
    config_.zone = *std::move(zone);
  }

  void add_admin() {
    const auto address = http::parse_listen_address(flags_.admin);
    if (!address)
      return refuse("--admin", http::kListenAddressForms, flags_.admin, address.error());
    if (!config_.admin) config_.admin.emplace();
    config_.admin->address = address->host;
    config_.admin->port = address->port;
  }

  // Before the checks: the default admin address must not conflict with a listener either.
  void complete_admin(bool is_set) {
    if (!config_.admin && !is_set && flags_.default_admin) config_.admin.emplace();
    if (flags_.admin_off) config_.admin.reset();
    if (config_.admin && !flags_.token_file.empty()) config_.admin->token_file = flags_.token_file;
  }

  // A block of a route has the keys of a policy and those of route_schema().
  void read_routes(const Tree& top) {
    Tree routes = map_at(top.place);
    for (std::size_t i = 0; top.is_map() && i < top.pairs(); ++i) {
      const auto* const end = kPolicyWords.end();
      if (std::find(kPolicyWords.begin(), end, top.key(i).text) == end) continue;
      put(routes, top.key(i), top.value(i));
    }
    if (routes.pairs() == (find(routes, "defaults") != nullptr ? 1U : 0U)) {
      if (!first_ && config_.clusters.size() > 1) {
        return fail(top.place, "the file has no routes, and more than one cluster");
      }
      put(routes, scalar("route", {1, 1}), map_at({1, 1}));
    }
    std::vector<Reading> readings;
    auto policies =
        policy::load_part(routes, {1, 1}, "the file", config_.file, &route_schema(), &readings);
    if (!policies) return fail(policies.error());
    places_.defaults = std::move(readings.front());
    const std::size_t match = *route_schema().find_section("match");
    if (const auto& turn = places_.defaults.sections[match]) {
      return fail(turn->place, "match cannot stand in defaults: each route has its own");
    }
    for (std::size_t i = 0; i < policies->routes.size(); ++i) {
      const policy::Route& policy = policies->routes[i];
      const std::string name(policies->shape == "route" ? kOnlyName : policy.name);
      RouteConfig route{.name = name, .cluster = {}, .settings = policy.settings};
      route_schema().apply(places_.defaults, route);
      route_schema().apply(readings[i + 1], route);
      complete_clusters(readings[i + 1], route);
      config_.routes.push_back(std::move(route));
      places_.routes.push_back(std::move(readings[i + 1]));
    }
    for (config::Note& note : std::exchange(policies->notes, {})) {
      config_.notes.push_back(std::move(note));
    }
    policies_ = *std::move(policies);
  }

  // What a route itself names, cluster or weighted_clusters, replaces both of `defaults`.
  void complete_clusters(const Reading& own, RouteConfig& route) const {
    const bool names_one = own.keys[route_schema().position("cluster")].has_value();
    const bool names_several = own.keys[route_schema().position("weighted_clusters")].has_value();
    if (!route.forwards() || (names_several && !names_one)) route.cluster.clear();
    if (!route.forwards() || (names_one && !names_several)) route.weighted_clusters.clear();
    const bool names_none = route.cluster.empty() && route.weighted_clusters.empty();
    if (route.forwards() && names_none && config_.clusters.size() == 1) {
      route.cluster = config_.clusters[0].name;
    }
  }

  // Values that follow from others.
  void complete() {
    for (ClusterConfig& cluster : config_.clusters) {
      const bool h2 = cluster.protocol == http::Protocol::h2;
      cluster.pool.plain = h2 ? http::Protocol::h2 : http::Protocol::h1;
      cluster.tls.offer_h2 = cluster.protocol != http::Protocol::h1;
    }
  }

  const Flags& flags_;
  ProxyConfig config_;
  ProxyPlaces places_;
  policy::PolicyFile policies_;
  std::optional<Error> first_;
};

}  // namespace

const config::AnySchema& proxy_items_schema() {
  static const config::Schema<ProxyConfig> kSchema = [] {
    using Items = config::Section::Items;
    config::Schema<ProxyConfig> schema("items");
    schema.section({.path = "listeners",
                    .doc = "Listeners by name.",
                    .accepted = "a map from names to listeners",
                    .items = Items::named,
                    .element = [] { return config::Section::Schemas{&listener_schema()}; },
                    .read = Loader::read_listeners});
    schema.section({.path = "clusters",
                    .doc = "Clusters by name.",
                    .accepted = "a map from names to clusters",
                    .items = Items::named,
                    .element = [] { return config::Section::Schemas{&cluster_schema()}; },
                    .read = Loader::read_clusters});
    for (config::Section section : policy::file_schema().sections()) {
      section.element = [] {
        return config::Section::Schemas{&route_schema(), &policy::block_schema()};
      };
      section.read = [](Reader&, const config::Section&, const Tree&, const Tree&,
                        void*) -> std::optional<Error> { return std::nullopt; };  // read_routes()
      schema.section(section);
    }
    return schema;
  }();
  return kSchema;
}

bool is_proxy_file(const Tree& tree) {
  return find(tree, "listeners") != nullptr || find(tree, "clusters") != nullptr;
}

Expected<ProxyFile, Error> load_proxy_file(std::string_view text, std::string_view file,
                                           const Flags& flags) {
  Expected<Tree, Error> tree = config::parse_yaml(text, file);
  if (!tree) return unexpected(tree.error());
  if (tree->kind == Tree::Kind::null) *tree = map_at({1, 1});
  return Loader(file, flags).load(*tree);
}

Expected<ProxyConfig, Error> load_proxy(std::string_view text, std::string_view file,
                                        const Flags& flags) {
  auto loaded = load_proxy_file(text, file, flags);
  if (!loaded) return unexpected(loaded.error());
  return std::move(loaded->config);
}

std::string print_proxy(const ProxyConfig& config) {
  const auto named = [](const std::string& name) { return "  " + config::quoted(name) + ":\n"; };
  std::string out = proxy_schema().print(config, 0) + "listeners:\n";
  for (const ListenerConfig& listener : config.listeners) {
    out += named(listener.name) + listener_schema().print(listener, 4);
  }
  out += "clusters:\n";
  for (const ClusterConfig& cluster : config.clusters) {
    out += named(cluster.name) + cluster_schema().print(cluster, 4);
  }
  out += "routes:\n";
  for (const RouteConfig& route : config.routes) {
    out += named(route.name) + route_schema().print(route, 4) +
           policy::block_schema().print(route.settings, 4);
  }
  return out;
}

}  // namespace damper::proxy
