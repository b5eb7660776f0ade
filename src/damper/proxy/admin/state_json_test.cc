#include "damper/proxy/admin/state_json.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/proxy/admin/admin_target_testing.h"

namespace damper::proxy {
namespace {

TEST(StateJson, WhatIsWrittenReadsTheSame) {  // (1)
  ProxyState state = incident();
  state.scopes[0].switches[0] = {.off = true, .remaining = kForever, .reason = "all \"off\"\n"};
  state.scopes[2].switches[1] = {
      .off = true, .remaining = std::chrono::milliseconds(1500), .reason = "x"};
  state.listeners[0].max_connections = 300;
  state.routes[1].has_gate = true;
  state.routes[1].gate_limit = 60;
  state.routes[1].tunnels = 7;
  state.routes[1].max_tunnels = 8;
  state.routes[1].refused_tunnels = 9;
  const std::string text = state_json(state);
  const auto back = parse_state(text);
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(state_json(*back), text);
  EXPECT_EQ(back->listeners[0].max_connections, 300U);
  EXPECT_FALSE(back->routes[0].has_gate);
  EXPECT_TRUE(back->routes[1].has_gate);
  EXPECT_EQ(back->routes[1].gate_limit, 60);
  EXPECT_EQ(back->routes[1].tunnels, 7U);
  EXPECT_EQ(back->routes[1].max_tunnels, 8U);
  EXPECT_EQ(back->routes[1].refused_tunnels, 9U);
  EXPECT_EQ(back->routes[1].tally.of(Verdict::budget_spent), 90U);
  EXPECT_EQ(back->routes[1].p99, std::chrono::milliseconds(2500));
  EXPECT_EQ(back->routes[1].breaker, admit::BreakerState::open);
  EXPECT_FALSE(back->routes[0].has_breaker);
  EXPECT_FALSE(back->routes[0].has_limit);
  EXPECT_EQ(back->clusters[0].replicas[1].ejected_on, 2U);
  EXPECT_EQ(back->budget.fill, 0.5);
  EXPECT_EQ(back->answered, 2U);
  EXPECT_EQ(back->scopes[0].switches[0].remaining, kForever);
  EXPECT_EQ(back->scopes[0].switches[0].reason, "all \"off\"\n");
  EXPECT_EQ(back->scopes[2].switches[1].remaining, std::chrono::milliseconds(1500));
}

TEST(StateJson, NamesAreTheWordsOfTheMetrics) {
  const std::string text = state_json(incident());
  EXPECT_NE(text.find(R"("verdicts":{"success":900,"budget_spent":90})"), std::string::npos);
  EXPECT_NE(text.find(R"("retries":{"timeout":110})"), std::string::npos);
  EXPECT_NE(text.find(R"("breaker":null,"limit":null)"), std::string::npos);
  EXPECT_NE(text.find(R"("p99_seconds":2.5)"), std::string::npos);
}

TEST(StateJson, ASwitchThatIsOnSaysNoMore) {
  EXPECT_EQ(
      switches_json({{.scope = SwitchScope::route("x")}}),
      R"({"switches":[{"scope":"route/x","retries":{"off":false},"hedging":{"off":false}}]})");
  EXPECT_EQ(switches_json({}), R"({"switches":[]})");
  const auto back = parse_switches(switches_json({{.scope = SwitchScope::route("x")}}));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 1U);
  EXPECT_EQ((*back)[0].scope, SwitchScope::route("x"));
  EXPECT_FALSE(parse_switches("{}"));
  EXPECT_FALSE(parse_switches("nonsense"));
}

TEST(StateJson, AReaderLeavesOutWhatItDoesNotKnow) {  // (2)
  const auto state = parse_state(
      R"({"version":1,"new":[1],"up_seconds":1e300,"draining":"yes","routes":[7,)"
      R"({"name":"a","breaker":"melted","limit":"much","calls":{"started":-1,"verdicts":[]}}]})");
  ASSERT_TRUE(state) << state.error();
  EXPECT_FALSE(state->draining);
  ASSERT_EQ(state->routes.size(), 1U);
  EXPECT_EQ(state->routes[0].name, "a");
  EXPECT_FALSE(state->routes[0].has_breaker);
  EXPECT_FALSE(state->routes[0].has_limit);
  EXPECT_EQ(state->routes[0].tally.started, 0U);
}

TEST(StateJson, WhatIsNoStateIsRefused) {
  for (const char* text :
       {"", "{}", "[]", "nonsense", R"({"version":1})", R"({"version":1,"rou)"}) {
    EXPECT_FALSE(parse_state(text)) << text;
  }
  EXPECT_FALSE(parse_state(std::string(1 << 20, '[')));
}

}  // namespace
}  // namespace damper::proxy
