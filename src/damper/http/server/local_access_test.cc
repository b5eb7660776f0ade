#include "damper/http/server/local_access.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/http/codec/message.h"
#include "damper/http/server/token_testing.h"

namespace damper::http {
namespace {

Request request(std::string method, std::string host, FieldList fields = {}) {
  Request made;
  made.method = std::move(method);
  made.authority = std::move(host);
  made.fields = std::move(fields);
  return made;
}

int visit(const LocalAccess& access, std::string host) {
  const Request made = request("GET", std::move(host));
  const auto refusal = access.check_visit(made.head());
  return refusal ? refusal->status : 200;
}
int change(const LocalAccess& access, const Request& made) {
  const auto refusal = access.check_change(made.head());
  return refusal ? refusal->status : 200;
}
FieldList json(FieldList more = {}) {
  more.add("content-type", "application/json");
  return more;
}

TEST(LocalAccess, OnLoopbackOneAsksByAddressOrByLocalhost) {
  const LocalAccess access({.names = {"sidecar.test"}});
  for (const char* host : {"127.0.0.1:9901", "127.0.0.1", "localhost:9901", "LocalHost",
                           "[::1]:9901", "10.1.2.3", "sidecar.test", "Sidecar.Test:1"}) {
    EXPECT_EQ(visit(access, host), 200) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:9901", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::1", "2130706433", ":9901"}) {
    EXPECT_EQ(visit(access, host), 403) << host;
  }
}

TEST(LocalAccess, ElsewhereEveryNameMayLook) {
  EXPECT_EQ(visit(LocalAccess({.loopback = false}), "proxy-7.prod.example"), 200);
}

TEST(LocalAccess, OnLoopbackNoTokenIsNeededUnlessThereIsOne) {
  EXPECT_EQ(change(LocalAccess({}), request("PUT", "localhost", json())), 200);
  const TokenFile file("0123456789abcdef");
  const LocalAccess access({.token_file = file.path()});
  EXPECT_EQ(change(access, request("PUT", "localhost", json())), 401);
  EXPECT_EQ(change(access, request("PUT", "localhost",
                                   json({{"authorization", "Bearer 0123456789abcdef"}}))),
            200);
}

TEST(LocalAccess, ElsewhereNothingIsChangedWithoutTheToken) {
  const LocalAccess none({.loopback = false});
  EXPECT_EQ(change(none, request("PUT", "p", json({{"authorization", "Bearer "}}))), 401);
  const TokenFile file("0123456789abcdef\n");
  const LocalAccess access({.loopback = false, .token_file = file.path()});
  EXPECT_EQ(change(access, request("POST", "p")), 401);
  for (const char* wrong :
       {"Bearer 0123456789abcdeg", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer",
        "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef", ""}) {
    EXPECT_EQ(change(access, request("PUT", "p", json({{"authorization", wrong}}))), 401) << wrong;
  }
  for (const char* right : {"Bearer 0123456789abcdef", "bearer  0123456789abcdef"}) {
    EXPECT_EQ(change(access, request("PUT", "p", json({{"authorization", right}}))), 200) << right;
  }
}

TEST(LocalAccess, ATokenThatIsChangedCountsFromTheNextRequestOn) {  // (2)
  TokenFile file("0123456789abcdef");
  const LocalAccess access({.token_file = file.path()});
  const auto with = [](const char* token) {
    return request("PUT", "localhost", json({{"authorization", token}}));
  };
  EXPECT_EQ(change(access, with("Bearer 0123456789abcdef")), 200);
  file.write("fedcba9876543210");
  EXPECT_EQ(change(access, with("Bearer 0123456789abcdef")), 401);
  EXPECT_EQ(change(access, with("Bearer fedcba9876543210")), 200);
  file.remove();
  EXPECT_EQ(change(access, with("Bearer fedcba9876543210")), 401);
}

TEST(LocalAccess, PagesOfOtherSitesChangeNothing) {
  const LocalAccess access({});
  const auto from = [&](FieldList fields) {
    return change(access, request("PUT", "127.0.0.1:9901", json(std::move(fields))));
  };
  EXPECT_EQ(from({{"origin", "http://127.0.0.1:9901"}}), 200);
  EXPECT_EQ(from({{"origin", "http://127.0.0.1:9901"}, {"sec-fetch-site", "same-origin"}}), 200);
  EXPECT_EQ(from({{"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(from({{"origin", "http://127.0.0.1:9901.evil.example"}}), 403);
  EXPECT_EQ(from({{"origin", "http://127.0.0.1:3000"}}), 403);
  EXPECT_EQ(from({{"origin", "null"}}), 403);
  EXPECT_EQ(from({{"origin", ""}}), 403);
  EXPECT_EQ(from({{"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(from({{"sec-fetch-site", "same-site"}}), 403);
}

TEST(LocalAccess, WhatAFormCanSendIsRefused) {
  const LocalAccess access({});
  const auto of = [&](const char* method, FieldList fields) {
    return change(access, request(method, "localhost", std::move(fields)));
  };
  EXPECT_EQ(of("PUT", {}), 415);
  EXPECT_EQ(of("PUT", {{"content-type", "text/plain"}}), 415);
  EXPECT_EQ(of("PUT", {{"content-type", "Application/JSON; charset=utf-8"}}), 200);
  EXPECT_EQ(of("POST", {}), 200);  // curl -X POST; a form always has a type
  EXPECT_EQ(of("POST", {{"content-type", "application/x-www-form-urlencoded"}}), 415);
}

TEST(LocalAccess, ATokenIsLongEnoughAndVisible) {
  EXPECT_EQ(*read_token(TokenFile(" 0123456789abcdef \r\n").path()), "0123456789abcdef");
  for (const std::string& bad :
       {std::string(), std::string("short"), std::string("0123456789 abcdef"),
        std::string("0123456789abcde\x01"), std::string(5000, 'x')}) {
    const auto token = read_token(TokenFile(bad).path());
    ASSERT_FALSE(token);
    EXPECT_EQ(token.error().find("0123456789"), std::string::npos);  // Never repeated.
  }
  EXPECT_FALSE(read_token("/nonexistent/token"));
  EXPECT_FALSE(read_token("/"));
}

TEST(LocalAccess, LoopbackIsAnAddressOfThisMachine) {
  for (const char* here : {"127.0.0.1", "127.9.8.7", "::1"}) EXPECT_TRUE(is_loopback(here)) << here;
  // A mapped address would be loopback to some; a listener on it has to have a token.
  for (const char* elsewhere :
       {"0.0.0.0", "10.0.0.1", "::", "::ffff:127.0.0.1", "127.example", "127.0.0.1.example", ""}) {
    EXPECT_FALSE(is_loopback(elsewhere)) << elsewhere;
  }
}

TEST(LocalAccess, SecretsAreTheSameWhenTheyAre) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "ab"));
  EXPECT_FALSE(same_secret("", "a"));
}

}  // namespace
}  // namespace damper::http
