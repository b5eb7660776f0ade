// What the loader says about a wrong value, for every key and section of the proxy's file.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "damper/config/schema.h"
#include "damper/config/yaml_tree.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

// A file of one line, and where the key and its value begin.
struct Line {
  std::string text;
  std::size_t key = 0;
  std::size_t value = 0;
};

Line line_with(std::string_view path, std::string_view value) {
  Line line;
  std::size_t depth = 0;
  for (std::string_view rest = path; !rest.empty(); ++depth) {
    const std::size_t dot = rest.find('.');
    line.text += '{';
    line.key = line.text.size() + 1;
    line.text.append(rest.substr(0, dot)).append(": ");
    rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
  }
  line.value = line.text.size() + 1;
  line.text.append(value).append(depth, '}');
  return line;
}

// One sentence, at the key or within its value, that names the key or a word of the value.
template <class T>
void expect_sentence(const config::Schema<T>& schema, std::string_view path,
                     std::string_view value) {
  const Line line = line_with(path, value);
  const auto tree = config::parse_yaml(line.text, "p.yaml");
  ASSERT_TRUE(tree) << line.text;
  T thing{};
  const auto wrong = config::Reader("p.yaml").read(schema, *tree, {1, 1}, "it", thing);
  ASSERT_TRUE(wrong) << line.text;
  const std::string sentence = to_string(*wrong);
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  EXPECT_EQ(wrong->place.line, 1) << sentence;
  const auto column = static_cast<std::size_t>(wrong->place.column);
  EXPECT_TRUE(column == line.key || (column >= line.value && column <= line.text.size()))
      << line.text << "\n"
      << sentence;
  EXPECT_TRUE(sentence.find(config::leaf(path)) != std::string::npos ||
              sentence.find("zz") != std::string::npos)
      << line.text << "\n"
      << sentence;
}

template <class T>
void expect_sentences(const config::Schema<T>& schema) {
  for (const config::Key& key : schema.keys()) {
    expect_sentence(schema, key.path, "[[[zz]]]");
    expect_sentence(schema, key.path, "{zz: {zz: zz}}");
    using enum config::Kind;
    if (key.form.kind == text || key.form.kind == texts || key.form.kind == custom) continue;
    if (key.form.kind != tokens || key.form.fewest > 0) expect_sentence(schema, key.path, "''");
    for (const std::string_view value : {"zz", "-1", "1e999", "99999999999999999999d"}) {
      expect_sentence(schema, key.path, value);
    }
  }
  for (const config::Section& section : schema.sections()) {
    expect_sentence(schema, section.path, "[[[zz]]]");
    expect_sentence(schema, section.path, "{zz: {zz: zz}}");
  }
}

TEST(ProxySchemaErrors, AWrongValueOfTheFile) { expect_sentences(proxy_schema()); }
TEST(ProxySchemaErrors, AWrongValueOfAListener) { expect_sentences(listener_schema()); }
TEST(ProxySchemaErrors, AWrongValueOfACluster) { expect_sentences(cluster_schema()); }
TEST(ProxySchemaErrors, AWrongValueOfARoute) { expect_sentences(route_schema()); }

}  // namespace
}  // namespace damper::proxy
