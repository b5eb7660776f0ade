#include "damper/base/text/json_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::text {
namespace {

std::string error_of(std::string_view text, const JsonLimits& limits = {}) {
  const auto value = read_json(text, limits);
  return value ? "none" : value.error();
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  const auto value = read_json(
      R"( {"a" : null, "b": [true, false , []], "c": "x", "d": -12.5e+3, "e": {"f": 7}} )");
  ASSERT_TRUE(value) << value.error();
  EXPECT_EQ(value->fields.size(), 5U);
  EXPECT_EQ(value->find("a")->kind, JsonValue::Kind::null);
  EXPECT_EQ(value->find("b")->items.size(), 3U);
  EXPECT_EQ(value->find("b")->items[0].as_boolean(), true);
  EXPECT_EQ(value->find("b")->items[1].as_boolean(), false);
  EXPECT_EQ(value->find("c")->as_string(), "x");
  EXPECT_EQ(value->find("d")->text, "-12.5e+3");
  EXPECT_EQ(value->find("e")->find("f")->as_integer(), 7);
  EXPECT_EQ(value->find("nothing"), nullptr);
}

TEST(JsonReader, AWholeNumberMayBeAString) {
  EXPECT_EQ(read_json("9223372036854775807")->as_integer(), 9223372036854775807);
  EXPECT_EQ(read_json("\"-5\"")->as_integer(), -5);
  for (const char* other : {"1.5", "9223372036854775808", "\"\"", "\"5x\"", "true", "[5]"}) {
    EXPECT_EQ(read_json(other)->as_integer(), std::nullopt) << other;
  }
}

TEST(JsonReader, EscapesBecomeCharacters) {
  EXPECT_EQ(read_json(R"("a\"\\\/\b\f\n\r\tz")")->text, "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(read_json(R"("\u0041\u00e4\u20AC\ud83d\ude00")")->text,
            "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(read_json(R"("\u0000")")->text, std::string(1, '\0'));
}

TEST(JsonReader, WhatIsNotJsonIsRefusedWithItsPlace) {
  EXPECT_EQ(error_of(""), "not a JSON value at byte 1");
  EXPECT_EQ(error_of("{\"a\":1,}"), "expected a field name at byte 8");
  EXPECT_EQ(error_of("{\"a\":1,\"a\":2}"), "a duplicate field name at byte 11");
  EXPECT_EQ(error_of("1 2"), "unexpected text after the value at byte 3");
  for (const char* text :
       {"{",           "[",         "[1",          "[1,",         "[1,]",
        "{\"a\"",      "{\"a\":",   "{\"a\":1",    "{a:1}",       "tru",
        "nul",         "01",        "-",           "1.",          ".5",
        "1e",          "+1",        "'a'",         "\"",          "\"\\",
        "\"\\x\"",     "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"",
        "\"\\udc00\"", "\"\n\"",    "\"\xff\"",    "// c\n1",     "NaN"}) {
    EXPECT_FALSE(read_json(text)) << text;
  }
}

TEST(JsonReader, EveryBoundHolds) {
  EXPECT_EQ(error_of("[1,2]", {.bytes = 4}), "it has more than 4 bytes");
  EXPECT_EQ(error_of("[1,2]", {.bytes = 5}), "none");
  EXPECT_EQ(error_of("[1,2]", {.values = 2}), "it has more than 2 values at byte 4");
  EXPECT_EQ(error_of("[1,2]", {.values = 3}), "none");
  EXPECT_EQ(error_of("[[1]]", {.depth = 1}), "it is nested deeper than 1 at byte 3");
  EXPECT_EQ(error_of("[[1]]", {.depth = 2}), "none");
  EXPECT_FALSE(read_json(std::string(60'000, '[')));
}

TEST(JsonReader, ANumberIsTheNearestDouble) {
  const auto number = [](const char* text) { return read_json(text)->as_number(); };
  EXPECT_EQ(number("1.5"), 1.5);
  EXPECT_EQ(number("-2e3"), -2000.0);
  EXPECT_EQ(number("1e999"), std::nullopt);
  EXPECT_EQ(number("\"1\""), std::nullopt);
}

TEST(JsonReader, AValueHasItsRangeOfBytes) {
  const std::string_view text = R"( { "a" : [1, "x"] , "b":-2.50 } )";
  const auto value = read_json(text);
  ASSERT_TRUE(value);
  const auto of = [&](const JsonValue& part) {
    return std::string(text.substr(part.begin, part.end - part.begin));
  };
  EXPECT_EQ(of(*value), R"({ "a" : [1, "x"] , "b":-2.50 })");
  EXPECT_EQ(of(*value->find("a")), R"([1, "x"])");
  EXPECT_EQ(of(value->find("a")->items[1]), R"("x")");
  EXPECT_EQ(of(*value->find("b")), "-2.50");
}

TEST(JsonReader, ARawFieldIsCheckedAndItsRangeIsKept) {
  const JsonLimits limits{.depth = 4, .values = 3, .raw_field = "payload"};
  const auto range = [&](const std::string& raw) -> std::string {
    const std::string text = R"({"type":"a","payload": )" + raw + R"( ,"last":1})";
    const auto value = read_json(text, limits);
    if (!value) return "error: " + value.error();
    const JsonValue* const payload = value->find("payload");
    EXPECT_TRUE(payload->fields.empty() && payload->items.empty() && payload->text.empty());
    EXPECT_EQ(value->find("last")->as_integer(), 1);
    return text.substr(payload->begin, payload->end - payload->begin);
  };
  for (const char* const raw :
       {R"({ "id" : 7, "x":[1,2,3,4,5,{"a":null}] })", "[]", "{}", R"("a\"b\u00e9")", "true",
        "false", "null", "-1.50e3", R"({"payload":{"payload":1}})", R"({"a":1,"a":2})"}) {
    EXPECT_EQ(range(raw), raw);
  }
  for (const char* const bad :
       {"", "{", "[1,]", R"({"a"})", R"({"a":1,})", "tru", "01", "1.", R"("\x")", "\"\xff\"",
        "[[[[[1]]]]]", "[1}", "{1:2}", "nulls", "\"a\nb\""}) {
    EXPECT_EQ(range(bad).substr(0, 6), "error:") << bad;
  }
}

TEST(JsonReader, OnlyAFieldOfTheOutermostObjectIsRaw) {
  const auto value = read_json(R"({"a":{"payload":{"b":1}}})", {.raw_field = "payload"});
  ASSERT_TRUE(value);
  EXPECT_EQ(value->find("a")->find("payload")->find("b")->as_integer(), 1);
}

}  // namespace
}  // namespace damper::text
