#include "damper/policy/file/facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/policy/file/policy_file.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

std::string error_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  return file ? "ok" : to_string(file.error());
}

TEST(Facts, EveryFactReachesItsField) {
  const auto file = load(R"(routes:
  web:
    facts:
      capacity: 300
      load: 250
      clients: 40
      latency: { p50: 20ms, p99: 180ms, p999: 900ms }
      methods: [GET, POST]
      assume_idempotent: true
      calls: [db, "null"]
      ownership: false
  db: {}
  "null": { facts: { methods: "PUT,PATCH", latency: { p99: 1s, p50: unknown } } }
)",
                         "p.yaml");
  ASSERT_TRUE(file) << to_string(file.error());
  const Facts& web = *file->find("web")->settings.facts;
  EXPECT_EQ(web.capacity, 300);
  EXPECT_EQ(web.load, 250);
  EXPECT_EQ(web.clients, 40);
  EXPECT_EQ(web.latency.p50, 20ms);
  EXPECT_EQ(web.latency.p99, 180ms);
  EXPECT_EQ(web.latency.p999, 900ms);
  EXPECT_EQ(web.methods, 0b1000001u);
  EXPECT_TRUE(web.assume_idempotent);
  EXPECT_EQ(web.calls, (std::vector<std::string>{"db", "null"}));
  EXPECT_FALSE(web.ownership);
  EXPECT_FALSE(file->find("db")->settings.facts);
  const Facts& other = *file->find("null")->settings.facts;
  EXPECT_EQ(other.capacity, 0);
  EXPECT_EQ(other.clients, 1);
  EXPECT_EQ(other.methods, 0b10010000u);
  EXPECT_EQ(other.latency.p50, 0ms);
  EXPECT_FALSE(other.assume_idempotent);
  EXPECT_TRUE(other.ownership);
}

TEST(Facts, AWrongFactIsAnErrorLikeAnyOther) {
  EXPECT_EQ(error_of("route: {facts: {capacity: 0}}"),
            "p.yaml:1:27: capacity must be a whole number from 1 to 1000000000, or unknown, not "
            "\"0\"");
  EXPECT_EQ(error_of("route: {facts: {latency: {p50: 2s, p99: 1s}}}"),
            "p.yaml:1:41: p99 must be at least p50 (2s), not 1s");
  EXPECT_EQ(error_of("route: {facts: {latency: {p50: 2s}}}"), "ok");
  EXPECT_EQ(error_of("route: {facts: {methods: [GET, PAST]}}"),
            "p.yaml:1:26: methods has no word \"PAST\"; did you mean POST? (accepted: GET, HEAD, "
            "OPTIONS, TRACE, PUT, DELETE, POST, PATCH)");
  EXPECT_EQ(error_of("route: {facts: {calls: db}}"),
            "p.yaml:1:24: calls names \"db\", which is no route of this file");
  EXPECT_EQ(error_of("route: {facts: {calls: ['a b']}}"),
            "p.yaml:1:25: calls must be the name of a route of this file, not \"a b\"");
  EXPECT_EQ(error_of("route: {facts: {calls: [[db]]}}"),
            "p.yaml:1:25: calls must be the name of a route of this file, not a list");
  std::string many = "routes: {db: {}, web: {facts: {calls: [db";
  for (int i = 1; i < 100; ++i) many += ", db";
  EXPECT_EQ(error_of(many + "]}}}"), "ok");
  EXPECT_EQ(
      error_of(many + ", db]}}}"),
      "p.yaml:1:39: calls must be a list of at most 100, each the name of a route of this file, "
      "not a list of 101");
  EXPECT_EQ(error_of("route: {facts: {capacty: 1}}"),
            "p.yaml:1:17: unknown key \"capacty\" in facts; did you mean capacity? (accepted: "
            "capacity, load, clients, methods, assume_idempotent, calls, ownership, latency)");
}

TEST(Facts, OfARouteStandOverThoseOfTheDefaults) {
  const auto file = load(
      "defaults: {facts: {clients: 7, ownership: false}}\n"
      "routes: {a: {facts: {clients: 8}}, b: {facts: off}, c: {}}",
      "p.yaml");
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->find("a")->settings.facts->clients, 8);
  EXPECT_FALSE(file->find("a")->settings.facts->ownership);
  EXPECT_FALSE(file->find("b")->settings.facts);
  EXPECT_EQ(file->find("c")->settings.facts->clients, 7);
}

}  // namespace
}  // namespace damper::policy
