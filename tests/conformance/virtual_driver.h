#pragma once

#include <string>
#include <string_view>

#include "damper/engine/call_player_testing.h"
#include "tests/conformance/driver.h"

namespace damper::conformance {

// The state machine alone, in virtual time.
class VirtualDriver final : public Driver {
 public:
  [[nodiscard]] std::string_view name() const override { return "virtual"; }

  [[nodiscard]] std::string play(const Case& scenario) override {
    using engine::Player;
    engine::Dependency dependency("test", policy_of(scenario));
    for (int i = 0; scenario.warm && i < 100; ++i) (void)Player(dependency, {}).play(".");
    if (!scenario.before.empty()) (void)Player(dependency, {}).play(scenario.before);
    if (scenario.switched_off) dependency.switches().set(admit::Switch::retries, {.off = true});
    const schedule::Deadline deadline(add(Player::kStart, scenario.deadline));
    Player player(dependency, {.request = {.idempotent = scenario.idempotent,
                                           .safe = scenario.idempotent,
                                           .owned_above = scenario.owned_above,
                                           .rereads = scenario.rereads},
                               .deadline = deadline});
    return player.play(scenario.script);
  }
};

}  // namespace damper::conformance
