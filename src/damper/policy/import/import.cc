#include "damper/policy/import/import.h"

#include <algorithm>
#include <span>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"
#include "damper/policy/import/import_draft.h"
#include "damper/policy/import/import_walk.h"
#include "damper/policy/import/importers.h"

namespace damper::policy {
namespace {

constexpr std::string_view kShapes =
    "Envoy has static_resources, virtual_hosts, clusters or the like, gRPC methodConfig, Istio "
    "kind "
    "VirtualService or DestinationRule, Linkerd kind ServiceProfile";

// `kubectl get -o yaml` puts documents into a list.
void add_items(const config::Tree& document, std::vector<config::Tree>& documents) {
  const config::Tree* const kind = document.find("kind");
  const config::Tree* const items = document.find("items");
  if (kind != nullptr && kind->text.ends_with("List") && items != nullptr &&
      items->kind == config::Tree::Kind::sequence) {
    documents.insert(documents.end(), items->items.begin(), items->items.end());
    return;
  }
  documents.push_back(document);
}

Expected<std::vector<config::Tree>, config::Error> read_documents(std::string_view text,
                                                                  std::string_view file) {
  const auto parsed = config::parse_yaml_documents(text, file);
  if (!parsed) return unexpected(parsed.error());
  std::vector<config::Tree> documents;
  for (const config::Tree& document : *parsed) add_items(document, documents);
  return documents;
}

constexpr EnumNames<From::linkerd> kTitles = {"Envoy", "gRPC", "Istio", "Linkerd"};

}  // namespace

Expected<Imported, config::Error> import_policy(From from, std::string_view text,
                                                std::string_view file) {
  const auto documents = read_documents(text, file);
  if (!documents) return unexpected(documents.error());
  ImportNotes notes(file);
  Drafts drafts(notes);
  switch (from) {
    case From::envoy: import_envoy(*documents, drafts, notes); break;
    case From::grpc: import_grpc(*documents, drafts, notes); break;
    case From::istio: import_istio(*documents, drafts, notes); break;
    case From::linkerd: import_linkerd(*documents, drafts, notes); break;
  }
  if (notes.error()) return unexpected(*notes.error());
  if (drafts.size() == 0) {
    return unexpected(config::Error{std::string(file),
                                    {},
                                    "has no route that makes calls, read as " +
                                        std::string(name(from)) + " (" + std::string(kShapes) +
                                        ")"});
  }
  return drafts.take(file);
}

std::optional<From> guess(const config::Tree& document) {
  if (document.kind == config::Tree::Kind::sequence && !document.items.empty()) {
    return guess(document.items.front());
  }
  ImportNotes silent("");
  Fields fields(document, "", silent);
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return fields.has(word); });
  };
  const std::string kind = fields.text("kind");
  if (kind == "ServiceProfile") return From::linkerd;
  if (kind == "VirtualService" || kind == "DestinationRule") return From::istio;
  if (!kind.empty()) return std::nullopt;
  if (has({"method_config", "retry_throttling", "service_config"})) return From::grpc;
  const bool is_envoy =
      has({"static_resources", "virtual_hosts", "route_config", "filter_chains", "listeners",
           "clusters", "resources", "circuit_breakers", "load_assignment", "domains"});
  return is_envoy ? std::optional(From::envoy) : std::nullopt;
}

Expected<From, config::Error> guess(std::string_view text, std::string_view file) {
  const auto documents = read_documents(text, file);
  if (!documents) return unexpected(documents.error());
  for (const config::Tree& document : *documents) {
    if (const auto from = guess(document)) return *from;
  }
  return unexpected(config::Error{std::string(file),
                                  {},
                                  "does not have the shape of a known system: " +
                                      std::string(kShapes) + "; name it with --from"});
}

std::string print_import(const Imported& imported, From from) {
  const std::string title(kTitles[from]);
  // A value without a line is the other system's default.
  const auto comment = [&](config::SourceLocation place) {
    return place.line > 0 ? "line " + std::to_string(place.line) : "as " + title;
  };
  std::string out = "# From " + text::on_one_line(imported.file.file) + ", as " + title +
                    " means it.\n" + imported.file.shape + ":\n";
  for (const Route& route : imported.file.routes) {
    const std::string block = block_schema().print(
        route.settings, 4, false, [&](std::size_t key) -> std::optional<std::string> {
          if (route.origins[key] != Origin::route) return std::nullopt;
          return comment(route.places[key]);
        });
    std::string line = "  \"" + route.name + (block.empty() ? "\": {}" : "\":");
    line.resize(std::max(line.size() + 1, config::kCommentColumn), ' ');
    out.append(line).append("# ").append(comment(route.place)).append("\n").append(block);
  }
  return out;
}

}  // namespace damper::policy
