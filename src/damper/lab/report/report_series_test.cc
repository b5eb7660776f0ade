#include "damper/lab/report/report_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace damper::lab {
namespace {

TEST(ReportSeries, EachFieldHasItsName) {
  ServiceTick tick;
  tick.first_tries = 1;
  tick.retries = 2;
  tick.hedges = 3;
  tick.served = 4;
  tick.good = 5;
  tick.refused = 6;
  tick.failed = 7;
  tick.queued = 8;
  tick.working = 9;
  tick.limit = 10;
  std::map<std::string, double> service;
  for (const auto& series : service_series()) service[std::string(series.name)] = series.of(tick);
  EXPECT_EQ(service, (std::map<std::string, double>{{"first_tries", 1},
                                                    {"retries", 2},
                                                    {"hedges", 3},
                                                    {"served", 4},
                                                    {"good", 5},
                                                    {"refused", 6},
                                                    {"failed", 7},
                                                    {"queued", 8},
                                                    {"working", 9},
                                                    {"limit", 10}}));
  const ClientsTick of_clients{
      .requests = 1, .attempts = 2, .succeeded = 3, .failed = 4, .in_flight = 5, .budget = 6.5F};
  std::map<std::string, double> clients;
  for (const auto& series : clients_series()) {
    clients[std::string(series.name)] = series.of(of_clients);
  }
  EXPECT_EQ(clients, (std::map<std::string, double>{{"requests", 1},
                                                    {"attempts", 2},
                                                    {"succeeded", 3},
                                                    {"failed", 4},
                                                    {"in_flight", 5},
                                                    {"budget", 6.5}}));
}

TEST(ReportSeries, EachFieldOfControllersHasItsName) {
  const ControllersTick tick{.events = 1,
                             .runs = 2,
                             .retries = 3,
                             .succeeded = 4,
                             .failed = 5,
                             .waiting = 6,
                             .failing = 7,
                             .running = 8,
                             .parked = 9,
                             .budget = 10.5F};
  std::map<std::string, double> values;
  for (const auto& series : controllers_series()) {
    values[std::string(series.name)] = series.of(tick);
  }
  EXPECT_EQ(values, (std::map<std::string, double>{{"events", 1},
                                                   {"runs", 2},
                                                   {"retries", 3},
                                                   {"succeeded", 4},
                                                   {"failed", 5},
                                                   {"waiting", 6},
                                                   {"failing", 7},
                                                   {"running", 8},
                                                   {"parked", 9},
                                                   {"budget", 10.5}}));
}

TEST(ReportSeries, ASeriesHasAValueForEachBucket) {
  const std::vector<ClientsTick> ticks = {{.requests = 3}, {.requests = 4}};
  EXPECT_EQ(values_of(ticks, clients_series()[0].of), (std::vector<double>{3, 4}));
}

TEST(ReportSeries, LatenciesAreInMilliseconds) {
  LatencySketch sketch;
  EXPECT_TRUE(std::isnan(latency_of(sketch, latency_series()[0])));
  for (int i = 0; i < 100; ++i) sketch.add(std::chrono::milliseconds(i < 95 ? 10 : 100));
  EXPECT_NEAR(latency_of(sketch, latency_series()[0]), 10, 0.2);
  EXPECT_NEAR(latency_of(sketch, latency_series()[1]), 100, 2);
}

}  // namespace
}  // namespace damper::lab
