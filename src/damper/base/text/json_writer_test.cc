#include "damper/base/text/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

namespace damper::text {
namespace {

TEST(JsonWriter, ObjectsAndArraysNest) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  json.field("name", std::string("a \"b\""));
  json.field("word", "c");
  json.open('[', "list");
  json.element(1.5);
  json.element(2);
  json.open('{');
  json.close('}');
  json.close(']');
  json.open('{', "more");
  json.field("yes", true);
  json.field("no", false);
  json.close('}');
  json.open('[', "none");
  json.close(']');
  json.close('}');
  EXPECT_EQ(out.str(), R"({"name":"a \"b\"","word":"c","list":[1.5,2,{}],)"
                       R"("more":{"yes":true,"no":false},"none":[]})");
}

TEST(JsonWriter, NumbersReadBackTheSame) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('[');
  json.element(0.1);
  json.element(std::numeric_limits<std::uint64_t>::max());
  json.element(std::int64_t{-5});
  json.element(std::nan(""));
  json.element(std::numeric_limits<double>::infinity());
  json.element(3.0F);
  json.close(']');
  EXPECT_EQ(out.str(), "[0.1,18446744073709551615,-5,null,null,3]");
}

TEST(JsonWriter, KeysAreEscaped) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  json.field("\"\n", 1);
  json.close('}');
  EXPECT_EQ(out.str(), R"({"\"\n":1})");
}

TEST(JsonWriter, NothingIsNull) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  json.field("limit", nullptr);
  json.close('}');
  EXPECT_EQ(out.str(), R"({"limit":null})");
}

}  // namespace
}  // namespace damper::text
