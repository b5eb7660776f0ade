#include "damper/policy/lint/calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace damper::policy {
namespace {

Route route(std::string name, std::vector<std::string> called) {
  Route route;
  route.name = std::move(name);
  route.settings.facts.emplace().calls = std::move(called);
  return route;
}

std::string error_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  return file ? "ok" : to_string(file.error());
}

TEST(Calls, AreThePositionsOfTheNamesEachOnce) {
  const std::vector<Route> routes = {route("web", {"db", "cache", "db", "nobody"}),
                                     route("cache", {}), route("db", {"cache"})};
  EXPECT_EQ(calls(routes), (std::vector<std::vector<std::size_t>>{{2, 1}, {}, {1}}));
}

TEST(Calls, CallersComeBeforeWhomTheyCall) {
  EXPECT_EQ(callers_first({{}, {0}, {0, 1}}), (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(callers_first({{1}, {3}, {3}, {}}), (std::vector<std::size_t>{0, 2, 1, 3}));
}

TEST(Calls, WhatIsInACycleOrBelowOneIsNotInTheOrder) {
  EXPECT_EQ(callers_first({{1}, {2}, {1, 3}, {}}), (std::vector<std::size_t>{0}));
  EXPECT_EQ(callers_first({{0}}), (std::vector<std::size_t>{}));
}

TEST(Calls, ARouteThatIsNotThereIsAnErrorWithTheNearest) {
  EXPECT_EQ(error_of("routes:\n  web: {facts: {calls: [inventry]}}\n  inventory: {}\n"),
            "p.yaml:2:24: calls names \"inventry\", which is no route of this file; did you mean "
            "inventory?");
  EXPECT_EQ(error_of("route: {facts: {calls: [db]}}"),
            "p.yaml:1:24: calls names \"db\", which is no route of this file");
}

TEST(Calls, ACycleIsAnErrorThatNamesIt) {
  EXPECT_EQ(error_of("routes:\n"
                     "  top: {facts: {calls: [a]}}\n"
                     "  a: {facts: {calls: [b]}}\n"
                     "  b: {facts: {calls: [below, c]}}\n"
                     "  c: {facts: {calls: [a]}}\n"
                     "  below: {}\n"),
            "p.yaml:3:22: calls goes round in a circle: a > b > c > a; a service cannot be below "
            "itself");
  EXPECT_EQ(error_of("routes: {a: {facts: {calls: [a]}}}"),
            "p.yaml:1:29: calls goes round in a circle: a > a; a service cannot be below itself");
  EXPECT_EQ(error_of("routes: {a: {facts: {calls: [b, c]}}, b: {facts: {calls: [c]}}, c: {}}"),
            "ok");
}

TEST(Calls, ALongCycleIsCutOff) {
  std::string text = "routes:\n";
  for (int i = 0; i < 1000; ++i) {
    text += "  r" + std::to_string(i) + ": {facts: {calls: [r" + std::to_string((i + 1) % 1000) +
            "]}}\n";
  }
  EXPECT_EQ(error_of(text),
            "p.yaml:2:23: calls goes round in a circle: r0 > r1 > r2 > r3 > r4 > r5 > r6 > r7 > r8 "
            "> r9 > ...; a service cannot be below itself");
}

}  // namespace
}  // namespace damper::policy
