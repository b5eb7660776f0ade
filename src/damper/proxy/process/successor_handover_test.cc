#include "damper/proxy/process/successor.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

TEST(Handover, HasTheSwitchesThatAreOffTheForcedBreakersAndTheSocketsThatAreElsewhere) {
  std::vector<ScopeState> scopes(2);
  scopes[0].switches[0] = {.off = true, .remaining = kForever, .reason = "db \"failover\"\n"};
  scopes[1].scope = SwitchScope::route("a");
  scopes[1].switches[1] = {.off = true, .remaining = 90s, .reason = "load"};
  const std::vector<ForcedBreaker> forced = {
      {.scope = SwitchScope::route("a"), .status = {admit::BreakerForce::open, 90s, "bad deploy"}},
      {.scope = SwitchScope::cluster("c"),
       .replica = "http://10.0.0.7:80",
       .status = {admit::BreakerForce::closed, 1ns, ""}}};
  const Handover handover =
      handover_of(scopes, forced, {{"web", 3, true}, {"web", 4, true}, {"inner", 5, false}});
  const Handover wanted{.switches = {{.scope = {},
                                      .which = admit::Switch::retries,
                                      .off = true,
                                      .reason = "db \"failover\"\n"},
                                     {.scope = SwitchScope::route("a"),
                                      .which = admit::Switch::hedging,
                                      .off = true,
                                      .reason = "load",
                                      .length = 90s}},
                        .breakers = {{.scope = SwitchScope::route("a"),
                                      .force = admit::BreakerForce::open,
                                      .reason = "bad deploy",
                                      .length = 90s},
                                     {.scope = SwitchScope::cluster("c"),
                                      .replica = "http://10.0.0.7:80",
                                      .force = admit::BreakerForce::closed,
                                      .reason = "no reason was given",
                                      .length = 1ms}},
                        .given = {"web"}};
  EXPECT_EQ(handover, wanted);
  EXPECT_EQ(parse_handover(print_handover(handover)), wanted);  // Invariant (1).
}

TEST(Handover, OfNothingIsEmptyAndWhatIsNotUnderstoodIsPassedOver) {
  EXPECT_EQ(print_handover(handover_of(std::vector<ScopeState>(3), {}, {})), "");
  EXPECT_EQ(parse_handover("something else\n\ngiven a:b\n{}\nno end"),
            (Handover{.switches = {}, .given = {"a:b"}}));
}

}  // namespace
}  // namespace damper::proxy
