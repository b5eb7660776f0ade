#include "damper/http/client/client_options.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TEST(ClientOptions, TheDefaultsAreValid) { EXPECT_FALSE(find_error(ClientOptions{})); }

TEST(ClientOptions, BoundsAreSaid) {
  EXPECT_TRUE(find_error(ClientOptions{.max_endpoints = 0}));
  EXPECT_TRUE(find_error(ClientOptions{.max_response_body = (std::size_t{1} << 30) + 1}));
  EXPECT_TRUE(find_error(ClientOptions{.pool = {.max_connections = 0}}));
  EXPECT_TRUE(find_error(ClientOptions{.dialer = {.connect_timeout = Duration{0}}}));
  EXPECT_TRUE(find_error(ClientOptions{.dialer = {.stagger = Duration{0}}}));
}

TEST(ClientOptions, AServiceHasEndpoints) {
  EXPECT_TRUE(find_error(GuardedClientOptions{.endpoints = {}}));
  EXPECT_FALSE(find_error(GuardedClientOptions{.endpoints = {"http://127.0.0.1:9000"}}));
  EXPECT_EQ(find_error(GuardedClientOptions{.endpoints = {"http://a/", "http://a/x"}}),
            "endpoint 'http://a/x': an endpoint has neither path nor query");
  EXPECT_TRUE(find_error(GuardedClientOptions{.endpoints = {"http://a"}, .authority = "x y"}));
  EXPECT_TRUE(find_error(GuardedClientOptions{
      .endpoints = std::vector<std::string>(kMostReplicas + 1, "http://127.0.0.1")}));
}

}  // namespace
}  // namespace damper::http
