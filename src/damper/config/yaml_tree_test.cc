#include "damper/config/yaml_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::config {
namespace {

std::string error_of(std::string_view text) {
  const auto tree = parse_yaml(text, "p.yaml");
  return tree ? "ok" : to_string(tree.error());
}

// The tree on one line: scalars as they are, [a b], {k v}, ~ for null.
std::string shape(const Tree& tree) {
  if (tree.kind == Tree::Kind::null) return "~";
  if (tree.is_scalar()) return tree.text;
  std::string text;
  for (const Tree& item : tree.items) text += (text.empty() ? "" : " ") + shape(item);
  return tree.is_map() ? '{' + text + '}' : '[' + text + ']';
}
std::string shape_of(std::string_view text) {
  const auto tree = parse_yaml(text, "p.yaml");
  return tree ? shape(*tree) : to_string(tree.error());
}

TEST(YamlTree, ScalarsAreKeptAsTheyAreWritten) {
  EXPECT_EQ(shape_of("a: 010\nb: [1.50, off, 'x y']\nc:\n"), "{a 010 b [1.50 off x y] c ~}");
  EXPECT_EQ(shape_of(""), "~");
}

TEST(YamlTree, ANodeKnowsItsPlace) {
  const auto tree = parse_yaml("a: 1\nb:\n  - cc\n  - {d: 2}\n", "p.yaml");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->key(1).place, (SourceLocation{2, 1}));
  EXPECT_EQ(tree->value(1).items[0].place, (SourceLocation{3, 5}));
  EXPECT_EQ(tree->value(1).items[1].value(0).place, (SourceLocation{4, 9}));
}

TEST(YamlTree, AnAliasIsACopyOfWhatItsAnchorNames) {
  EXPECT_EQ(shape_of("a: &x {b: 1}\nc: *x\n"), "{a {b 1} c {b 1}}");
  EXPECT_EQ(error_of("a: &x [*x]\n"), "p.yaml:1:8: an alias may not contain itself");
}

TEST(YamlTree, TwoEqualKeysAreAnError) {  // Invariant (2).
  EXPECT_EQ(error_of("a: 1\nb: {c: 1, c: 2}\n"),
            "p.yaml:2:11: key \"c\" is given twice, first in line 2");
  EXPECT_EQ(error_of("a: {c: 1}\nb: {c: 2}\n"), "ok");
}

TEST(YamlTree, AKeyIsAWord) {  // Invariant (2).
  EXPECT_EQ(error_of("? [a]\n: 1\n"), "p.yaml:1:3: a key must be a word");
  EXPECT_EQ(error_of("~: 1\n"), "p.yaml:1:1: a key must be a word");
}

std::string shapes_of(std::string_view text) {
  const auto documents = parse_yaml_documents(text, "p.yaml");
  if (!documents) return to_string(documents.error());
  std::string shapes;
  for (const Tree& tree : *documents) shapes += shape(tree) + ' ';
  return shapes;
}

TEST(YamlTree, SeveralDocumentsWhenTheyAreAskedFor) {
  EXPECT_EQ(shapes_of("a: 1\n---\nb: 2\n---\n"), "{a 1} {b 2} ~ ");
  EXPECT_EQ(shapes_of(""), "");
  const auto documents = parse_yaml_documents("a: 1\n---\nb: 2\n", "p.yaml");
  ASSERT_TRUE(documents);
  EXPECT_EQ((*documents)[1].key(0).place, (SourceLocation{3, 1}));  // Lines count through.
}

TEST(YamlTree, AnAnchorHoldsForItsOwnDocument) {
  EXPECT_EQ(shapes_of("a: &x 1\nb: *x\n---\nc: &x [*x]\n"),
            "p.yaml:4:8: an alias may not contain itself");
}

TEST(YamlTree, TheLimitHoldsForAllDocumentsTogether) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += "---\n1\n";
  EXPECT_EQ(shapes_of(text).size(), 120'000U);
  for (int i = 0; i < 60'000; ++i) text += "---\n1\n";
  EXPECT_EQ(shapes_of(text).substr(0, 37), "p.yaml:200002:1: the file has more th");
}

TEST(YamlTree, OneDocumentOnly) {
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), "p.yaml:2:1: a policy file is one YAML document");
}

TEST(YamlTree, WhatIsNotYamlIsOneSentenceWithThePlace) {
  EXPECT_EQ(error_of("a: [1\n"), "p.yaml:2:1: is not valid YAML: end of sequence flow not found");
  EXPECT_EQ(error_of("a: *nobody\n"),
            "p.yaml:1:4: is not valid YAML: the referenced anchor is not defined");
  EXPECT_EQ(error_of("a: \"\\\x01\""),
            "p.yaml:1:7: is not valid YAML: unknown escape character: \\x01");
}

TEST(YamlTree, DepthIsBounded) {  // Invariant (1).
  const auto nested = [](int depth) {
    const auto n = static_cast<std::size_t>(depth);
    return std::string(n, '[') + std::string(n, ']');
  };
  EXPECT_EQ(error_of(nested(32)), "ok");
  EXPECT_EQ(error_of(nested(33)), "p.yaml:1:33: the file is nested deeper than 32 levels");
  EXPECT_NE(error_of(std::string(100'000, '[')).find("nested deeper than 32"), std::string::npos);
}

TEST(YamlTree, AFewHundredBytesOfAliasesDoNotStandForGigabytes) {  // Invariant (1).
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += 'a' + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int n = 0; n < 10; ++n) bomb += last + (n < 9 ? ", " : "]\n");
  }
  EXPECT_EQ(error_of(bomb),
            "p.yaml:5:40: the file has more than 100000 values, each alias counted in full");
}

TEST(YamlTree, ContainersCountToo) {  // Invariant (1).
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) text += "[],";
  EXPECT_NE(error_of(text + ']').find("has more than 100000 values"), std::string::npos);
}

TEST(YamlTree, CopiesOfALongTextCountByItsLength) {                    // Invariant (1).
  std::string bomb = "a: &a " + std::string(320'000, 'x') + "\nb: [";  // 10,001 nodes each.
  for (int i = 0; i < 20; ++i) bomb += "*a, ";
  EXPECT_EQ(error_of(bomb + "]\n"),
            "p.yaml:2:33: the file has more than 100000 values, each alias counted in full");
}

TEST(YamlTree, SizeIsBounded) {
  EXPECT_EQ(error_of('#' + std::string(kMostBytes - 1, 'x')), "ok");
  EXPECT_EQ(error_of('#' + std::string(kMostBytes, 'x')),
            "p.yaml: is larger than 1 MiB; a policy file has at most 1048576 bytes");
}

// The tree on one line, with the line of each scalar.
std::string placed_shape(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::null: return "~";
    case Tree::Kind::scalar: return tree.text + '@' + std::to_string(tree.place.line);
    case Tree::Kind::sequence:
    case Tree::Kind::map: {
      std::string text = tree.is_map() ? "{" : "[";
      for (const Tree& item : tree.items) text += (text.size() > 1 ? " " : "") + placed_shape(item);
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
  EXPECT_EQ(placed_shape(merge("a: 1\nb: {c: 2, d: 3}", "b: {d: 4, e: 5}\nf: 6")),
            "{a@1 1@1 b@5 {c@2 2@2 d@5 4@5 e@5 5@5} f@6 6@6}");
}

TEST(TreeMerge, ListsAndScalarsAreReplaced) {
  EXPECT_EQ(placed_shape(merge("a: [1, 2]", "a: [3]")), "{a@5 [3@5]}");
  EXPECT_EQ(placed_shape(merge("a: {b: 1}", "a: 2")), "{a@5 2@5}");
  EXPECT_EQ(placed_shape(merge("a: 2", "a: {b: 1}")), "{a@5 {b@5 1@5}}");
  EXPECT_EQ(placed_shape(merge("1", "2")), "2@5");
}

TEST(TreeMerge, AKeyWithNothingAfterItTakesTheLowerOneAway) {
  EXPECT_EQ(placed_shape(merge("a: 1\nb: 2", "a:")), "{b@2 2@2}");
  EXPECT_EQ(placed_shape(merge("a: {b: 1, c: 2}", "a: {c: ~}")), "{a@5 {b@1 1@1}}");
  EXPECT_EQ(placed_shape(merge("a: 1", "b:")),
            "{a@1 1@1 b@5 ~}");  // There is nothing to take away.
}

TEST(TreeMerge, TheNodesAreCounted) {  // Invariant (3).
  const Tree tree = merge("a: 1\nb: {c: 2, d: [3, 4]}", "b: {d: 4, e: 5}\nf: 6");
  EXPECT_EQ(tree.nodes, count(tree));
  EXPECT_EQ(tree.nodes, 13U);
}

}  // namespace

}  // namespace damper::config
