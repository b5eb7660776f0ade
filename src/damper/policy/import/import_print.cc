#include "damper/policy/import/import.h"

#include <algorithm>

#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

constexpr std::array<std::string_view, 4> kTitles = {"Envoy", "gRPC", "Istio", "Linkerd"};

}  // namespace

std::string print_import(const Imported& imported, From from) {
  const std::string title(kTitles[static_cast<std::size_t>(from)]);
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
