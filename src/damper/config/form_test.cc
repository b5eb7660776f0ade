#include "damper/config/form.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

namespace damper::config {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> kColours = {"red", "green"};
constexpr Form kDuration = form::duration(kTick, 1h).with_off(0);
constexpr Form kInteger = form::integer(1, 10);
constexpr Form kChoice = form::choice(kColours);
constexpr Form kNumber = form::number(0.5, 10);
constexpr Form kNumbers = form::of(Kind::numbers, 0, 100);
constexpr Form kWholes = form::of(Kind::wholes, 0, 9);
constexpr Form kBytes = form::bytes(0, 1099511627776);
constexpr Form kRate = form::rate(0, 1e9);

Expected<std::string> parse_ab(std::string_view text) {
  if (text == "c") return unexpected(std::string("c is reserved"));
  if (text != "a" && text != "b") return unexpected(std::string());
  return std::string(text);
}
constexpr Form kText = form::parsed(parse_ab, "a or b");
constexpr Form kTexts = form::parsed_list(parse_ab, "a or b", 1, 3);

// What the YAML holds, written back, or the error.
std::string read(const Form& form, const std::string& yaml) {
  const auto tree = parse_yaml(yaml, "v.yaml");
  EXPECT_TRUE(tree) << yaml;
  const auto value = read_value("key", form, *tree);
  return value ? write_value(form, *value) : value.error().sentence;
}

TEST(Form, AValueOutsideItsBoundsIsOneSentence) {
  EXPECT_EQ(read(kDuration, "1.5m"), "1.5m");
  EXPECT_EQ(read(kDuration, "off"), "off");
  EXPECT_EQ(read(kInteger, "7"), "7");
  EXPECT_EQ(read(form::kBoolean, "true"), "true");
  EXPECT_EQ(read(kChoice, "green"), "green");
  EXPECT_EQ(read(kDuration, "-1s"),
            "key must be a duration from 1ns to 1h, or off, such as 250ms, 2s or 1.5m, not "
            "\"-1s\"");
  EXPECT_EQ(read(kDuration, "0s").substr(0, 22), "key must be a duration");  // `off` is the word.
  EXPECT_EQ(read(kInteger, "11"), "key must be a whole number from 1 to 10, not \"11\"");
  EXPECT_EQ(read(form::kBoolean, "yes"), "key must be true or false, not \"yes\"");
  EXPECT_EQ(read(kChoice, "gren"),
            "key must be one of red, green, not \"gren\"; did you mean green?");
}

TEST(Form, ANumberIsPlainAndWithinItsBounds) {
  EXPECT_EQ(read(kNumber, "0.5"), "0.5");
  EXPECT_EQ(read(kNumber, "10"), "10");
  for (const std::string yaml : {"0.49", "10.1", "-1", "1e0", "nan", "inf", "0x2", "1.5s", "''"}) {
    EXPECT_EQ(read(kNumber, yaml).substr(0, 40), "key must be a number from 0.5 to 10, not")
        << yaml;
  }
  EXPECT_EQ(read(kNumber, "[1]"), "key must be a number from 0.5 to 10, not a list");
  EXPECT_EQ(read(kNumber, "[]"), "key must be a number from 0.5 to 10, not an empty list");
  EXPECT_EQ(read(kNumber, "{a: 1}"), "key must be a number from 0.5 to 10, not a map");
  EXPECT_EQ(read(kNumber, "~"), "key must be a number from 0.5 to 10, not nothing");
}

TEST(Form, ANumberOfBytesMayHaveAUnit) {
  EXPECT_EQ(read(kBytes, "4097"), "4097");
  EXPECT_EQ(read(kBytes, "65536"), "64KiB");
  EXPECT_EQ(read(kBytes, "1 MiB"), "1MiB");
  EXPECT_EQ(read(kBytes, "1024GiB"), "1024GiB");
  EXPECT_EQ(read(form::bytes(0, 1024), "2KiB"),
            "key must be a number of bytes from 0 to 1KiB, such as 4096, 64KiB or 1MiB, not "
            "\"2KiB\"");
  for (const std::string wrong : {"64KB", "64k", "-1", "1.5MiB", "KiB", "1025GiB", "''",
                                  "99999999999999999999", "1  MiB", "[1]"}) {
    EXPECT_NE(read(kBytes, wrong).find("must be"), std::string::npos) << wrong;
  }
}

TEST(Form, ARateIsExactToAThousandth) {
  EXPECT_EQ(read(kRate, "100"), "100");
  EXPECT_EQ(read(kRate, "12.250"), "12.25");
  EXPECT_EQ(read(kRate, "0.0010"), "0.001");
  EXPECT_EQ(read(kRate, "0.0001"),
            "key must be a number from 0 to 1000000, with at most three decimals, not \"0.0001\"");
  for (const std::string wrong : {"-1", "1.", ".5", "1e3", "1.-5", "9999999999999", "''"}) {
    EXPECT_NE(read(kRate, wrong).find("must be"), std::string::npos) << wrong;
  }
}

TEST(Form, AShareIsAFractionOrPercent) {
  EXPECT_EQ(read(form::kShare, "0.1"), "0.1");
  EXPECT_EQ(read(form::kShare, "10%"), "0.1");
  EXPECT_EQ(read(form::kShare, "100%"), "1");
  EXPECT_EQ(read(form::kShare, "0.17%"), read(form::kShare, "0.0017"));
  EXPECT_EQ(read(form::kShare, "10"),
            "key must be a share from 0 to 1, such as 0.1 or 10%, not \"10\"");
  EXPECT_EQ(read(form::kShare, "101%"),
            "key must be a share from 0 to 1, such as 0.1 or 10%, not \"101%\"");
}

TEST(Form, ATextIsWhatItsParserReturns) {
  EXPECT_EQ(read(kText, "a"), "\"a\"");
  EXPECT_EQ(read(kText, "x"), "key must be a or b, not \"x\"");
  EXPECT_EQ(read(kText, "c"), "key must be a or b, not \"c\": c is reserved");
  EXPECT_EQ(read(kText, "[a]"), "key must be a or b, not a list");
  EXPECT_EQ(read({.kind = Kind::text}, "two words"), "\"two words\"");
  EXPECT_EQ(read({.kind = Kind::text}, std::string(1001, 'a')).substr(0, 46),
            "key must be a text of at most 1000 characters,");
  EXPECT_EQ(quoted(R"(a "b" \c)"), R"("a \"b\" \\c")");
}

TEST(Form, AListOfTextsMayBeASingleOne) {
  EXPECT_EQ(read(kTexts, "[a, b]"), R"(["a", "b"])");
  EXPECT_EQ(read(kTexts, "b"), R"(["b"])");
  EXPECT_EQ(read(kTexts, "[a, x]"), "key must be a or b, not \"x\"");
  EXPECT_EQ(read(kTexts, "[]"), "key must be a list of 1 to 3, each a or b, not an empty list");
  EXPECT_EQ(read(kTexts, "[a, a, a, a]"),
            "key must be a list of 1 to 3, each a or b, not a list of 4");
  EXPECT_EQ(write_value(kTexts, std::vector<std::string>{}), "");
}

TEST(Form, NumbersAreAListOrARange) {
  EXPECT_EQ(read(kNumbers, "[1, 2.5]"), "[1, 2.5]");
  EXPECT_EQ(read(kNumbers, "[]"), "[]");
  EXPECT_EQ(read(kNumbers, "{from: 1, to: 3, step: 1}"), "[1, 2, 3]");
  EXPECT_EQ(read(kNumbers, "{step: 50, from: 0, to: 99}"), "[0, 50]");
  EXPECT_EQ(read(kNumbers, "{from: 0, to: 0.5, step: 0.125}"), "[0, 0.125, 0.25, 0.375, 0.5]");
  const auto tenths = parse_yaml("{from: 0, to: 0.3, step: 0.1}", "v.yaml");
  EXPECT_EQ(std::get<std::vector<double>>(*read_value("key", kNumbers, *tenths)).size(), 4U);
}

TEST(Form, AListOutsideItsBoundsIsAnErrorAtItsFirstWrongItem) {
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
  EXPECT_EQ(read(kNumbers, "[1, 101]"), wrong + "\"101\"");
  EXPECT_EQ(read(kNumbers, "[[1]]"), wrong + "a list");
  EXPECT_EQ(read(kNumbers, "5"), wrong + "\"5\"");
  std::string many = "[";
  for (int i = 0; i < 1000; ++i) many += "1, ";
  EXPECT_EQ(read(kNumbers, many + "]").front(), '[');
  EXPECT_EQ(read(kNumbers, many + "1]"), wrong + "a list");
}

TEST(Form, WholesAreAListOfWholeNumbers) {
  EXPECT_EQ(read(kWholes, "[0, 9]"), "[0, 9]");
  EXPECT_EQ(read(kWholes, "[0.5]").substr(0, 51),
            "key must be a list of at most 1000 whole numbers fr");
  EXPECT_EQ(read(kWholes, "{from: 1, to: 3, step: 1}").substr(0, 14), "key must be a ");
}

TEST(Form, AValueThatWasNotReadIsHeldToTheSameBounds) {
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
  EXPECT_NE(error(form::kShare, std::numeric_limits<double>::infinity()), "ok");
  EXPECT_EQ(error(kText, std::string("c")), "key must be a or b, not \"c\": c is reserved");
  EXPECT_NE(error(kWholes, std::vector<double>{0.5}), "ok");
}

}  // namespace
}  // namespace damper::config
