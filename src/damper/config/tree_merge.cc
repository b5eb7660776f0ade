#include "damper/config/tree_merge.h"

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace damper::config {
namespace {

void append(Tree& map, const Tree& key, Tree value) {
  map.nodes += key.nodes + value.nodes;
  map.items.push_back(key);
  map.items.push_back(std::move(value));
}

}  // namespace

Tree merged(const Tree& lower, const Tree& upper) {
  if (!lower.is_map() || !upper.is_map()) return upper;
  std::map<std::string_view, std::size_t> over;
  for (std::size_t i = 0; i < upper.pairs(); ++i) over.emplace(upper.key(i).text, i);
  Tree both;
  both.kind = Tree::Kind::map;
  both.place = lower.place;
  for (std::size_t i = 0; i < lower.pairs(); ++i) {
    const auto found = over.find(lower.key(i).text);
    if (found == over.end()) {
      append(both, lower.key(i), lower.value(i));
      continue;
    }
    const Tree& value = upper.value(found->second);
    if (value.kind != Tree::Kind::null) {
      append(both, upper.key(found->second), merged(lower.value(i), value));
    }
    over.erase(found);
  }
  for (std::size_t i = 0; i < upper.pairs(); ++i) {  // What is left, in the order of the file.
    if (over.contains(upper.key(i).text)) append(both, upper.key(i), upper.value(i));
  }
  return both;
}

}  // namespace damper::config
