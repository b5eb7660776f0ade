#include "damper/proxy/config/proxy_config.h"

#include <utility>

#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

std::string section_text(Thing thing, std::string_view path, const Subject& subject,
                         std::size_t indent) {
  const std::string space(indent, ' ');
  std::string out;
  for (const ProxyKey& key : proxy_keys()) {
    if (key.thing != thing || policy::parent(key.form.path) != path) continue;
    const std::string value = write(key, subject);
    if (value.empty()) continue;
    out.append(space).append(policy::leaf(key.form.path)).append(": ").append(value) += '\n';
  }
  for (const ProxySection& section : proxy_sections()) {
    if (section.thing != thing || policy::parent(section.path) != path) continue;
    const std::string word = std::string(space).append(policy::leaf(section.path)) += ':';
    if (section.on != nullptr && !section.on(subject)) {
      out += word + " off\n";
      continue;
    }
    const std::string inner = section_text(thing, section.path, subject, indent + 2);
    if (!inner.empty()) out.append(word).append("\n").append(inner);
  }
  return out;
}

std::string named(const std::string& name) { return "  " + quoted(name) + ":\n"; }

}  // namespace

std::string print_proxy(const ProxyConfig& config) {
  ProxyConfig copy = config;  // A Subject can be written to.
  std::string out = section_text(Thing::proxy, "", {.proxy = &copy}, 0);
  out += "listeners:\n";
  for (ListenerConfig& listener : copy.listeners) {
    out += named(listener.name) + section_text(Thing::listener, "", {.listener = &listener}, 4);
  }
  out += "clusters:\n";
  for (ClusterConfig& cluster : copy.clusters) {
    out += named(cluster.name) + section_text(Thing::cluster, "", {.cluster = &cluster}, 4);
  }
  out += "routes:\n";
  for (RouteConfig& route : copy.routes) {
    out += named(route.name) + section_text(Thing::route, "", {.route = &route}, 4) +
           policy::print_block(route.settings, 4);
  }
  return out;
}

}  // namespace damper::proxy
