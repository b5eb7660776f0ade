// Prints docs/guide/proxy-reference.md: the table of the proxy file's keys, from the schema that
// loads it. `build/dev/bin/proxy_reference > docs/guide/proxy-reference.md` brings it up to date.

#include <iostream>
#include <string>
#include <string_view>

#include "damper/proxy/config/proxy_schema.h"
#include "markdown.h"

namespace {

using damper::docs::bounds;
using damper::docs::in_cell;
using damper::proxy::ProxyKey;
using damper::proxy::ProxyMoved;
using damper::proxy::ProxySection;
using damper::proxy::Shape;
using damper::proxy::Subject;
using damper::proxy::Thing;

// Of a thing's own texts nothing is the default, though the structs have some address.
std::string default_of(const ProxyKey& key, const Subject& subject) {
  const std::string value = key.form.path == "address" ? "" : write(key, subject);
  return value.empty() ? "" : '`' + in_cell(value) + '`';
}

void print_keys(Thing thing, std::string_view section, const Subject& subject) {
  std::cout << "| key | default | accepted | |\n|---|---|---|---|\n";
  for (const ProxyKey& key : damper::proxy::proxy_keys()) {
    if (key.thing != thing || damper::policy::parent(key.form.path) != section) continue;
    const std::string what = accepted(key);
    std::cout << "| `" << damper::policy::leaf(key.form.path) << "` | " << default_of(key, subject)
              << " | " << in_cell(key.shape == Shape::raw ? bounds(what) : what) << " | "
              << in_cell(key.form.doc) << " |\n";
  }
}

void print_thing(Thing thing, std::string_view title, std::string_view intro,
                 const Subject& subject, const Subject& fresh) {
  std::cout << "\n## " << title << "\n\n" << intro << "\n\n";
  print_keys(thing, "", subject);
  for (const ProxySection& section : damper::proxy::proxy_sections()) {
    if (section.thing != thing) continue;
    std::cout << "\n### " << section.path << " of " << title << "\n\n" << section.doc;
    if (section.turn != nullptr) {
      std::cout << (section.on(fresh) ? " On" : " Off")
                << " unless it is said; `off` turns it off.";
    }
    std::cout << "\n\n";
    print_keys(thing, section.path, subject);
  }
}

// One of each thing, as they are when nothing is said.
struct Things {
  damper::proxy::ProxyConfig proxy;
  damper::proxy::ListenerConfig listener{.name = "web"};
  damper::proxy::ClusterConfig cluster{.name = "shop", .endpoints = {}};
  damper::proxy::RouteConfig route{.name = "default", .cluster = {}};
  [[nodiscard]] Subject subject() { return {&proxy, &listener, &cluster, &route}; }
};

}  // namespace

int main() {
  Things things;
  Things untouched;
  const Subject subject = things.subject();
  const Subject fresh = untouched.subject();
  for (const ProxySection& section : damper::proxy::proxy_sections()) {
    if (section.turn != nullptr) section.turn(subject, true);
  }
  std::cout << "# Every key of the proxy's file\n\n"
               "Printed from the schema that loads the file; a test compares the two. What the "
               "proxy does\nis in [proxy.md](proxy.md); the keys of a route's policy are in\n"
               "[policy-reference.md](policy-reference.md).\n\n"
               "Durations are written `250ms`, `2s`, `1.5m`; the units are ns, us, ms, s, m and h. "
               "Bytes are\nwritten `4096`, `64KiB`, `1MiB`, `2GiB`. A value outside what is "
               "accepted is an error with\nits place; nothing is clamped.\n\n"
               "```yaml\n"
               "listeners:\n"
               "  web: { address: 127.0.0.1:8080 }\n"
               "clusters:\n"
               "  shop: { endpoints: [http://10.0.0.1:9000, http://10.0.0.2:9000] }\n"
               "  search: { endpoints: [http://search.internal:9000], connect_timeout: 500ms }\n"
               "defaults:\n"
               "  timeout: 2s\n"
               "routes:\n"
               "  search:\n"
               "    match: { hosts: [\"*.shop.example\"], prefix: /search, methods: [GET] }\n"
               "    cluster: search\n"
               "    retry_policy: { num_retries: 1 }\n"
               "  rest:\n"
               "    cluster: shop\n"
               "    rate_limit: { requests_per_second: 500, burst: 100 }\n"
               "admin: { address: 127.0.0.1:9901 }\n"
               "```\n";
  print_thing(Thing::proxy, "the file",
              "Beside `listeners`, `clusters`, `defaults` and `routes` (or `route`, for a single "
              "one).",
              subject, fresh);
  print_thing(Thing::listener, "a listener",
              "One of `listeners`, by its name. `address` is needed; without one in a file, "
              "`--listen` says it.",
              subject, fresh);
  print_thing(Thing::cluster, "a cluster",
              "One of `clusters`, by its name. `endpoints` is needed; without clusters in a file, "
              "`--to` says them.",
              subject, fresh);
  print_thing(Thing::route, "a route",
              "One of `routes`, by its name, in the order in which they are asked; all of this but "
              "`match`\nmay stand in `defaults` too. Its policy has the keys of\n"
              "[policy-reference.md](policy-reference.md), at the same level.",
              subject, fresh);
  std::cout << "\nPaths match as they are written, and are passed on as they are written: nothing "
               "is unescaped,\nand `/a/../admin` is not taken for `/admin`, though the service "
               "behind may do so. A route says how\na request is treated, never whether somebody "
               "may make it.\n"
               "\n## Other places and names\n\nAccepted as well, for files that come from "
               "Envoy.\n\n| of | written | read as |\n|---|---|---|\n";
  constexpr std::string_view kNames[] = {"the file", "a listener", "a cluster", "a route"};
  for (const ProxyMoved& moved : damper::proxy::proxy_moved()) {
    if (moved.to.empty()) continue;
    std::cout << "| " << kNames[static_cast<std::size_t>(moved.thing)] << " | `" << moved.from
              << "` | `" << moved.to << "` |\n";
  }
  return 0;
}
