#include "damper/proxy/config/proxy_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/config/yaml_tree.h"
#include "damper/proxy/config/listen_address.h"
#include "damper/proxy/config/proxy_check.h"
#include "damper/proxy/config/proxy_reader.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Error;
using config::SourceLocation;
using config::Tree;
using text::in_quotes;
using text::joined;

constexpr std::array<std::string_view, 2> kProxyMaps = {"listeners", "clusters"};
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
    if (!first_) read_routes(top);
    if (!first_) complete();
    if (!first_) first_ = find_error(config_, places_);
    if (first_) return unexpected(*std::move(first_));
    for (config::Note& note : notes_of(config_, places_)) config_.notes.push_back(std::move(note));
    return ProxyFile{std::move(config_), std::move(policies_)};
  }

 private:
  // Of several errors the one that stands first in the file is told.
  void fail(Error error) {
    const auto order = [](const Error& e) { return std::pair(e.place.line, e.place.column); };
    if (!first_ || order(error) < order(*first_)) first_ = std::move(error);
  }
  void fail(SourceLocation place, std::string sentence) {
    fail(Error{config_.file, place, std::move(sentence)});
  }
  void keep(std::optional<Error> wrong) {
    if (wrong) fail(*std::move(wrong));
  }

  void read_top(const Tree& top) {
    const std::vector<std::string_view> own = proxy_words(Thing::proxy, "");
    std::vector<std::string_view> words(kProxyMaps.begin(), kProxyMaps.end());
    words.insert(words.end(), kPolicyWords.begin(), kPolicyWords.end());
    words.insert(words.end(), own.begin(), own.end());
    if (!top.is_map()) {
      return fail(top.place, "the file must be a map of keys (accepted: " + joined(words) + ")");
    }
    for (std::size_t i = 0; i < top.pairs(); ++i) {
      const Tree& key = top.key(i);
      if (std::find(words.begin(), words.end(), key.text) != words.end()) continue;
      return fail(key.place, "unknown key " + in_quotes(key.text) + " at the top of the file" +
                                 text::suggestion(key.text, words) +
                                 " (accepted: " + joined(words) + ")");
    }
    places_.proxy.place = top.place;
    keep(read_thing(Thing::proxy, {.proxy = &config_}, split(top, own).among, top.place, "the file",
                    config_.file, places_.proxy));
    for (std::size_t i = 0; i < top.pairs(); ++i) {
      if (top.key(i).text == "listeners") read_listeners(top.key(i), top.value(i));
      if (top.key(i).text == "clusters") read_clusters(top.key(i), top.value(i));
    }
  }

  // Whether it is a map from names to things; says what is wrong when it is not.
  bool is_map_of_things(const Tree& key, const Tree& map, std::size_t most) {
    if (!map.is_map() || map.pairs() == 0) {
      fail(key.place, key.text + " must be a map from names to " + key.text);
      return false;
    }
    if (map.pairs() > most) {
      fail(key.place, key.text + " has more than " + std::to_string(most) + " of them");
      return false;
    }
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      if (read_name(map.key(i).text)) continue;
      fail(map.key(i).place,
           "a name must be " + std::string(kNameForms) + ", not " + in_quotes(map.key(i).text));
      return false;
    }
    return true;
  }

  void read_listeners(const Tree& key, const Tree& map) {
    if (!is_map_of_things(key, map, kMostListeners)) return;
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      ListenerConfig listener{.name = map.key(i).text};
      Said said{.place = map.key(i).place};
      const std::string called = "listener " + listener.name;
      if (auto wrong = read_thing(Thing::listener, {.listener = &listener}, map.value(i),
                                  said.place, called, config_.file, said)) {
        fail(*std::move(wrong));
      } else if (said.at(Thing::listener, "address") == said.place) {
        fail(said.place, called + " has no address");
      }
      config_.listeners.push_back(std::move(listener));
      places_.listeners.push_back(std::move(said));
    }
  }

  void read_clusters(const Tree& key, const Tree& map) {
    if (!is_map_of_things(key, map, kMostClusters)) return;
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      ClusterConfig cluster{.name = map.key(i).text, .endpoints = {}};
      Said said{.place = map.key(i).place};
      keep(read_thing(Thing::cluster, {.cluster = &cluster}, map.value(i), said.place,
                      "cluster " + cluster.name, config_.file, said));
      config_.clusters.push_back(std::move(cluster));
      places_.clusters.push_back(std::move(said));
    }
  }

  void fail_flag(std::string_view flag, std::string sentence) {
    fail(Error{std::string(flag), {}, std::move(sentence)});
  }

  void add_flags() {
    if (!flags_.listen.empty() && !config_.listeners.empty()) {
      return fail_flag("--listen", "the file has listeners of its own: one of both is enough");
    }
    if (!flags_.to.empty() && !config_.clusters.empty()) {
      return fail_flag("--to", "the file has clusters of its own: one of both is enough");
    }
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
    const auto address = parse_listen_address(text);
    if (!address) {
      return fail_flag("--listen", "must be " + std::string(kListenAddressForms) + ", not " +
                                       in_quotes(text) + ": " + address.error());
    }
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
    if (flags_.to.size() > http::kMostReplicas) {
      return fail_flag("--to",
                       "is given more than " + std::to_string(http::kMostReplicas) + " times");
    }
    for (const std::string& text : flags_.to) {
      auto endpoint = read_endpoint(text);
      if (!endpoint) {
        return fail_flag("--to", "must be " + std::string(kEndpointForms) + ", not " +
                                     in_quotes(text) + ": " + endpoint.error());
      }
      cluster.endpoints.push_back(*std::move(endpoint));
    }
    config_.clusters.push_back(std::move(cluster));
    places_.clusters.emplace_back();
  }

  void add_admin() {
    const auto address = parse_listen_address(flags_.admin);
    if (!address) {
      return fail_flag("--admin", "must be " + std::string(kListenAddressForms) + ", not " +
                                      in_quotes(flags_.admin) + ": " + address.error());
    }
    if (!config_.admin) config_.admin.emplace();
    config_.admin->address = address->host;
    config_.admin->port = address->port;
  }

  // Before it is checked: also what nobody wrote must not be in the way of a listener.
  void complete_admin(bool said) {
    if (!config_.admin && !said && flags_.default_admin) config_.admin.emplace();
    if (flags_.admin_off) config_.admin.reset();
    if (config_.admin && !flags_.token_file.empty()) config_.admin->token_file = flags_.token_file;
  }

  // The routes' blocks are of two halves: policy/ reads the one, with the words of the other at
  // hand for its errors, and the table of proxy_schema.h is for the other.
  void read_routes(const Tree& top) {
    const std::vector<std::string_view> words = proxy_words(Thing::route, "");
    Tree halves = map_at(top.place);
    const Tree nothing = map_at({1, 1});
    const Tree* defaults = find(top, "defaults");
    const Tree* routes = nullptr;
    for (std::size_t i = 0; i < top.pairs(); ++i) {
      const Tree& key = top.key(i);
      if (std::find(kPolicyWords.begin(), kPolicyWords.end(), key.text) == kPolicyWords.end()) {
        continue;
      }
      const bool several = key.text == "routes" || key.text == "dependencies";
      put(halves, key,
          several ? policy_halves(top.value(i), words) : split(top.value(i), words).others);
      if (key.text != "defaults") routes = &top.value(i);
    }
    if (routes == nullptr) {
      if (config_.clusters.size() > 1) {
        return fail(top.place, "the file has no routes, and more than one cluster to go to");
      }
      put(halves, scalar("route", {1, 1}), nothing);
      routes = &nothing;
    }
    auto policies = policy::load_part(halves, {1, 1}, "the file", config_.file, words);
    if (!policies) fail(policies.error());
    const bool one = policies ? policies->shape == "route" : find(halves, "route") != nullptr;
    if (one)
      add_route(kOnlyName, defaults, *routes,
                policies ? policies->routes[0].place : SourceLocation{});
    for (std::size_t i = 0; !one && routes->is_map() && i < routes->pairs(); ++i) {
      add_route(routes->key(i).text, defaults, routes->value(i), routes->key(i).place);
    }
    if (first_) return;
    for (std::size_t i = 0; i < config_.routes.size(); ++i) {
      config_.routes[i].settings = policies->routes[i].settings;
    }
    config_.notes = std::exchange(policies->notes, {});
    policies_ = *std::move(policies);
  }

  static Tree policy_halves(const Tree& routes, std::span<const std::string_view> words) {
    if (!routes.is_map()) return routes;
    Tree halves = map_at(routes.place);
    for (std::size_t i = 0; i < routes.pairs(); ++i) {
      put(halves, routes.key(i), split(routes.value(i), words).others);
    }
    return halves;
  }

  void add_route(std::string_view name, const Tree* defaults, const Tree& tree,
                 SourceLocation place) {
    const std::vector<std::string_view> words = proxy_words(Thing::route, "");
    RouteConfig route{.name = std::string(name), .cluster = {}};
    Said said{.place = place};
    const Subject subject{.route = &route};
    if (defaults != nullptr) {
      if (const Tree* match = find(*defaults, "match")) {
        return fail(match->place, "match cannot stand in defaults: each route has its own");
      }
      keep(read_thing(Thing::route, subject, split(*defaults, words).among, place, "defaults",
                      config_.file, said));
    }
    keep(read_thing(Thing::route, subject, split(tree, words).among, place, name, config_.file,
                    said));
    if (route.cluster.empty() && config_.clusters.size() == 1) {
      route.cluster = config_.clusters[0].name;
    }
    config_.routes.push_back(std::move(route));
    places_.routes.push_back(std::move(said));
  }

  // What follows from what was said.
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

Expected<ProxyConfig, Error> load_proxy(std::string_view text, std::string_view file) {
  return load_proxy(text, file, {});
}

}  // namespace damper::proxy
