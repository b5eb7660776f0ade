#include "damper/proxy/process/proxy_fleet.h"

#include <gtest/gtest.h>

#include <vector>

namespace damper::proxy {
namespace {

constexpr const char* kOff = R"({"switch":"retries","off":true,"reason":"db failover"})";
constexpr const char* kHedgingOff = R"({"switch":"hedging","off":true,"reason":"load"})";

class Events final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) noexcept override { said.emplace_back(event.detail); }
  std::vector<std::string> said;
};

class ProxyFleetTest : public testing::Test {
 protected:
  ProxyFleet fleet_{[this](const std::string& text) -> std::optional<std::string> {
                      if (text == "bad") return "x:1:1: no";
                      known_ = text;
                      return std::nullopt;
                    },
                    [this](const SwitchScope& scope, admit::Switch which,
                           const admit::SwitchSetting& setting) -> std::optional<std::string> {
                      if (scope != SwitchScope{} && scope != SwitchScope::route(known_)) {
                        return "no such scope";
                      }
                      flips_ += scope.text() + ' ' + std::string(name(which)) +
                                (setting.off ? " off;" : " on;");
                      return std::nullopt;
                    },
                    events_};
  Events events_;
  std::string known_ = "a";
  std::string flips_;
};

TEST(FleetSwitch, TheKeySaysTheScopeAndPerhapsTheSwitch) {
  EXPECT_EQ(parse_fleet_switch("process", kOff)->scope, SwitchScope{});
  EXPECT_EQ(parse_fleet_switch("process/retries", kOff)->scope, SwitchScope{});
  EXPECT_EQ(parse_fleet_switch("route/a/b", kOff)->scope, SwitchScope::route("a/b"));
  EXPECT_EQ(parse_fleet_switch("route/a/b/retries", kOff)->scope, SwitchScope::route("a/b"));
  EXPECT_EQ(parse_fleet_switch("cluster/x/hedging", kHedgingOff)->which, admit::Switch::hedging);
}

TEST(FleetSwitch, AKeyAndAValueThatDisagreeAreNone) {
  for (const char* key : {"", "retries", "nonsense", "route/a/hedging", "routes/a"}) {
    EXPECT_FALSE(parse_fleet_switch(key, kOff)) << key;
  }
  EXPECT_FALSE(parse_fleet_switch(
      "route/a", R"({"scope":"route/b","switch":"retries","off":true,"reason":"x"})"));
  EXPECT_FALSE(parse_fleet_switch("route/a", "{}"));
}

TEST_F(ProxyFleetTest, ASwitchIsFlippedAndTurnedOnAgainWhenItsKeyIsGone) {
  EXPECT_EQ(fleet_.on_switch("route/a", kOff), std::nullopt);
  EXPECT_EQ(fleet_.on_switch("process/hedging", kHedgingOff), std::nullopt);
  EXPECT_EQ(fleet_.on_switch("route/a", std::nullopt), std::nullopt);
  EXPECT_EQ(fleet_.on_switch("route/unknown", std::nullopt), std::nullopt);
  EXPECT_EQ(flips_, "route/a retries off;process hedging off;route/a retries on;");
}

TEST_F(ProxyFleetTest, AKeyThatTurnsToTheOtherSwitchLeavesTheFirstOn) {
  EXPECT_EQ(fleet_.on_switch("route/a", kOff), std::nullopt);
  EXPECT_EQ(fleet_.on_switch("route/a", kOff), std::nullopt);
  EXPECT_TRUE(fleet_.has_flipped(*parse_fleet_switch("route/a", kOff)));
  EXPECT_EQ(fleet_.on_switch("route/a", kHedgingOff), std::nullopt);
  EXPECT_FALSE(fleet_.has_flipped(*parse_fleet_switch("route/a", kOff)));
  EXPECT_EQ(fleet_.on_switch("route/a", std::nullopt), std::nullopt);
  EXPECT_FALSE(fleet_.has_flipped(*parse_fleet_switch("route/a", kHedgingOff)));
  EXPECT_EQ(flips_,
            "route/a retries off;route/a retries off;"
            "route/a retries on;route/a hedging off;route/a hedging on;");
}

TEST_F(ProxyFleetTest, ASwitchWhoseRouteIsNotThereYetIsTriedAgainAfterTheNextPolicy) {
  EXPECT_EQ(fleet_.on_switch("route/b", kOff), "no such scope");
  EXPECT_EQ(events_.said, std::vector<std::string>{"no such scope"});
  EXPECT_EQ(fleet_.on_policy("bad"), "x:1:1: no");
  EXPECT_EQ(flips_, "");
  EXPECT_EQ(fleet_.on_policy("b"), std::nullopt);
  EXPECT_EQ(flips_, "route/b retries off;");
  EXPECT_EQ(fleet_.on_policy("b"), std::nullopt);
  EXPECT_EQ(flips_, "route/b retries off;");  // Once.
}

}  // namespace
}  // namespace damper::proxy
