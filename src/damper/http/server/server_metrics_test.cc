#include "damper/http/server/server_metrics.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/observe/promtool_testing.h"

namespace damper::http {
namespace {

TEST(ServerMetrics, EveryReasonAndStatusIsShownFromTheStart) {
  observe::Registry registry;
  const ServerMetrics metrics(registry, "api");
  const std::string text = registry.expose();
  for (const std::string_view reason : kCloseReasonNames) {
    EXPECT_NE(text.find("damper_http_closed_total{reason=\"" + std::string(reason) +
                        "\",server=\"api\"} 0"),
              std::string::npos)
        << reason;
  }
  for (const std::string status : {"cancelled", "1xx", "2xx", "3xx", "4xx", "5xx"}) {
    EXPECT_NE(text.find("damper_http_requests_total{server=\"api\",status=\"" + status + "\"} 0"),
              std::string::npos);
  }
}

TEST(ServerMetrics, WhatIsAcceptedIsOpenUntilItIsClosed) {
  observe::Registry registry;
  ServerMetrics metrics(registry, "api");
  metrics.on_accepted();
  metrics.on_accepted();
  metrics.on_closed(CloseReason::flood);
  EXPECT_EQ(metrics.connections(), 1);
  EXPECT_EQ(metrics.closed(CloseReason::flood), 1U);
  metrics.on_answered(204, std::chrono::milliseconds(3));
  metrics.on_answered(503, std::chrono::milliseconds(3));
  metrics.on_cancelled();
  const std::string text = registry.expose();
  for (const std::string line :
       {"damper_http_accepted_total{server=\"api\"} 2", "status=\"2xx\"} 1", "status=\"5xx\"} 1",
        "status=\"cancelled\"} 1", "damper_http_request_seconds_count{server=\"api\"} 2"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace damper::http
