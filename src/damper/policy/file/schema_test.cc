#include "damper/policy/file/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "damper/config/schema_testing.h"

namespace damper::policy {
namespace {

Expected<config::Value, config::Error> read(std::string_view path, std::string_view text) {
  const auto tree = config::parse_yaml(text, "p.yaml");
  EXPECT_TRUE(tree);
  return config::read_value("key", block_schema().key_at(path).form, *tree);
}

// The integer that is held, or "error".
std::string read_text(std::string_view path, std::string_view text) {
  const auto value = read(path, text);
  return value ? std::to_string(std::get<std::int64_t>(*value)) : "error";
}

TEST(Schema, EachKeyHasAFieldOfItsOwnAValidDefaultAndADocumentedPath) {
  config::expect_sound(block_schema(),
                       {"hedge_policy.max_hedges", "hedge_policy.additional_request_chance"});
}

TEST(Schema, APercentageIsExact) {
  constexpr std::string_view kPath = "retry_budget.budget_percent";
  EXPECT_EQ(read_text(kPath, "10"), "1000");
  EXPECT_EQ(read_text(kPath, "10.5"), "1050");
  EXPECT_EQ(read_text(kPath, "0.25"), "25");
  EXPECT_EQ(read_text(kPath, "0.07"), "7");
  EXPECT_EQ(read_text(kPath, "10%"), "1000");
  EXPECT_EQ(read_text(kPath, "'10 %'"), "1000");
  EXPECT_EQ(read_text(kPath, "{value: 20.0}"), "2000");
  EXPECT_EQ(read_text(kPath, "20.000"), "2000");
  EXPECT_EQ(read_text(kPath, "1000"), "100000");
  for (const char* wrong : {"0.125",
                            "1000.01",
                            "-1",
                            "-0.5",
                            "+1",
                            "1e2",
                            "",
                            "%",
                            ".",
                            ".5",
                            "5.",
                            "1.2.3",
                            "0x10",
                            "99999999999999999999",
                            "1.-5",
                            "{value: [1]}",
                            "{value: 1, more: 2}",
                            "{percent: 1}",
                            "[1]",
                            "~"}) {
    EXPECT_EQ(read_text(kPath, wrong), "error") << wrong;
  }
}

TEST(Schema, AChanceIsAFractionInEnvoysForm) {
  constexpr std::string_view kPath = "hedge_policy.additional_request_chance";
  EXPECT_EQ(read_text(kPath, "{numerator: 5}"), "500");
  EXPECT_EQ(read_text(kPath, "{numerator: 5, denominator: HUNDRED}"), "500");
  EXPECT_EQ(read_text(kPath, "{numerator: 5, denominator: TEN_THOUSAND}"), "5");
  EXPECT_EQ(read_text(kPath, "{denominator: MILLION, numerator: 500}"), "5");
  EXPECT_EQ(read_text(kPath, "{numerator: 1000000, denominator: MILLION}"), "10000");
  EXPECT_EQ(read_text(kPath, "5%"), "500");
  for (const char* wrong :
       {"{numerator: 550, denominator: MILLION}", "{numerator: 101}", "{numerator: -1}",
        "{denominator: HUNDRED}", "{numerator: 5, denominator: THOUSAND}", "{numerator: 5, x: 1}",
        "{numerator: 9223372036854775807}", "{numerator: -9223372036854775807}", "{}", "~", "[5]",
        "101"}) {
    EXPECT_EQ(read_text(kPath, wrong), "error") << wrong;
  }
}

TEST(Schema, BothBoundsAreAccepted) {
  EXPECT_EQ(read_text("retry_policy.num_retries", "0"), "0");
  EXPECT_EQ(read_text("retry_policy.num_retries", "99"), "99");
  for (const char* wrong : {"-1", "100", "1.0", "1s", "", "0x1", "99999999999999999999", "1 2"}) {
    EXPECT_EQ(read_text("retry_policy.num_retries", wrong), "error") << wrong;
  }
  EXPECT_EQ(read_text("timeout", "1ns"), "1");
  EXPECT_EQ(read_text("timeout", "720h"), "2592000000000000");
  EXPECT_EQ(read_text("timeout", "0s"), "error");
  EXPECT_EQ(read_text("timeout", "721h"), "error");
  EXPECT_EQ(read_text("timeout", "2"), "error");
  EXPECT_EQ(read_text("retry_budget.window", "999ms"), "error");
  EXPECT_EQ(read_text("retry_budget.window", "1s"), "1000000000");
}

TEST(Schema, OffIsAcceptedWhereItMeansSomething) {
  EXPECT_EQ(read_text("retry_budget.min_retry_concurrency", "off"), "-1");
  EXPECT_EQ(read_text("circuit_breaker.ramp", "off"), "0");
  EXPECT_EQ(read_text("circuit_breaker.ramp", "0s"), "0");
  EXPECT_EQ(read_text("timeout", "off"), "error");
}

TEST(Schema, TokensAreAListInEitherForm) {
  constexpr std::string_view kPath = "retry_policy.retry_on";
  EXPECT_EQ(read_text(kPath, "default"), "1");
  EXPECT_EQ(read_text(kPath, "'5xx, reset'"), "10");
  EXPECT_EQ(read_text(kPath, "[5xx, reset]"), "10");
  EXPECT_EQ(read_text(kPath, "reset,reset,"), "8");
  EXPECT_EQ(read_text(kPath, "[]"), "0");
  for (const char* wrong : {"~", "{}", "[[reset]]", "5xx reset", "RESET"}) {
    EXPECT_EQ(read_text(kPath, wrong), "error") << wrong;
  }
}

Route applied(std::string_view text) {
  const auto file = load(text, "p.yaml");
  EXPECT_TRUE(file) << to_string(file.error());
  return file->routes.at(0);
}

TEST(Block, OnlyWhatItSaysIsMarkedAsItsOwn) {
  const Route route = applied("route: {timeout: 3s, retry_policy: {num_retries: 1}}");
  std::string own;
  for (std::size_t i = 0; i < block_schema().keys().size(); ++i) {
    if (route.origins[i] == Origin::route) own += std::string(block_schema().keys()[i].path) + ' ';
  }
  EXPECT_EQ(own, "timeout retry_policy.num_retries ");
}

TEST(Block, TheOrderOfItsKeysDoesNotMatter) {
  std::vector<std::string> lines = {
      " timeout: 3s", " circuit_breaker: {probes: 2}",
      " retry_policy: {retry_on: reset, retry_back_off: {base_interval: 2s}}",
      " hedge_policy: {additional_request_chance: {numerator: 9}, max_hedges: 2}"};
  std::sort(lines.begin(), lines.end());
  std::string first;
  do {
    std::string text = "route:\n";
    for (const std::string& line : lines) text += line + '\n';
    const auto file = load(text, "p.yaml");
    ASSERT_TRUE(file) << to_string(file.error());
    if (first.empty()) first = print(*file);
    ASSERT_EQ(print(*file), first) << text;
  } while (std::next_permutation(lines.begin(), lines.end()));
}

TEST(Block, ErrorsComeInTheOrderOfTheFile) {
  const auto file = load("route:\n retry_budget: {window: 1ms}\n timeout: 0s\n", "p.yaml");
  EXPECT_EQ(to_string(file.error()),
            "p.yaml:2:25: window must be a duration from 1s to 1h, such as 250ms, 2s or 1.5m, not "
            "\"1ms\"");
}

TEST(Block, ANoteKnowsWhetherItIsAboutOverload) {
  const auto about = [](const std::string& text) {
    const auto file = load("route: {retry_policy: {" + text + "}}", "p.yaml");
    EXPECT_TRUE(file);
    return file->notes.at(0).about_overload;
  };
  EXPECT_TRUE(about("retry_on: envoy-ratelimited"));
  EXPECT_TRUE(about("retry_on: resource-exhausted"));
  EXPECT_TRUE(about("retriable_status_codes: [429]"));
  EXPECT_FALSE(about("retry_on: retriable-4xx"));
  EXPECT_FALSE(about("retriable_status_codes: [404]"));
  EXPECT_FALSE(about("retry_on: ''"));
}

}  // namespace
}  // namespace damper::policy
