#include "damper/config/tree_merge.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::config {
namespace {

// The tree on one line, with the line of each scalar.
std::string shape(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::null: return "~";
    case Tree::Kind::scalar: return tree.text + '@' + std::to_string(tree.place.line);
    case Tree::Kind::sequence:
    case Tree::Kind::map: {
      std::string text = tree.is_map() ? "{" : "[";
      for (const Tree& item : tree.items) text += (text.size() > 1 ? " " : "") + shape(item);
      return text + (tree.is_map() ? "}" : "]");
    }
  }
  return {};
}

std::size_t count(const Tree& tree) {
  std::size_t nodes = 1;
  for (const Tree& item : tree.items) nodes += count(item);
  return nodes;
}

Tree tree_of(const std::string& yaml) {
  const auto tree = parse_yaml(yaml, "t.yaml");
  EXPECT_TRUE(tree) << yaml;
  return *tree;
}

// The upper one stands at line 5 and after.
Tree merge(const std::string& lower, const std::string& upper) {
  return merged(tree_of(lower), tree_of("\n\n\n\n" + upper));
}

TEST(TreeMerge, MapsAreMergedByKeyAndKeepTheirPlaces) {  // Invariants (1) and (2).
  EXPECT_EQ(shape(merge("a: 1\nb: {c: 2, d: 3}", "b: {d: 4, e: 5}\nf: 6")),
            "{a@1 1@1 b@5 {c@2 2@2 d@5 4@5 e@5 5@5} f@6 6@6}");
}

TEST(TreeMerge, ListsAndScalarsAreReplaced) {
  EXPECT_EQ(shape(merge("a: [1, 2]", "a: [3]")), "{a@5 [3@5]}");
  EXPECT_EQ(shape(merge("a: {b: 1}", "a: 2")), "{a@5 2@5}");
  EXPECT_EQ(shape(merge("a: 2", "a: {b: 1}")), "{a@5 {b@5 1@5}}");
  EXPECT_EQ(shape(merge("1", "2")), "2@5");
}

TEST(TreeMerge, AKeyWithNothingAfterItTakesTheLowerOneAway) {
  EXPECT_EQ(shape(merge("a: 1\nb: 2", "a:")), "{b@2 2@2}");
  EXPECT_EQ(shape(merge("a: {b: 1, c: 2}", "a: {c: ~}")), "{a@5 {b@1 1@1}}");
  EXPECT_EQ(shape(merge("a: 1", "b:")), "{a@1 1@1 b@5 ~}");  // There is nothing to take away.
}

TEST(TreeMerge, TheNodesAreCounted) {  // Invariant (3).
  const Tree tree = merge("a: 1\nb: {c: 2, d: [3, 4]}", "b: {d: 4, e: 5}\nf: 6");
  EXPECT_EQ(tree.nodes, count(tree));
  EXPECT_EQ(tree.nodes, 13U);
}

}  // namespace
}  // namespace damper::config
