#include "damper/proxy/config/route_action.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {
namespace {

constexpr std::string_view kTop = R"(listeners: { web: { address: ":8080" } }
clusters: { a: { endpoints: ["http://10.0.0.1:9000"] } }
routes:
  r:
)";

std::string error_of(const std::string& route) {
  const auto loaded = load_proxy(std::string(kTop) + route, "p.yaml");
  return loaded ? "ok" : to_string(loaded.error());
}

TEST(RouteAction, EachContradictionIsOneSentenceWithItsPlace) {
  EXPECT_EQ(error_of("    direct_response: { body: ok }"), "ok");
  EXPECT_EQ(error_of("    redirect: { scheme: https }"), "ok");
  EXPECT_EQ(error_of("    redirect: { status: 302 }"),
            "p.yaml:5:25: route r redirects to the same URL: redirect needs scheme, host, path or "
            "prefix");
  EXPECT_EQ(error_of("    redirect: { path: /a, status: 304 }"),
            "p.yaml:5:35: route r redirects with status 304; it must be 301, 302, 303, 307 or 308");
  EXPECT_EQ(error_of("    redirect: { path: /a, prefix: /b }"),
            "p.yaml:5:35: route r has a redirect with path and prefix");
  EXPECT_EQ(error_of("    redirect: { prefix: /b }"),
            "p.yaml:5:25: route r has redirect.prefix but no match.prefix to replace");
  EXPECT_EQ(error_of("    redirect: { path: /b, status: 301 }\n    direct_response: on"),
            "p.yaml:5:35: route r has direct_response and redirect");
  EXPECT_EQ(error_of("    direct_response: { status: 204, body: x }"),
            "p.yaml:5:43: route r has a direct_response with status 204, which has no body");
  EXPECT_EQ(error_of("    health_page: on"), "ok");
  EXPECT_EQ(error_of("    health_page: { clusters: [a], min_healthy: 50 }"), "ok");
  EXPECT_EQ(error_of("    health_page: { clusters: [b] }"),
            "p.yaml:5:30: route r has a health_page with the cluster \"b\", which there is not");
  EXPECT_EQ(error_of("    health_page: { min_healthy: 0 }"),
            "p.yaml:5:33: min_healthy must be a percentage from 0.01 to 100 with at most two "
            "decimals, not \"0\"");
  EXPECT_EQ(error_of("    health_page: { min_healthy: 5 }\n    direct_response: on"),
            "p.yaml:5:33: route r has health_page and direct_response");
  EXPECT_EQ(error_of("    cluster: a\n    direct_response: on"),
            "p.yaml:5:14: route r has a cluster, but answers itself and forwards nothing");
}

TEST(RouteAction, WhatIsPrintedIsReadTheSame) {
  const std::string text = std::string(kTop) + R"(    match: { prefix: /go }
    redirect: { host: b.example, prefix: /new, status: 308, strip_query: true }
    response_headers_to_add: { X-A: "%CLIENT_ADDRESS% 100%%", x-b: "say \"hi\"" }
  s:
    direct_response: { status: 404, body: "two\nlines", content_type: text/html }
    request_headers_to_remove: [cookie]
)";
  const auto loaded = load_proxy(text, "p.yaml");
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  const RouteConfig& first = loaded->routes[0];
  EXPECT_EQ(first.cluster, "");
  EXPECT_EQ(first.redirect->status, 308);
  EXPECT_EQ(first.response_fields.add[0].name, "x-a");
  EXPECT_EQ(first.response_fields.add[1].value, "say \"hi\"");
  EXPECT_EQ(loaded->routes[1].direct_response->body, "two\nlines");
  const std::string printed = print_proxy(*loaded);
  const auto again = load_proxy(printed, "p.yaml");
  ASSERT_TRUE(again) << to_string(again.error()) << printed;
  EXPECT_EQ(print_proxy(*again), printed);
}

// Framing, the proxy's own protection, and gRPC's status.
TEST(RouteAction, NoFieldThatFramesOrProtectsIsEdited) {
  for (const std::string_view name : {"content-length",
                                      "Transfer-Encoding",
                                      "connection",
                                      "keep-alive",
                                      "te",
                                      "upgrade",
                                      "host",
                                      ":path",
                                      ":authority",
                                      "trailer",
                                      "damper-attempt",
                                      "Damper-x",
                                      "x-request-deadline",
                                      "grpc-timeout",
                                      "grpc-status",
                                      "expect",
                                      "",
                                      "a b",
                                      "a:b",
                                      "x\ny"}) {
    EXPECT_FALSE(read_edited_name(name)) << name;
  }
  EXPECT_TRUE(read_edited_name("x-forwarded-for"));
  for (const std::string_view value : {"", " a", "a ", "a\r\nb: c", "a%", "%NO%", "%host%"}) {
    EXPECT_FALSE(read_edited_value(value)) << value;
  }
}

}  // namespace
}  // namespace damper::proxy
