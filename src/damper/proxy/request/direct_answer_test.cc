#include "damper/proxy/request/direct_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/base/random.h"
#include "damper/proxy/request/proxied_request_testing.h"

namespace damper::proxy {
namespace {

std::string location(const Redirect& to, std::string_view authority, std::string_view target,
                     bool secure = false) {
  RouteConfig route;
  route.match.prefix = "/go";
  route.redirect = to;
  return redirect_location({.method = "GET", .authority = authority, .target = target}, route,
                           secure);
}

TEST(RedirectLocation, AnEmptyPartIsThatOfTheRequest) {
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "/go/x?y=1"), "https://a.example/go/x?y=1");
  EXPECT_EQ(location({.host = "b.example:81"}, "a.example", "/go"), "http://b.example:81/go");
  EXPECT_EQ(location({.host = "b.example"}, "a.example", "/go", true), "https://b.example/go");
  EXPECT_EQ(location({.path = "/new"}, "a.example", "/go/x?y=1"), "http://a.example/new?y=1");
  EXPECT_EQ(location({.prefix = "/new"}, "a.example", "/go/x?y=1"), "http://a.example/new/x?y=1");
  EXPECT_EQ(location({.path = "/new", .strip_query = true}, "a.example", "/go?y=1"),
            "http://a.example/new");
}

TEST(RedirectLocation, TheDefaultPortOfAReplacedSchemeIsDropped) {
  EXPECT_EQ(location({.scheme = "https"}, "a.example:80", "/"), "https://a.example/");
  EXPECT_EQ(location({.scheme = "https"}, "a.example:8080", "/"), "https://a.example:8080/");
  EXPECT_EQ(location({.path = "/n"}, "a.example:80", "/"), "http://a.example:80/n");
}

// What browsers take for another host: "//host", "/\host", "/%09/host".
TEST(RedirectLocation, NoPathIsTakenForAHost) {
  EXPECT_EQ(location({.prefix = "/"}, "a.example", "/go//evil.example"),
            "http://a.example//evil.example");
  EXPECT_EQ(location({.prefix = "/"}, "", "/go//evil.example"), "/evil.example");
  EXPECT_EQ(location({.prefix = "/"}, "", "/go/\\/evil.example"), "/evil.example");
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "/\\evil.example"),
            "https://a.example/%5Cevil.example");
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "/go\"<x>?\r\nx: y"),
            "https://a.example/go%22%3Cx%3E?%0D%0Ax:%20y");
  EXPECT_EQ(location({.scheme = "https"}, "a.example", "*"), "https://a.example/");
}

TEST(RedirectLocation, AHostThatIsNoneIsNotRepeated) {
  for (const std::string_view host : {"a%0d", "a,b", "a:99999", "[::1", "a;b", "!"}) {
    EXPECT_EQ(location({.path = "/n"}, host, "/"), "") << host;
  }
}

TEST(RedirectLocation, NoTargetBringsAControlOrAQuoteIntoIt) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string target = "/";
    for (std::uint64_t n = random.bits() % 20; n > 0; --n) {
      target += static_cast<char>(random.bits() % 256);
    }
    for (const std::string_view host : {"a.example", ""}) {
      const std::string url = location({.prefix = "/"}, host, target);
      EXPECT_TRUE(url.starts_with(host.empty() ? "/" : "http://a.example/")) << target;
      EXPECT_FALSE(host.empty() && url.starts_with("//")) << target;
      for (const char c : url) {
        EXPECT_TRUE(c > ' ' && c < 127 && c != '"' && c != '\\' && c != '<') << target;
      }
    }
  }
}

TEST(DirectAnswer, NothingIsForwarded) {
  Stage stage;
  Backend& backend = stage.add();
  stage.route.direct_response = {.status = 418, .body = "tea\n", .content_type = "text/x"};
  stage.route.response_fields.set = {{"x-from", "%ROUTE%"}};
  stage.begin();
  const auto response = stage.get();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 418);
  EXPECT_EQ(response->body, "tea\n");
  EXPECT_EQ(response->fields.find("content-type"), "text/x");
  EXPECT_EQ(response->fields.find("x-from"), stage.route.name);
  EXPECT_EQ(backend.requests(), 0U);
  EXPECT_EQ(stage.record().status, 418);
  EXPECT_EQ(stage.record().verdict, Verdict::success);
}

}  // namespace
}  // namespace damper::proxy
