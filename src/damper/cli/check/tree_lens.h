#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "damper/config/yaml_tree.h"
#include "damper/policy/lint/lint.h"

namespace damper::cli {

// The findings of one file, with the places of its keys.
class TreeLens {
 public:
  using Keys = std::vector<std::string_view>;  // {"listeners", "web", "trust"}

  explicit TreeLens(const config::Tree& tree) : tree_(tree) {}

  // The value below these keys; nullptr if it is not set.
  [[nodiscard]] const config::Tree* find(const Keys& keys) const {
    const config::Tree* node = &tree_;
    for (const std::string_view key : keys) {
      node = node != nullptr ? node->find(key) : nullptr;
    }
    return node;
  }
  // The place is that of the value, or of the closest one above it that is set.
  void add(policy::Rule rule, Keys keys, std::string route, std::string why, std::string fix) {
    const config::Tree* node = find(keys);
    while (node == nullptr) {
      keys.pop_back();
      node = find(keys);
    }
    findings_.push_back({rule, node->place, std::move(route), std::move(why), std::move(fix)});
  }
  // In the order of their places.
  [[nodiscard]] std::vector<policy::Finding> take() {
    std::ranges::stable_sort(findings_, {}, [](const policy::Finding& one) {
      return std::tuple(one.place.line, one.place.column);
    });
    return std::move(findings_);
  }

 private:
  const config::Tree& tree_;
  std::vector<policy::Finding> findings_;
};

}  // namespace damper::cli
