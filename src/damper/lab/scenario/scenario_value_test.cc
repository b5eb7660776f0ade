#include "damper/lab/scenario/scenario_value.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> kColours = {"red", "green"};
constexpr Form kDuration = {ValueKind::duration, 1, 3.6e12, {}, 0};
constexpr Form kInteger = {ValueKind::integer, 1, 10, {}, {}};
constexpr Form kBoolean = {ValueKind::boolean, 0, 1, {}, {}};
constexpr Form kChoice = {ValueKind::choice, 0, 1, kColours, {}};
constexpr Form kNumber = {ValueKind::number, 0.5, 10, {}, {}};
constexpr Form kShare = {ValueKind::share, 0, 1, {}, {}};
constexpr Form kDistribution = {ValueKind::distribution, 0, 0, {}, {}};
constexpr Form kName = {ValueKind::name, 0, 0, {}, {}};
constexpr Form kText = {ValueKind::text, 0, 0, {}, {}};
constexpr Form kNumbers = {ValueKind::numbers, 0, 100, {}, {}};
constexpr Form kWholes = {ValueKind::wholes, 0, 9, {}, {}};

// What the YAML says, written back, or the error.
std::string read(const Form& form, const std::string& yaml) {
  const auto tree = config::parse_yaml(yaml, "v.yaml");
  EXPECT_TRUE(tree) << yaml;
  const auto value = read_value("key", form, *tree);
  return value ? write_value(form, *value) : value.error();
}

TEST(ScenarioValue, WhatAPolicyFileHasMeansTheSame) {
  EXPECT_EQ(read(kDuration, "1.5m"), "1.5m");
  EXPECT_EQ(read(kDuration, "off"), "off");
  EXPECT_EQ(read(kInteger, "7"), "7");
  EXPECT_EQ(read(kBoolean, "true"), "true");
  EXPECT_EQ(read(kChoice, "green"), "green");
  EXPECT_EQ(read(kDuration, "-1s"),
            "key must be a duration from 1ns to 1h, or off, such as 250ms, 2s or 1.5m, not "
            "\"-1s\"");
  EXPECT_EQ(read(kInteger, "11"), "key must be a whole number from 1 to 10, not \"11\"");
  EXPECT_EQ(read(kBoolean, "yes"), "key must be true or false, not \"yes\"");
  EXPECT_EQ(read(kChoice, "gren"),
            "key must be one of red, green, not \"gren\"; did you mean green?");
}

TEST(ScenarioValue, ANumberIsPlainAndWithinItsBounds) {
  EXPECT_EQ(read(kNumber, "0.5"), "0.5");
  EXPECT_EQ(read(kNumber, "10"), "10");
  for (const std::string yaml : {"0.49", "10.1", "-1", "1e0", "nan", "inf", "0x2", "1.5s", "''"}) {
    EXPECT_EQ(read(kNumber, yaml).substr(0, 40), "key must be a number from 0.5 to 10, not")
        << yaml;
  }
  EXPECT_EQ(read(kNumber, "[1]"), "key must be a number from 0.5 to 10, not a list");
  EXPECT_EQ(read(kNumber, "{a: 1}"), "key must be a number from 0.5 to 10, not a map");
  EXPECT_EQ(read(kNumber, "~"), "key must be a number from 0.5 to 10, not nothing");
}

TEST(ScenarioValue, AShareIsAFractionOrPercent) {
  EXPECT_EQ(read(kShare, "0.1"), "0.1");
  EXPECT_EQ(read(kShare, "10%"), "0.1");
  EXPECT_EQ(read(kShare, "100%"), "1");
  EXPECT_EQ(read(kShare, "0.17%"), read(kShare, "0.0017"));
  EXPECT_EQ(read(kShare, "10"), "key must be a share from 0 to 1, such as 0.1 or 10%, not \"10\"");
  EXPECT_EQ(read(kShare, "101%"),
            "key must be a share from 0 to 1, such as 0.1 or 10%, not \"101%\"");
}

TEST(ScenarioValue, ADistributionIsOneOfDistributionH) {
  EXPECT_EQ(read(kDistribution, "exponential(5ms)"), "exponential(5ms)");
  EXPECT_EQ(read(kDistribution, "5ms"), "5ms");
  EXPECT_EQ(read(kDistribution, "guess(5ms)").substr(0, 5), "key: ");
  EXPECT_EQ(read(kDistribution, "[5ms]"),
            "key must be a distribution, such as 5ms, exponential(5ms) or normal(50ms, 10ms), not "
            "a list");
}

TEST(ScenarioValue, ANameHasLettersDigitsAndFewOthers) {
  EXPECT_EQ(read(kName, "a-B_9.c"), "\"a-B_9.c\"");
  EXPECT_TRUE(is_name(std::string(100, 'a')));
  EXPECT_FALSE(is_name(std::string(101, 'a')));
  EXPECT_FALSE(is_name(""));
  EXPECT_FALSE(is_name("a/b"));
  EXPECT_FALSE(is_name("a b"));
  EXPECT_EQ(read(kName, "a/b"), "key must be 1 to 100 letters, digits or . _ -, not \"a/b\"");
}

TEST(ScenarioValue, ATextHasABound) {
  EXPECT_EQ(read(kText, "two words"), "\"two words\"");
  EXPECT_EQ(read(kText, std::string(1001, 'a')).substr(0, 46),
            "key must be a text of at most 1000 characters,");
}

TEST(ScenarioValue, NumbersAreAListOrARange) {
  EXPECT_EQ(read(kNumbers, "[1, 2.5]"), "[1, 2.5]");
  EXPECT_EQ(read(kNumbers, "[]"), "[]");
  EXPECT_EQ(read(kNumbers, "{from: 1, to: 3, step: 1}"), "[1, 2, 3]");
  EXPECT_EQ(read(kNumbers, "{step: 50, from: 0, to: 99}"), "[0, 50]");
  EXPECT_EQ(read(kNumbers, "{from: 0, to: 0.5, step: 0.125}"), "[0, 0.125, 0.25, 0.375, 0.5]");
  const auto tenths = config::parse_yaml("{from: 0, to: 0.3, step: 0.1}", "v.yaml");
  EXPECT_EQ(std::get<std::vector<double>>(*read_value("key", kNumbers, *tenths)).size(), 4U);
}

TEST(ScenarioValue, AListOutsideItsBoundsIsAnError) {
  const std::string wrong =
      "key must be a list of at most 1000 numbers from 0 to 100, such as [1, 2.5] or {from: 1, to: "
      "3, step: 0.5}, not ";
  for (const std::string yaml :
       {"{from: 1, to: 3}", "{from: 3, to: 1, step: 1}", "{from: 1, to: 3, step: 0}",
        "{from: 0, to: 100, step: 0.01}", "{from: 1, to: 3, step: 1, by: 1}",
        "{from: 90, to: 110, step: 10}", "{from: nan, to: 1, step: 1}",
        "{from: 0, to: inf, step: 1}"}) {
    EXPECT_EQ(read(kNumbers, yaml), wrong + "a map") << yaml;
  }
  EXPECT_EQ(read(kNumbers, "[101]"), wrong + "a list");
  EXPECT_EQ(read(kNumbers, "[[1]]"), wrong + "a list");
  EXPECT_EQ(read(kNumbers, "5"), wrong + "\"5\"");
  std::string many = "[";
  for (int i = 0; i < 1000; ++i) many += "1, ";
  EXPECT_EQ(read(kNumbers, many + "]").front(), '[');
  EXPECT_EQ(read(kNumbers, many + "1]"), wrong + "a list");
}

TEST(ScenarioValue, WholesAreAListOfWholeNumbers) {
  EXPECT_EQ(read(kWholes, "[0, 9]"), "[0, 9]");
  EXPECT_EQ(read(kWholes, "[0.5]").substr(0, 51),
            "key must be a list of at most 1000 whole numbers fr");
  EXPECT_EQ(read(kWholes, "{from: 1, to: 3, step: 1}").substr(0, 14), "key must be a ");
}

TEST(ScenarioValue, AValueThatWasNotReadIsHeldToTheSameBounds) {
  const auto error = [](const Form& form, const Value& value) {
    return find_error("key", form, value).value_or("ok");
  };
  EXPECT_EQ(error(kInteger, Value()), "ok");
  EXPECT_EQ(error(kInteger, std::int64_t{10}), "ok");
  EXPECT_EQ(error(kInteger, std::int64_t{0}), "key must be a whole number from 1 to 10, not 0");
  EXPECT_EQ(error(kChoice, std::int64_t{2}), "key must be one of red, green, not 2");
  EXPECT_EQ(error(kDuration, std::int64_t{0}), "ok");  // It stands for off.
  EXPECT_EQ(error(kDuration, std::int64_t{-1}).substr(0, 22), "key must be a duration");
  EXPECT_EQ(error(kNumber, 0.4), "key must be a number from 0.5 to 10, not 0.4");
  EXPECT_NE(error(kNumber, std::numeric_limits<double>::quiet_NaN()), "ok");
  EXPECT_NE(error(kShare, std::numeric_limits<double>::infinity()), "ok");
  EXPECT_EQ(error(kDistribution, Distribution::exponential(1ms)), "ok");
  EXPECT_EQ(error(kDistribution, Distribution::exponential(0ms)).substr(0, 5), "key: ");
  EXPECT_NE(error(kName, std::string("a b")), "ok");
  EXPECT_NE(error(kWholes, std::vector<double>{0.5}), "ok");
}

}  // namespace
}  // namespace damper::lab
