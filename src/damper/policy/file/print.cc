#include <algorithm>

#include "damper/policy/file/policy_file.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

constexpr std::size_t kCommentColumn = 56;

void line(std::string& out, std::size_t indent, const std::string& text,
          std::string_view comment = {}) {
  std::string whole = std::string(indent, ' ') + text;
  if (!comment.empty()) {
    whole.resize(std::max(whole.size() + 1, kCommentColumn), ' ');
    whole += "# ";
    whole += comment;
  }
  out += whole + '\n';
}

std::string_view comment(Origin origin) {
  switch (origin) {
    case Origin::built_in:
      return "default";
    case Origin::defaults:
      return "from defaults";
    case Origin::route:
      return {};
  }
  return {};
}

// The keys of the section, then the sections inside it.
void print_section(std::string& out, std::string_view path, const Settings& settings,
                   std::span<const Origin> origins, std::size_t indent) {
  for (std::size_t i = 0; i < keys().size(); ++i) {
    if (parent(keys()[i].path) != path) continue;
    line(out, indent, std::string(leaf(keys()[i].path)) + ": " + write(keys()[i], settings),
         origins.empty() ? std::string_view() : comment(origins[i]));
  }
  for (const Section& section : sections()) {
    if (parent(section.path) != path) continue;
    const std::string word(leaf(section.path));
    if (section.on != nullptr && !section.on(settings)) {
      line(out, indent, word + ": off");
      continue;
    }
    line(out, indent, word + ':');
    print_section(out, section.path, settings, origins, indent + 2);
  }
}

}  // namespace

std::string print(const PolicyFile& file) {
  std::string out = file.shape + ":\n";
  for (const Route& route : file.routes) {
    if (file.shape != "route") line(out, 2, '"' + route.name + "\":");
    print_section(out, "", route.settings, route.origins, file.shape == "route" ? 2 : 4);
  }
  return out;
}

std::string print_block(const Settings& settings, std::size_t indent) {
  std::string out;
  print_section(out, "", settings, {}, indent);
  return out;
}

}  // namespace damper::policy
