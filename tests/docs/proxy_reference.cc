// Prints docs/guide/proxy-reference.md: the table of the proxy file's keys, from the schema that
// loads it. `build/dev/bin/proxy_reference > docs/guide/proxy-reference.md` brings it up to date.

#include <iostream>
#include <string>
#include <string_view>

#include "damper/proxy/config/proxy_schema.h"

namespace {

template <class T>
void print(const damper::config::Schema<T>& schema, std::string_view title,
           std::string_view intro) {
  std::cout << "\n## " << title << "\n\n"
            << intro << "\n\n"
            << schema.reference("###", " of " + std::string(title));
}

template <class T>
void print_aliases(const damper::config::Schema<T>& schema, std::string_view title) {
  for (const damper::config::Alias& alias : schema.aliases()) {
    if (alias.to.empty()) continue;
    std::cout << "| " << title << " | `" << alias.from << "` | `" << alias.to << "` |\n";
  }
}

}  // namespace

int main() {
  using damper::proxy::cluster_schema;
  using damper::proxy::listener_schema;
  using damper::proxy::proxy_schema;
  using damper::proxy::route_schema;
  std::cout
      << "# Every key of the proxy's file\n\n"
         "Generated from the schema that loads the file; a test compares the two. The guide "
         "to the proxy\nis [proxy.md](proxy.md); the keys of a route's policy are in\n"
         "[policy-reference.md](policy-reference.md).\n\n"
         "Durations are written `250ms`, `2s`, `1.5m`; the units are ns, us, ms, s, m and h. "
         "Bytes are\nwritten `4096`, `64KiB`, `1MiB`, `2GiB`. A value out of its bounds is an "
         "error with its\nlocation; nothing is clamped.\n\n"
         "For completion and validation in an editor: `damper schema proxy > "
         "proxy.schema.json`.\n\n"
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
  print(proxy_schema(), "the file",
        "Beside `listeners`, `clusters`, `defaults` and `routes` (or `route`, for a single one).");
  print(listener_schema(), "a listener",
        "One of `listeners`, by its name. `--listen` replaces `listeners` in a file without any.");
  print(cluster_schema(), "a cluster",
        "One of `clusters`, by its name. `--to` replaces `clusters` in a file without any.");
  print(route_schema(), "a route",
        "One of `routes`, by its name; the first route that matches a request has it. All keys but "
        "`match`\nmay be set in `defaults` too. A route also has the keys of a policy, at the same "
        "level:\n[policy-reference.md](policy-reference.md).");
  std::cout
      << "\nWithout `normalize_path` of the listener paths are matched and forwarded as "
         "written: nothing is\nunescaped, and `/a/../admin` does not match `/admin`, though the "
         "service behind may treat it so.\nA route decides how a request is treated; it is not "
         "access control.\n"
         "\n## Other places and names\n\nAlso accepted, for files that come from "
         "Envoy.\n\n| of | written | read as |\n|---|---|---|\n";
  print_aliases(proxy_schema(), "the file");
  print_aliases(listener_schema(), "a listener");
  print_aliases(cluster_schema(), "a cluster");
  print_aliases(route_schema(), "a route");
  return 0;
}
