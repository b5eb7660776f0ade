#include "damper/lab/report/json_writer.h"

#include <gtest/gtest.h>

#include <sstream>

namespace damper::lab {
namespace {

TEST(JsonWriter, AProportionHasItsInterval) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  write_proportion(json, "collapsed", {.k = 4, .n = 4});
  json.close('}');
  EXPECT_TRUE(
      out.str().starts_with(R"({"collapsed":{"runs":4,"collapsed":4,"probability":1,"low":0.51)"))
      << out.str();
  EXPECT_TRUE(out.str().ends_with(R"(,"high":1}})")) << out.str();
}

}  // namespace
}  // namespace damper::lab
