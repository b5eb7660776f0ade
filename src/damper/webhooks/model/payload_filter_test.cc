#include "damper/webhooks/model/payload_filter.h"

#include <gtest/gtest.h>

namespace damper::webhooks {
namespace {

TEST(PayloadFilter, EveryPathHasToHaveItsValue) {
  const auto payload = read_payload(
      R"({"data":{"country":"DE","n":1.50,"live":true,"list":[1],"none":null},"id":"7"})");
  const auto selects = [&](const PayloadFilter& filter) { return matches(filter, payload); };
  EXPECT_TRUE(selects({}));
  EXPECT_TRUE(selects({{"data.country", "DE"}}));
  EXPECT_TRUE(selects({{"data.country", "DE"}, {"data.live", "true"}, {"id", "7"}}));
  EXPECT_TRUE(selects({{"data.n", "1.50"}}));
  EXPECT_FALSE(selects({{"data.n", "1.5"}})) << "as it is written";
  EXPECT_FALSE(selects({{"data.country", "DE"}, {"data.live", "false"}}));
  EXPECT_FALSE(selects({{"data", "DE"}}));
  EXPECT_FALSE(selects({{"data.country.x", "DE"}}));
  EXPECT_FALSE(selects({{"data.list", "1"}}));
  EXPECT_FALSE(selects({{"data.none", ""}}));
  EXPECT_FALSE(selects({{"missing", ""}}));
}

TEST(PayloadFilter, WhatIsNotJsonMatchesNoFilter) {
  EXPECT_FALSE(matches({{"a", "1"}}, read_payload("a=1")));
  EXPECT_TRUE(matches({}, read_payload("a=1")));
}

TEST(PayloadFilter, IsBounded) {
  EXPECT_FALSE(find_filter_error({{"data.country", ""}}));
  for (const char* path : {"", ".a", "a.", "a..b"}) EXPECT_TRUE(find_filter_error({{path, "x"}}));
  EXPECT_TRUE(find_filter_error({{std::string(257, 'a'), "x"}}));
  EXPECT_TRUE(find_filter_error({{"a", std::string(257, 'a')}}));
  EXPECT_TRUE(find_filter_error(PayloadFilter(17, {"a", "b"})));
}

}  // namespace
}  // namespace damper::webhooks
