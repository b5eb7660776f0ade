#include "damper/config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <cstddef>
#include <exception>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "damper/base/text/words.h"

namespace damper::config {
namespace {

SourceLocation place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Thrown by the builder through yaml-cpp's parser, caught in parse_yaml().
struct Refused {
  SourceLocation place;
  std::string sentence;
};

void check_keys(const Tree& map) {
  std::map<std::string_view, SourceLocation> seen;
  for (std::size_t i = 0; i < map.pairs(); ++i) {
    const Tree& key = map.key(i);
    if (!key.is_scalar()) throw Refused{key.place, "a key must be a word"};
    const auto [first, is_new] = seen.emplace(key.text, key.place);
    if (is_new) continue;
    throw Refused{key.place, "key " + text::in_quotes(key.text) +
                                 " is given twice, first in line " +
                                 std::to_string(first->second.line)};
  }
}

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(bool one_only) : one_only_(one_only) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (one_only_ && !documents_.empty()) {
      throw Refused{place_of(mark), "a policy file is one YAML document"};
    }
    anchors_.clear();  // An anchor holds for its own document, and its number is used again.
  }
  void OnDocumentEnd() override { documents_.push_back(std::exchange(root_, {})); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(new_tree(Tree::Kind::null, mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    Tree tree = new_tree(Tree::Kind::scalar, mark);
    tree.text = value;
    tree.nodes += value.size() / 32;
    add(std::move(tree), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto named = anchors_.find(anchor);
    if (named == anchors_.end()) throw Refused{place_of(mark), "an alias may not contain itself"};
    count(named->second.nodes, place_of(mark));
    put(Tree(named->second));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Tree::Kind::sequence, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Tree::Kind::map, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    check_keys(open_.back().tree);
    close();
  }

  [[nodiscard]] std::vector<Tree> take() { return std::move(documents_); }

 private:
  struct Open {
    Tree tree;
    YAML::anchor_t anchor;
  };

  static Tree new_tree(Tree::Kind kind, const YAML::Mark& mark) {
    Tree tree;
    tree.kind = kind;
    tree.place = place_of(mark);
    return tree;
  }

  void count(std::size_t nodes, SourceLocation place) {
    nodes_ += nodes;
    if (nodes_ <= kMostNodes) return;
    throw Refused{place, "the file has more than " + std::to_string(kMostNodes) +
                             " values, each alias counted in full"};
  }

  void open(Tree::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() == static_cast<std::size_t>(kMostDepth)) {
      throw Refused{place_of(mark),
                    "the file is nested deeper than " + std::to_string(kMostDepth) + " levels"};
    }
    count(1, place_of(mark));
    open_.push_back({new_tree(kind, mark), anchor});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    remember(closed.tree, closed.anchor);
    put(std::move(closed.tree));
  }

  void add(Tree tree, YAML::anchor_t anchor) {
    count(tree.nodes, tree.place);
    remember(tree, anchor);
    put(std::move(tree));
  }

  void remember(const Tree& tree, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    count(tree.nodes, tree.place);  // A copy is kept.
    anchors_[anchor] = tree;
  }

  void put(Tree tree) {
    if (open_.empty()) {
      root_ = std::move(tree);
      return;
    }
    open_.back().tree.nodes += tree.nodes;
    open_.back().tree.items.push_back(std::move(tree));
  }

  bool one_only_;
  Tree root_;
  std::vector<Tree> documents_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Tree> anchors_;
  std::size_t nodes_ = 0;
};

Expected<std::vector<Tree>, Error> parse(std::string_view text, std::string_view file,
                                         bool one_only) {
  const auto error = [&](SourceLocation place, std::string sentence) {
    return unexpected(Error{std::string(file), place, std::move(sentence)});
  };
  if (text.size() > kMostBytes) {
    return error({}, "is larger than 1 MiB; a policy file has at most " +
                         std::to_string(kMostBytes) + " bytes");
  }
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Builder builder(one_only);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Refused& refused) {
    return error(refused.place, refused.sentence);
  } catch (const YAML::Exception& exception) {
    return error(place_of(exception.mark),
                 "is not valid YAML: " + text::on_one_line(exception.msg));
  } catch (const std::exception& exception) {
    return error({}, std::string("cannot be read as YAML: ") + exception.what());
  }
}

void append(Tree& map, const Tree& key, Tree value) {
  map.nodes += key.nodes + value.nodes;
  map.items.push_back(key);
  map.items.push_back(std::move(value));
}

}  // namespace

Expected<Tree, Error> parse_yaml(std::string_view text, std::string_view file) {
  auto documents = parse(text, file, true);
  if (!documents) return unexpected(documents.error());
  return documents->empty() ? Tree{} : std::move(documents->front());
}

Expected<std::vector<Tree>, Error> parse_yaml_documents(std::string_view text,
                                                        std::string_view file) {
  return parse(text, file, false);
}

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
