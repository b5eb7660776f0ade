#include "damper/policy/file/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

Expected<Block, config::Error> block_of(std::string_view text, std::vector<config::Note>& notes) {
  const auto tree = config::parse_yaml(text, "p.yaml");
  EXPECT_TRUE(tree);
  return read_block(*tree, {7, 1}, "db", "p.yaml", notes);
}

Route applied(std::string_view text) {
  std::vector<config::Note> notes;
  const auto block = block_of(text, notes);
  EXPECT_TRUE(block) << to_string(block.error());
  Route route;
  route.origins.resize(keys().size(), Origin::built_in);
  route.places.resize(keys().size());
  apply(*block, Origin::route, route);
  return route;
}

TEST(Block, OnlyWhatItSaysIsMarkedAsItsOwn) {
  const Route route = applied("{timeout: 3s, retry_policy: {num_retries: 1}}");
  std::string own;
  for (std::size_t i = 0; i < keys().size(); ++i) {
    if (route.origins[i] == Origin::route) own += std::string(keys()[i].path) + ' ';
  }
  EXPECT_EQ(own, "timeout retry_policy.num_retries ");
}

TEST(Block, TheOrderOfItsKeysDoesNotMatter) {
  std::vector<std::string> lines = {
      "timeout: 3s", "circuit_breaker: {probes: 2}",
      "retry_policy: {retry_on: reset, retry_back_off: {base_interval: 2s}}",
      "hedge_policy: {additional_request_chance: {numerator: 9}, max_hedges: 2}"};
  std::sort(lines.begin(), lines.end());
  std::string first;
  do {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    const Route route = applied(text);
    std::string values;
    for (const Key& key : keys()) {
      if (parent(key.path) != "client_throttle" && parent(key.path) != "concurrency_limit" &&
          !key.path.starts_with("facts.")) {
        values += write(key, route.settings) + ' ';
      }
    }
    if (first.empty()) first = values;
    ASSERT_EQ(values, first) << text;
  } while (std::next_permutation(lines.begin(), lines.end()));
}

TEST(Block, ErrorsComeInTheOrderOfTheFile) {
  std::vector<config::Note> notes;
  EXPECT_EQ(to_string(block_of("retry_budget: {window: 1ms}\ntimeout: 0s\n", notes).error()),
            "p.yaml:1:24: window must be a duration from 1s to 1h, such as 250ms, 2s or 1.5m, not "
            "\"1ms\"");
}

TEST(Block, WhatIsNoMapIsAnErrorWhereItsNameStands) {
  std::vector<config::Note> notes;
  EXPECT_EQ(to_string(block_of("fast", notes).error()).substr(0, 37),
            "p.yaml:7:1: db must be a map of keys ");
}

TEST(Block, ANoteKnowsWhetherItIsAboutOverload) {
  const auto about = [](std::string_view text) {
    std::vector<config::Note> notes;
    EXPECT_TRUE(block_of(text, notes));
    return notes.at(0).about_overload;
  };
  EXPECT_TRUE(about("retry_policy: {retry_on: envoy-ratelimited}"));
  EXPECT_TRUE(about("retry_policy: {retry_on: resource-exhausted}"));
  EXPECT_TRUE(about("retry_policy: {retriable_status_codes: [429]}"));
  EXPECT_FALSE(about("retry_policy: {retry_on: retriable-4xx}"));
  EXPECT_FALSE(about("retry_policy: {retriable_status_codes: [404]}"));
  EXPECT_FALSE(about("retry_policy: {retry_on: ''}"));
}

}  // namespace
}  // namespace damper::policy
