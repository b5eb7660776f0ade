#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/error.h"

namespace damper::config {

// The most that a policy file may be. What is beyond is refused in one sentence, before it costs
// memory or stack.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // 1 MiB
inline constexpr int kMostDepth = 32;                            // maps and sequences in each other
inline constexpr std::size_t kMostNodes = 100'000;  // values and keys; each alias counts in full

// A Tree is a YAML document as plain values: each node with its place, each scalar as it was
// written, without a guess at its type.
//
// Why: yaml-cpp's own Node keeps both of two equal keys and answers with the first, and follows
// aliases without a limit, so a few hundred bytes can stand for gigabytes.
// Model: built from yaml-cpp's events. An alias is a copy of what its anchor names, and counts as
// one. A scalar of n bytes counts as 1 + n / 32 nodes, so that copying text is bounded too.
// Invariants:
//   (1) A tree has at most kMostNodes nodes and is at most kMostDepth deep.
//   (2) The keys of a map are scalars and differ from each other.
struct Tree {
  enum class Kind : std::uint8_t { null, scalar, sequence, map };

  Kind kind = Kind::null;
  SourceLocation place;
  std::string text;         // of a scalar
  std::vector<Tree> items;  // of a sequence; of a map: key, value, key, value, ...
  std::size_t nodes = 1;    // this one and all below

  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_map() const { return kind == Kind::map; }
  [[nodiscard]] std::size_t pairs() const { return items.size() / 2; }
  [[nodiscard]] const Tree& key(std::size_t pair) const { return items[2 * pair]; }
  [[nodiscard]] const Tree& value(std::size_t pair) const { return items[2 * pair + 1]; }
  // The value of a map's key; null when it is no map, or has no such key.
  [[nodiscard]] const Tree* find(std::string_view word) const {
    for (std::size_t i = 0; is_map() && i < pairs(); ++i) {
      if (key(i).text == word) return &value(i);
    }
    return nullptr;
  }
};

// The one document in the text; an empty text is a null tree. No exception leaves it.
[[nodiscard]] Expected<Tree, Error> parse_yaml(std::string_view text, std::string_view file);

// All documents in the text, which "---" separates; the limits hold for all of them together.
[[nodiscard]] Expected<std::vector<Tree>, Error> parse_yaml_documents(std::string_view text,
                                                                      std::string_view file);

// One tree put over another: what a variant says over what the scenario says.
//
// Model: of two maps, each key of the upper one takes the place of the same key of the lower one,
// and what is below it is merged in turn; a key with nothing after it takes the lower one's away.
// Anything else of the upper tree replaces the lower one whole: a list is never merged.
// Invariants:
//   (1) Every node keeps the place that it has in the file.
//   (2) Keys keep the order of the lower tree; new ones come after them.
//   (3) The result has no more nodes than both together.
// Cost: a copy of both; O(n log n) in the keys.
[[nodiscard]] Tree merged(const Tree& lower, const Tree& upper);

}  // namespace damper::config
