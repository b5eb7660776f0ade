#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/policy/import/import_draft.h"
#include "damper/policy/import/import_walk.h"
#include "damper/proxy/import/part_draft.h"

namespace damper::proxy {

// A route that is being imported.
struct RouteDraft {
  PartDraft keys;       // of route_schema()
  policy::Draft calls;  // of a policy's block
};

// What routes have from their cluster.
struct ClusterTerms {
  std::string name;     // here; empty: the cluster is left out
  policy::Draft calls;  // the bound on requests in flight
  bool used = false;    // a route leads to it
};

// What the readers of one Envoy file share: the parts of the result so far, and what they refer to
// by name.
struct EnvoyImport {
  explicit EnvoyImport(policy::ImportNotes& of_file);

  policy::ImportNotes& notes;
  PartDraft proxy;  // of proxy_schema()
  std::vector<PartDraft> listeners{};
  std::vector<PartDraft> clusters{};
  std::vector<RouteDraft> routes{};
  std::map<std::string, ClusterTerms, std::less<>> terms{};           // by Envoy's name
  std::map<std::string, const config::Tree*, std::less<>> secrets{};  // by name
  std::set<std::string> names{};                                      // taken; "cluster shop"
  std::span<const config::Tree> access_logs{};                        // that were read
  const config::Tree* tracing = nullptr;                              // that was read
  bool has_admin = false;

  [[nodiscard]] RouteDraft make_route(std::string name, config::SourceLocation place) const;
  // The name as one of a part of this kind, which no other has.
  [[nodiscard]] std::string unique_name(std::string_view kind, std::string_view name);
};

// ADDRESS:PORT, or unix:PATH, of an Envoy address; nothing, with a note, if it has no equivalent.
struct ImportedAddress {
  std::string text;  // "10.0.0.1:80", "[::1]:80", "shop.example:80", "unix:/run/shop.sock"
  std::string mode;  // of a Unix socket, in octal
  config::SourceLocation place;
};
[[nodiscard]] std::optional<ImportedAddress> read_address(const config::Tree& tree,
                                                          policy::ImportNotes& notes);

}  // namespace damper::proxy
