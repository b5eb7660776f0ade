#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "damper/config/yaml_tree.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

TEST(PolicyFile, APartOfAnotherFileIsReadUnderItsOwnNameAndPlace) {
  const auto part = [](std::string_view yaml) {
    const auto tree = config::parse_yaml(yaml, "s.yaml");
    const auto file = load_part(tree->value(0), tree->key(0).place, "policy", "s.yaml");
    return file ? "ok" : to_string(file.error());
  };
  EXPECT_EQ(part("\npolicy: {route: {timeout: 1s}}"), "ok");
  EXPECT_EQ(part("\npolicy:"),
            "s.yaml:2:1: policy is empty (expected: route, routes or dependencies)");
  EXPECT_EQ(part("\npolicy: {defaults: {}}"),
            "s.yaml:2:1: policy has no route (expected: route, routes or dependencies)");
  EXPECT_EQ(part("\npolicy: {rout: {}}").substr(0, 55),
            "s.yaml:2:10: unknown key \"rout\" in policy; did you mean");
}

TEST(PolicyFile, WordsThatSomebodyElseReadsAreListedAndSuggestedInTheBlockItself) {
  config::Schema<std::string> beside("beside");
  beside.key<[](auto& text) -> auto& { return text; }>("cluster", {.kind = config::Kind::text}, "");
  beside.section("match", "");
  const auto error = [&](std::string_view yaml) {
    const auto tree = config::parse_yaml(yaml, "s.yaml");
    std::vector<config::Reading> readings;
    const auto file = load_part(*tree, {1, 1}, "the file", "s.yaml", &beside, &readings);
    return file ? "ok " + std::to_string(readings.size()) : to_string(file.error());
  };
  EXPECT_EQ(error("defaults: {cluster: a}\nroutes: {x: {}, y: {cluster: b}}"), "ok 3");
  const std::string unknown = error("route: {clustr: a}");
  EXPECT_EQ(
      unknown.substr(0, unknown.find("timeout")),
      "s.yaml:1:9: unknown key \"clustr\" in route; did you mean cluster? (accepted: cluster, "
      "match, ");
  EXPECT_NE(error("defaults: {mach: a}\nroute: {}").find("did you mean match?"), std::string::npos);
  EXPECT_EQ(error("route: {retry_budget: {mach: a}}").find("match"), std::string::npos);
}

}  // namespace
}  // namespace damper::policy
