#include "damper/proxy/request/forward_fields.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using http::Field;

std::string text(const http::Head& head) {
  std::string all;
  for (const Field& field : head.fields) {
    all.append(field.name).append("=").append(field.value).append("\n");
  }
  return all;
}

TEST(ForwardFields, PassesWhatItDoesNotKnowAndSaysItsOwn) {
  const std::array fields = {Field{"accept", "*/*"}, Field{"traceparent", "00-ab-cd-01"},
                             Field{"Expect", "100-continue"}, Field{"x-custom", ""}};
  ForwardFields forward;
  const http::Head head = forward.make(
      {.method = "GET", .authority = "a.example", .target = "/x", .fields = fields}, {},
      {.remaining = 1500us,
       .owner = "checkout",
       .attempt = 2,
       .client = {.address = "10.0.0.7"},
       .scheme = "http"});
  EXPECT_EQ(text(head),
            "accept=*/*\ntraceparent=00-ab-cd-01\nx-custom=\nx-request-deadline=1\n"
            "damper-retry-owner=checkout\ndamper-attempt=2\nx-forwarded-for=10.0.0.7\n"
            "x-forwarded-proto=http\n");
  EXPECT_EQ(head.authority, "a.example");
  EXPECT_EQ(head.target, "/x");
  EXPECT_EQ(head.scheme, "http");
}

TEST(ForwardFields, TrapD2_EveryWordOnTheDeadlineIsWrittenAnewForTheAttempt) {  // Invariant (1).
  const std::array fields = {Field{"X-Request-Deadline", "9000"}, Field{"Grpc-Timeout", "9S"},
                             Field{"x-envoy-expected-rq-timeout-ms", "9000"}};
  ForwardFields forward;
  const http::Head request = {.method = "POST", .target = "/", .fields = fields};
  EXPECT_EQ(text(forward.make(request, {}, {.remaining = 250ms})),
            "x-request-deadline=250\ngrpc-timeout=250000u\nx-envoy-expected-rq-timeout-ms=250\n"
            "damper-attempt=1\nx-forwarded-proto=http\n");
  EXPECT_EQ(text(forward.make(request, {}, {.remaining = 0ms, .attempt = 3})),
            "x-request-deadline=0\ngrpc-timeout=0n\nx-envoy-expected-rq-timeout-ms=1\n"
            "damper-attempt=3\nx-forwarded-proto=http\n");
  EXPECT_EQ(text(forward.make(request, {}, {})), "damper-attempt=1\nx-forwarded-proto=http\n");
}

TEST(ForwardFields, AGrpcRequestIsToldItsTimeoutThoughItHadNone) {
  const std::array fields = {Field{"content-type", "application/grpc+proto"}};
  ForwardFields forward;
  EXPECT_EQ(text(forward.make({.method = "POST", .fields = fields}, {}, {.remaining = 2s})),
            "content-type=application/grpc+proto\nx-request-deadline=2000\ngrpc-timeout=2000000u\n"
            "damper-attempt=1\nx-forwarded-proto=http\n");
}

TEST(ForwardFields, TheOwnerAboveIsPassedOnWithItsAttempt) {
  const std::array fields = {Field{"damper-retry-owner", "edge"}, Field{"damper-attempt", "2"}};
  ForwardFields forward;
  EXPECT_EQ(text(forward.make({.method = "GET", .fields = fields}, {},
                              {.owner = "edge", .owner_attempt = 2, .attempt = 1})),
            "damper-retry-owner=edge\ndamper-attempt=2\nx-forwarded-proto=http\n");
}

TEST(ForwardFields, TheClientIsAddedToWhomTheRequestWasForwardedFor) {
  const std::array fields = {Field{"x-forwarded-for", "1.1.1.1"}, Field{"a", "b"},
                             Field{"X-Forwarded-For", "2.2.2.2"},
                             Field{"x-forwarded-proto", "https"}};
  ForwardFields forward;
  EXPECT_EQ(text(forward.make({.method = "GET", .fields = fields}, {},
                              {.client = {.address = "::1", .secure = true}})),
            "a=b\nx-forwarded-proto=https\ndamper-attempt=1\n"
            "x-forwarded-for=1.1.1.1, 2.2.2.2, ::1\n");
}

TEST(ForwardFields, RewritesHostAndPrefix) {
  RouteConfig route;
  route.host_rewrite = "inner.example";
  route.match.prefix = "/api";
  route.prefix_rewrite = "/v2";
  ForwardFields forward;
  const http::Head head =
      forward.make({.method = "GET", .authority = "outer", .target = "/api/x?y=/api"}, route, {});
  EXPECT_EQ(head.authority, "inner.example");
  EXPECT_EQ(head.target, "/v2/x?y=/api");
}

TEST(ForwardFields, APrefixAndWhatFollowsMeetInOneSlash) {
  std::string into;
  const auto rewritten = [&](std::string_view target, std::string_view prefix,
                             std::string_view rewrite) {
    rewrite_prefix(target, prefix, rewrite, into);
    return into;
  };
  EXPECT_EQ(rewritten("/api/x", "/api", "/"), "/x");
  EXPECT_EQ(rewritten("/api/x", "/api/", "/v2"), "/v2/x");
  EXPECT_EQ(rewritten("/api", "/api", "/v2"), "/v2");
  EXPECT_EQ(rewritten("/api?q", "/api", "/v2"), "/v2?q");
  EXPECT_EQ(rewritten("/x", "", "/v2"), "/v2/x");
}

TEST(ForwardFields, GrpcIsKnownByItsContentType) {
  const std::array grpc = {Field{"Content-Type", "application/grpc"}};
  const std::array json = {Field{"content-type", "application/json"}};
  EXPECT_TRUE(is_grpc(grpc));
  EXPECT_FALSE(is_grpc(json));
  EXPECT_FALSE(is_grpc({}));
}

TEST(ForwardFields, AGrpcStatusIsANumberOfAtMostTwoDigits) {
  const auto status = [](std::string_view text) {
    const std::array fields = {Field{"Grpc-Status", text}};
    return find_grpc_status(fields).value_or(-1);
  };
  EXPECT_EQ(status("0"), 0);
  EXPECT_EQ(status("14"), 14);
  for (const std::string_view none : {"", "-1", "100", "1x", "x", " 1"}) {
    EXPECT_EQ(status(none), -1) << none;
  }
  EXPECT_EQ(find_grpc_status({}), std::nullopt);
}

const std::array kClaims = {Field{"X-Forwarded-For", "1.1.1.1"},
                            Field{"X-Forwarded-Proto", "https"},
                            Field{"x-forwarded-host", "bank"},
                            Field{"x-forwarded-port", "443"},
                            Field{"Forwarded", "for=1.1.1.1"},
                            Field{"X-Real-IP", "1.1.1.1"},
                            Field{"x-forwarded-client-cert", "Subject=\"CN=root\""},
                            Field{"X_Forwarded_For", "1.1.1.1"},
                            Field{"x-envoy-internal", "true"},
                            Field{"x-request-deadline", "5"},
                            Field{"x-envoy-expected-rq-timeout-ms", "5"},
                            Field{"damper-retry-owner", "edge"},
                            Field{"damper-attempt", "2"},
                            Field{"Damper-Criticality", "critical_plus"},
                            Field{"grpc-previous-rpc-attempts", "1"},
                            Field{"x-request-id", "theirs"},
                            Field{"accept", "*/*"}};

TEST(ForwardFields, OfAStrangerNothingPassesThatServicesBelieve) {
  ForwardFields forward;
  const http::Peer client{.address = "10.0.0.7", .secure = false};
  std::vector<Field> scratch;
  EXPECT_EQ(text(forward.make({.method = "GET", .fields = without_trusted_fields(kClaims, scratch)},
                              {}, {.remaining = 250ms, .client = client})),
            "accept=*/*\nx-request-deadline=250\ndamper-attempt=1\nx-forwarded-for=10.0.0.7\n"
            "x-forwarded-proto=http\n");
  const std::string trusted =
      text(forward.make({.method = "GET", .fields = kClaims}, {}, {.client = client}));
  for (const std::string_view kept :
       {"X-Forwarded-Proto=https\n", "x-forwarded-host=bank\n", "Forwarded=for=1.1.1.1\n",
        "X-Real-IP=1.1.1.1\n", "x-forwarded-client-cert=Subject=\"CN=root\"\n",
        "Damper-Criticality=critical_plus\n", "x-forwarded-for=1.1.1.1, 10.0.0.7\n"}) {
    EXPECT_NE(trusted.find(kept), std::string::npos) << kept << trusted;
  }
}

TEST(ForwardFields, AVerifiedCertificateIsForwarded) {
  const http::Peer client{.address = "10.0.0.7", .secure = true, .certificate = "Hash=ab"};
  ForwardFields forward;
  const http::Head request{.method = "GET", .fields = std::span(kClaims).subspan(6, 1)};
  EXPECT_EQ(text(forward.make({.method = "GET", .fields = {}}, {}, {.client = client})),
            "damper-attempt=1\nx-forwarded-client-cert=Hash=ab\nx-forwarded-for=10.0.0.7\n"
            "x-forwarded-proto=https\n");
  EXPECT_EQ(text(forward.make(request, {}, {.client = client})),
            "damper-attempt=1\nx-forwarded-client-cert=Subject=\"CN=root\", Hash=ab\n"
            "x-forwarded-for=10.0.0.7\nx-forwarded-proto=https\n");
}

TEST(ForwardFields, ARequestHasOneId) {
  const std::array fields = {Field{"X-Request-Id", "a"}, Field{"accept", "*/*"},
                             Field{"x-request-id", "b"}};
  ForwardFields forward;
  EXPECT_EQ(text(forward.make({.method = "GET", .fields = fields}, {}, {.request_id = "a"})),
            "accept=*/*\ndamper-attempt=1\nx-forwarded-proto=http\nx-request-id=a\n");
}

TEST(ForwardFields, TheHostThatARouteReplacesIsForwarded) {
  RouteConfig route;
  route.host_rewrite = "inner.example";
  ForwardFields forward;
  const http::Head request{.method = "GET", .authority = "outer", .fields = {}};
  EXPECT_EQ(text(forward.make(request, route, {})),
            "damper-attempt=1\nx-forwarded-proto=http\nx-forwarded-host=outer\n");
  EXPECT_EQ(text(forward.make(request, {}, {})), "damper-attempt=1\nx-forwarded-proto=http\n");
}

TEST(ForwardFields, OurFieldsOfAResponseAreNotTheReplicas) {
  std::vector<Field> scratch;
  const std::array fields = {Field{"a", "b"}, Field{"Damper-Verdict", "shed"},
                             Field{"damper_attempts", "9"}};
  const auto left = without_own_fields(fields, scratch);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "a");
  EXPECT_EQ(without_own_fields(std::span(fields).first(1), scratch).data(), fields.data());
}

}  // namespace
}  // namespace damper::proxy
