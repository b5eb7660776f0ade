#include "damper/proxy/import/import_listener.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/http/server/listen_address.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"
#include "damper/proxy/import/field_table.h"
#include "damper/proxy/import/import_hosts.h"
#include "damper/proxy/import/import_manager.h"
#include "damper/proxy/import/import_tls.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;

// The connection manager of a filter chain; null if it has none with routes in the file.
const Tree* find_manager(const Tree& chain) {
  const Tree* filters = find_field(chain, "filters");
  if (filters == nullptr || filters->kind != Tree::Kind::sequence) return nullptr;
  for (const Tree& filter : filters->items) {
    const Tree* config = find_field(filter, "typed_config");
    if (config != nullptr && find_field(*config, "route_config") != nullptr) return config;
  }
  return nullptr;
}

std::vector<const Tree*> chains_of(const Tree& listener) {
  std::vector<const Tree*> chains;
  const Tree* list = find_field(listener, "filter_chains");
  if (list != nullptr && list->kind == Tree::Kind::sequence) {
    for (const Tree& chain : list->items) chains.push_back(&chain);
  }
  if (const Tree* chain = find_field(listener, "default_filter_chain")) chains.push_back(chain);
  return chains;
}

std::vector<const Tree*> routing_of_manager(const Tree& manager) {
  return {find_field(manager, "route_config"), find_field(manager, "http_filters"),
          find_field(manager, "upgrade_configs")};
}

bool are_alike(const std::vector<const Tree*>& a, const std::vector<const Tree*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tree* x, const Tree* y) {
    return x == nullptr || y == nullptr ? x == y : same_content(*x, *y);
  });
}

// What decides about a request: two listeners are alike if these are the same.
std::vector<const Tree*> routing_of(const Tree& listener) {
  std::vector<const Tree*> parts;
  for (const Tree* chain : chains_of(listener)) {
    const Tree* manager = find_manager(*chain);
    if (manager == nullptr) continue;
    const Tree* match = find_field(*chain, "filter_chain_match");
    parts.push_back(match == nullptr ? nullptr : find_field(*match, "server_names"));
    const std::vector<const Tree*> own = routing_of_manager(*manager);
    parts.insert(parts.end(), own.begin(), own.end());
  }
  return parts;
}

// Whether a route of the listener leads to a cluster.
bool forwards(const Tree& listener) {
  for (const Tree* chain : chains_of(listener)) {
    const Tree* manager = find_manager(*chain);
    const Tree* table = manager == nullptr ? nullptr : find_field(*manager, "route_config");
    const Tree* hosts = table == nullptr ? nullptr : find_field(*table, "virtual_hosts");
    if (hosts == nullptr || hosts->kind != Tree::Kind::sequence) continue;
    for (const Tree& host : hosts->items) {
      const Tree* routes = find_field(host, "routes");
      if (routes == nullptr || routes->kind != Tree::Kind::sequence) continue;
      for (const Tree& route : routes->items) {
        if (find_field(route, "route") != nullptr) return true;
      }
    }
  }
  return false;
}

// Network filters that refuse connections: without them more clients reach the proxy.
constexpr std::array<std::string_view, 4> kGuards = {"rbac", "ext_authz", "local_ratelimit",
                                                     "ratelimit"};

std::string left_out_filter(const std::string& name) {
  const std::string_view leaf = std::string_view(name).substr(name.rfind('.') + 1);
  const bool guards = std::find(kGuards.begin(), kGuards.end(), leaf) != kGuards.end();
  return "the filter " + text::in_quotes(name) + " has no equivalent and is left out" +
         (guards ? ": connections that it refuses are accepted" : "");
}

class ListenerReader {
 public:
  ListenerReader(PartDraft& draft, std::deque<FilterTerms>& terms, EnvoyImport& file)
      : draft_(draft), terms_(terms), file_(file), notes_(file.notes) {}

  // False, with a note, if nothing is left of the listener.
  [[nodiscard]] bool read(const Tree& tree) {
    Fields fields(tree, "the listener", notes_);
    fields.skip({"@type", "name", "stat_prefix", "traffic_direction", "listener_filters_timeout",
                 "enable_reuse_port", "reuse_port", "bind_to_port"});
    if (!read_listener_address(fields, tree)) return false;
    const std::array<FieldRow, 1> rows = {
        {{"per_connection_buffer_limit_bytes", "per_connection_buffer_limit_bytes", As::integer}}};
    take_rows(fields, rows, draft_, notes_);
    for (const Tree& filter : fields.list("listener_filters")) read_listener_filter(filter);
    for (const Tree& chain : fields.list("filter_chains")) read_chain(chain, false);
    if (const Tree* chain = fields.take("default_filter_chain")) read_chain(*chain, true);
    fields.leave("additional_addresses", "a listener has one address");
    fields.leave("access_log", "connections are not logged, requests are");
    fields.leave_rest();
    if (tables.empty()) {
      notes_.left_out(tree.place, "the listener " + text::in_quotes(draft_.name()) +
                                      " has no filter chain that can be imported, and is left out");
      return false;
    }
    set_certificates(certificates_, !takes_any_name_, draft_);
    if (draft_.has("tls.require_client_certificate") && !all_require_) {
      notes_.note(tree.place,
                  "a filter chain requires client certificates: so do all of the "
                  "listener");
    }
    return true;
  }

  std::vector<RouteTable> tables{};

 private:
  bool read_listener_address(Fields& fields, const Tree& tree) {
    const Tree* place = fields.take("address");
    const auto address = place == nullptr ? std::nullopt : read_address(*place, notes_);
    if (address) {
      draft_.set("address", address->text, address->place);
      if (!address->mode.empty()) draft_.set("mode", address->mode, address->place);
    }
    if (draft_.has("address")) return true;
    notes_.left_out(tree.place, "the listener " + text::in_quotes(draft_.name()) +
                                    " has no address that can be imported, and is left out");
    return false;
  }

  void take_proxy_header(config::SourceLocation place) {
    draft_.set("proxy_protocol", make_list({"all"}, place));
    notes_.note(place,
                "every peer must send a header of the PROXY protocol, as in Envoy: name the "
                "networks of your load balancers in proxy_protocol instead of all");
  }

  void read_listener_filter(const Tree& tree) {
    Fields fields(tree, "the listener filter", notes_);
    const std::string name = fields.text("name");
    const Tree* config = fields.take("typed_config");
    fields.skip({"filter_disabled"});
    fields.leave_rest();
    const std::string type = config == nullptr ? std::string() : type_of(*config);
    if (name == "envoy.filters.listener.proxy_protocol" || type == "ProxyProtocol") {
      take_proxy_header(tree.place);
      if (config == nullptr) return;
      Fields inner(*config, "proxy_protocol", notes_);
      inner.skip({"@type"});
      inner.leave("allow_requests_without_proxy_protocol",
                  "connections of the named networks begin with the header");
      inner.leave_rest();
    } else if (!name.ends_with("tls_inspector") && !name.ends_with("http_inspector")) {
      notes_.left_out(tree.place, left_out_filter(name));
    }
  }

  // The server names of a chain; nothing, with a note, if it has another condition.
  std::optional<std::vector<std::string>> read_chain_match(Fields& chain) {
    std::vector<std::string> names;
    const Tree* match = chain.take("filter_chain_match");
    if (match == nullptr) return names;
    Fields fields(*match, "filter_chain_match", notes_);
    const auto listed = fields.list("server_names");
    for (const Tree& name : listed) {
      const auto host = read_host(name.text);
      if (host) {
        names.push_back(*host);
      } else {
        notes_.left_out(name.place, "the server name " + text::in_quotes(name.text) +
                                        " has no equivalent and is left out");
      }
    }
    fields.skip({"transport_protocol"});
    const bool has_other = [&] {
      ImportNotes silent("");
      Fields rest(*match, "", silent);
      rest.skip({"server_names", "transport_protocol"});
      rest.leave_rest();
      return silent.has_left_out();
    }();
    if (!has_other && (listed.empty() || !names.empty())) return names;
    notes_.left_out(match->place,
                    "the filter chain is left out: chains are selected by "
                    "server_names alone");
    return std::nullopt;
  }

  void read_chain(const Tree& tree, bool is_default) {
    Fields fields(tree, "the filter chain", notes_);
    fields.skip({"name"});
    const Tree* manager = find_manager(tree);
    if (manager == nullptr) {
      notes_.left_out(tree.place,
                      "the filter chain is left out: it has no HTTP connection manager "
                      "with a route_config");
      return;
    }
    const auto names = read_chain_match(fields);
    if (!names) return;
    if (!read_transport(fields, *names, tree)) return;
    if (names->empty() || is_default) takes_any_name_ = true;
    if (const auto flag = fields.boolean("use_proxy_proto"); flag && flag->value) {
      take_proxy_header(flag->place);
    }
    for (const Tree& filter : fields.list("filters")) read_filter(filter);
    fields.leave_rest();
    FilterTerms& terms = terms_.emplace_back(notes_);
    read_connection_manager(*manager, draft_, terms, file_);
    add_table(*manager, terms, *names);
  }

  // Chains with the same routes, such as those of two certificates, have them once.
  void add_table(const Tree& manager, const FilterTerms& terms, std::vector<std::string> names) {
    const std::vector<const Tree*> routing = routing_of_manager(manager);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (!are_alike(routings_[i], routing)) continue;
      std::vector<std::string>& known = tables[i].server_names;
      const bool takes_all = known.empty() || names.empty();
      known.insert(known.end(), names.begin(), names.end());
      if (takes_all) known.clear();
      return;
    }
    tables.push_back({find_field(manager, "route_config"), &terms, std::move(names)});
    routings_.push_back(routing);
  }

  // False if the chain is left out.
  bool read_transport(Fields& chain, const std::vector<std::string>& names, const Tree& tree) {
    const Tree* socket = chain.take("transport_socket");
    bool is_unknown = false;
    const Tree* tls =
        socket == nullptr ? nullptr : tls_of(*socket, "DownstreamTlsContext", is_unknown, notes_);
    if (is_unknown) return false;
    if (!tables.empty() && (tls != nullptr) != !certificates_.empty()) {
      notes_.left_out(tree.place, "the filter chain is left out: a listener has TLS or not");
      return false;
    }
    if (tls == nullptr) return true;
    const Tree* requires_one = find_field(*tls, "require_client_certificate");
    all_require_ = all_require_ && requires_one != nullptr && requires_one->text == "true";
    for (ImportedCertificate& one : read_downstream_tls(*tls, names, draft_, file_)) {
      certificates_.push_back(std::move(one));
    }
    return true;
  }

  void read_filter(const Tree& tree) {
    Fields fields(tree, "the filter", notes_);
    const std::string name = fields.text("name");
    const Tree* config = fields.take("typed_config");
    fields.leave_rest();
    if (config != nullptr && find_field(*config, "route_config") != nullptr) return;
    if (config != nullptr && type_of(*config) == "ConnectionLimit") {
      Fields inner(*config, "connection_limit", notes_);
      inner.skip({"@type", "stat_prefix"});
      const std::array<FieldRow, 1> rows = {{{"max_connections", "max_connections", As::integer}}};
      take_rows(inner, rows, draft_, notes_);
      inner.leave("delay", "a connection over the limit is closed at once");
      inner.leave_rest();
      return;
    }
    notes_.left_out(tree.place, left_out_filter(name));
  }

  PartDraft& draft_;
  std::deque<FilterTerms>& terms_;
  EnvoyImport& file_;
  ImportNotes& notes_;
  std::vector<ImportedCertificate> certificates_{};
  std::vector<std::vector<const Tree*>> routings_{};  // of the tables
  bool takes_any_name_ = false;
  bool all_require_ = true;
};

std::optional<http::ListenAddress> address_of(const PartDraft& listener) {
  ListenerConfig config;
  listener_schema().apply(listener.reading(), config);
  return http::ListenAddress{config.address, config.port};
}

bool is_taken(const PartDraft& draft, const EnvoyImport& file) {
  const auto address = address_of(draft);
  return std::any_of(file.listeners.begin(), file.listeners.end(), [&](const PartDraft& other) {
    const auto taken = address_of(other);
    return *taken == *address || http::overlap(*taken, *address);
  });
}

}  // namespace

void read_listeners(std::span<const Tree> listeners, EnvoyImport& file) {
  const auto first = std::find_if(listeners.begin(), listeners.end(), forwards);
  if (first == listeners.end()) return;
  std::deque<FilterTerms> terms;  // Route tables refer to them.
  std::vector<RouteTable> tables;
  for (auto one = listeners.begin(); one != listeners.end(); ++one) {
    const Tree* name = find_field(*one, "name");
    const std::string called = name == nullptr ? std::string() : name->text;
    if (!are_alike(routing_of(*one), routing_of(*first))) {
      file.notes.left_out(
          one->place, "the listener " + text::in_quotes(called) +
                          " is left out: its routes are not those of the listener on line " +
                          std::to_string(first->place.line) +
                          ", and all listeners of a file have the same routes: run a further proxy "
                          "for it");
      continue;
    }
    PartDraft draft(listener_schema(), file.unique_name("listener", called), one->place,
                    file.notes);
    ListenerReader reader(draft, terms, file);
    if (!reader.read(*one)) continue;
    if (is_taken(draft, file) || file.listeners.size() == kMostListeners) {
      file.notes.left_out(one->place, "the listener " + text::in_quotes(called) +
                                          " is left out: its address is that of another one, or "
                                          "there are more than " +
                                          std::to_string(kMostListeners));
      continue;
    }
    file.listeners.push_back(std::move(draft));
    if (tables.empty()) tables = std::move(reader.tables);
  }
  for (const RouteTable& table : tables) {
    for (const RouteDraft& page : table.filters->health_pages) file.routes.push_back(page);
  }
  read_virtual_hosts(tables, file);
}

}  // namespace damper::proxy
