#include "damper/http/client/client_metrics.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TEST(ClientMetrics, AreShownByReasonFromTheStart) {
  ClientMetrics metrics;
  observe::Registry registry;
  const auto shown = metrics.show(registry, "billing");
  ClientMetrics::add(metrics.connections);
  ClientMetrics::add(metrics.connections);
  ClientMetrics::take(metrics.connections);
  ClientMetrics::add(metrics.closed, CloseReason::idle_timeout);
  const std::string text = registry.expose();
  const auto has = [&](std::string_view line) { return text.find(line) != std::string::npos; };
  EXPECT_TRUE(has("damper_http_client_connections{client=\"billing\"} 1\n")) << text;
  EXPECT_TRUE(
      has("damper_http_client_closed_total{client=\"billing\",reason=\"idle_timeout\"} 1\n"));
  EXPECT_TRUE(has("damper_http_client_closed_total{client=\"billing\",reason=\"too_many\"} 0\n"));
  EXPECT_TRUE(has(
      "damper_http_client_failed_dials_total{client=\"billing\",reason=\"connect_timeout\"} 0\n"));
}

}  // namespace
}  // namespace damper::http
