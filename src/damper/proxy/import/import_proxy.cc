#include "damper/proxy/import/import_proxy.h"

#include <algorithm>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/config/yaml_tree.h"
#include "damper/http/server/listen_address.h"
#include "damper/http/server/local_access.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/import/envoy_import.h"
#include "damper/proxy/import/field_table.h"
#include "damper/proxy/import/import_cluster.h"
#include "damper/proxy/import/import_listener.h"

namespace damper::proxy {
namespace {

using config::Error;
using config::Tree;
using policy::Fields;
using policy::ImportNotes;

bool has_items(const Tree* tree) {
  return tree != nullptr && tree->kind == Tree::Kind::sequence && !tree->items.empty();
}

// The document with listeners and clusters; null if there is none.
const Tree* find_bootstrap(const std::vector<Tree>& documents) {
  for (const Tree& document : documents) {
    const Tree* statics = find_field(document, "static_resources");
    if (statics != nullptr && has_items(find_field(*statics, "listeners")) &&
        has_items(find_field(*statics, "clusters"))) {
      return &document;
    }
  }
  return nullptr;
}

void read_admin(const Tree& tree, EnvoyImport& file) {
  Fields fields(tree, "admin", file.notes);
  const Tree* socket = fields.take("address");
  fields.skip({"access_log", "access_log_path"});
  fields.leave_rest();
  const auto address = socket == nullptr ? std::nullopt : read_address(*socket, file.notes);
  if (!address) return;
  const auto parsed = http::parse_listen_address(address->text);
  if (!parsed) {
    file.notes.left_out(address->place,
                        "the address of admin has no equivalent: it is "
                        "127.0.0.1:9901, or none with admin: off");
    return;
  }
  http::ListenAddress own = *parsed;
  if (!http::is_loopback(own.host)) {
    own.host = "127.0.0.1";
    file.notes.note(address->place, "admin listens on " + own.text() +
                                        ": an address that is not loopback needs admin.token_file");
  }
  for (const PartDraft& listener : file.listeners) {
    ListenerConfig config;
    listener_schema().apply(listener.reading(), config);
    if (!http::overlap({config.address, config.port}, own)) continue;
    file.notes.left_out(address->place,
                        "the address of admin is that of a listener, and is left out");
    return;
  }
  file.proxy.set("admin.address", own.text(), address->place);
}

void read_node(const Tree& tree, EnvoyImport& file) {
  Fields fields(tree, "node", file.notes);
  fields.skip({"id", "cluster", "metadata"});
  if (const Tree* locality = fields.take("locality")) {
    Fields inner(*locality, "locality", file.notes);
    inner.skip({"region", "sub_zone"});
    if (const Tree* zone = inner.take("zone")) file.proxy.set("zone", *zone);
    inner.leave_rest();
  }
  fields.leave_rest();
}

void read_secrets(std::span<const Tree> secrets, EnvoyImport& file) {
  for (const Tree& secret : secrets) {
    Fields fields(secret, "the secret", file.notes);
    file.secrets.emplace(fields.text("name"), &secret);
    fields.skip({"@type", "tls_certificate", "validation_context"});
    fields.leave("session_ticket_keys", "the process makes and replaces its keys");
    fields.leave_rest();
  }
}

void read_bootstrap(const Tree& tree, EnvoyImport& file) {
  Fields fields(tree, "the file", file.notes);
  if (const Tree* statics = fields.take("static_resources")) {
    Fields inner(*statics, "static_resources", file.notes);
    read_secrets(inner.list("secrets"), file);
    for (const Tree& cluster : inner.list("clusters")) {
      if (file.terms.size() < kMostClusters) {
        read_cluster(cluster, file);
      } else {
        file.notes.fail(cluster.place,
                        "the file has more than " + std::to_string(kMostClusters) + " clusters");
      }
    }
    read_listeners(inner.list("listeners"), file);
    inner.leave_rest();
  }
  if (const Tree* admin = fields.take("admin")) {
    file.has_admin = true;
    read_admin(*admin, file);
  }
  if (const Tree* node = fields.take("node")) read_node(*node, file);
  fields.leave("dynamic_resources", "the file is read again when it changes");
  fields.leave_rest();
  // Envoy logs nothing without an access_log.
  if (!file.proxy.has("access_log")) file.proxy.set("access_log", "off");
}

// `  "name":` with the origin of the part.
std::string heading(const std::string& name, config::SourceLocation place, bool is_empty) {
  std::string line = "  " + config::quoted(name) + (is_empty ? ": {}" : ":");
  line.resize(std::max(line.size() + 1, config::kCommentColumn), ' ');
  return line.append("# ").append(origin_of(place)).append("\n");
}

template <class T>
std::string print_parts(std::string_view word, const config::Schema<T>& schema,
                        const std::vector<PartDraft>& parts) {
  std::string out = std::string(word) + ":\n";
  for (const PartDraft& part : parts) {
    const std::string block = print_part(schema, part, 4);
    out += heading(part.name(), part.place(), block.empty()) + block;
  }
  return out;
}

std::string print_policy(const policy::Route& route) {
  return policy::block_schema().print(route.settings, 4, false,
                                      [&](std::size_t key) -> std::optional<std::string> {
                                        if (route.origins[key] != policy::Origin::route)
                                          return std::nullopt;
                                        return origin_of(route.places[key]);
                                      });
}

std::string print_file(const EnvoyImport& file, const policy::PolicyFile& policies,
                       std::string_view name) {
  std::string out = "# From " + text::on_one_line(name) + ", as Envoy means it.\n";
  out += print_part(proxy_schema(), file.proxy, 0);
  if (!file.has_admin) out += "admin: off\n";  // As Envoy.
  out += print_parts("listeners", listener_schema(), file.listeners);
  out += print_parts("clusters", cluster_schema(), file.clusters);
  out += "routes:\n";
  for (std::size_t i = 0; i < policies.routes.size(); ++i) {
    const policy::Route& route = policies.routes[i];
    const std::string block =
        print_part(route_schema(), file.routes[i].keys, 4) + print_policy(route);
    out += heading(route.name, route.place, block.empty()) + block;
  }
  return out;
}

}  // namespace

Expected<std::optional<ImportedProxy>, Error> import_envoy_proxy(std::string_view text,
                                                                 std::string_view file) {
  const auto documents = config::parse_yaml_documents(text, file);
  if (!documents) return unexpected(documents.error());
  const Tree* bootstrap = find_bootstrap(*documents);
  if (bootstrap == nullptr) return std::optional<ImportedProxy>();
  ImportNotes notes(file);
  EnvoyImport import(notes);
  read_bootstrap(*bootstrap, import);
  for (const Tree& document : *documents) {
    if (&document == bootstrap || document.kind == Tree::Kind::null) continue;
    notes.left_out(document.place, "a further document is left out");
  }
  policy::Drafts drafts(notes);
  for (const RouteDraft& route : import.routes) {
    drafts.add(route.keys.name(), route.keys.place(), route.calls);
  }
  if (notes.error()) return unexpected(*notes.error());
  if (import.listeners.empty() || import.clusters.empty() || import.routes.empty()) {
    return std::optional<ImportedProxy>();
  }
  policy::Imported policies = drafts.take(file);
  ImportedProxy result{print_file(import, policies.file, file), std::move(policies.notes)};
  if (const auto loaded = load_proxy(result.text, "the result"); !loaded) {
    result.notes.insert(result.notes.begin(), {std::string(file),
                                               {},
                                               "the result has to be edited before it loads: " +
                                                   to_string(loaded.error())});
  }
  return std::optional(std::move(result));
}

}  // namespace damper::proxy
