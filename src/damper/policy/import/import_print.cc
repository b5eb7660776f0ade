#include "damper/policy/import/import.h"

#include <algorithm>

#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

constexpr std::size_t kCommentColumn = 56;
constexpr std::array<std::string_view, 4> kTitles = {"Envoy", "gRPC", "Istio", "Linkerd"};

class Printer {
 public:
  Printer(const Imported& imported, From from)
      : imported_(imported), title_(kTitles[static_cast<std::size_t>(from)]) {}

  std::string print() {
    out_ = "# From " + text::on_one_line(imported_.file.file) + ", as " + std::string(title_) +
           " means it.\n";
    out_ += imported_.file.shape + ":\n";
    for (std::size_t i = 0; i < imported_.file.routes.size(); ++i) {
      const Route& route = imported_.file.routes[i];
      const bool is_empty = std::find(route.origins.begin(), route.origins.end(), Origin::route) ==
                            route.origins.end();
      line(2, '"' + route.name + (is_empty ? "\": {}" : "\":"), comment(route.place));
      print_section("", route, route.places, 4);
    }
    return std::move(out_);
  }

 private:
  // What the file does not say, the other system does all the same.
  [[nodiscard]] std::string comment(config::SourceLocation place) const {
    return place.line > 0 ? "line " + std::to_string(place.line) : "as " + std::string(title_);
  }

  void line(std::size_t indent, const std::string& text, const std::string& comment = {}) {
    std::string whole = std::string(indent, ' ') + text;
    if (!comment.empty()) {
      whole.resize(std::max(whole.size() + 1, kCommentColumn), ' ');
      whole += "# " + comment;
    }
    out_ += whole + '\n';
  }

  // Whether there is anything to say in the section or in those inside it.
  static bool says(std::string_view path, const Route& route) {
    for (std::size_t i = 0; i < keys().size(); ++i) {
      const std::string_view key = keys()[i].path;
      const bool inside = key.starts_with(path) && key.substr(path.size()).starts_with('.');
      if (inside && route.origins[i] == Origin::route) return true;
    }
    return false;
  }

  void print_section(std::string_view path, const Route& route,
                     const std::vector<config::SourceLocation>& places, std::size_t indent) {
    for (std::size_t i = 0; i < keys().size(); ++i) {
      if (parent(keys()[i].path) != path || route.origins[i] != Origin::route) continue;
      line(indent, std::string(leaf(keys()[i].path)) + ": " + write(keys()[i], route.settings),
           comment(places[i]));
    }
    for (const Section& section : sections()) {
      if (parent(section.path) != path || !says(section.path, route)) continue;
      line(indent, std::string(leaf(section.path)) + ':');
      print_section(section.path, route, places, indent + 2);
    }
  }

  const Imported& imported_;
  std::string_view title_;
  std::string out_;
};

}  // namespace

std::string print_import(const Imported& imported, From from) {
  return Printer(imported, from).print();
}

}  // namespace damper::policy
