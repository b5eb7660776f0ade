#include "damper/proxy/log/access_metrics.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

bool has(const observe::Registry& registry, std::string_view line) {
  return registry.expose().find(std::string(line) + "\n") != std::string::npos;
}

TEST(AccessMetrics, CountsByRouteStatusAndVerdict) {  // Invariant (1).
  observe::Registry registry;
  AccessMetrics one(registry);
  AccessMetrics other(registry);  // of another loop
  one.on_request_over({.route = "a", .status = 200, .verdict = Verdict::success, .took = 3ms});
  one.on_request_over({.route = "b", .status = 503, .verdict = Verdict::shed});
  other.on_request_over({.route = "a", .status = 204, .verdict = Verdict::success});
  one.on_request_over({.status = 404});
  EXPECT_TRUE(has(registry,
                  "damper_proxy_requests_total{route=\"a\",status=\"2xx\",verdict=\"success\"} 2"));
  EXPECT_TRUE(
      has(registry, "damper_proxy_requests_total{route=\"b\",status=\"5xx\",verdict=\"shed\"} 1"));
  EXPECT_TRUE(has(registry,
                  "damper_proxy_requests_total{route=\"none\",status=\"4xx\",verdict=\"none\"} 1"));
  EXPECT_TRUE(has(registry, "damper_proxy_request_seconds_count{route=\"a\"} 2"));
}

TEST(AccessMetrics, CountsWhatWasCutOff) {
  observe::Registry registry;
  AccessMetrics metrics(registry);
  metrics.on_request_over({.route = "a",
                           .status = 0,
                           .verdict = Verdict::cancelled,
                           .ended = http::CloseReason::reset});
  EXPECT_TRUE(has(registry, "damper_proxy_cut_total{reason=\"reset\",route=\"a\"} 1"));
  EXPECT_TRUE(
      has(registry,
          "damper_proxy_requests_total{route=\"a\",status=\"none\",verdict=\"cancelled\"} 1"));
}

}  // namespace
}  // namespace damper::proxy
