#include "damper/run/dependency.h"

#include <gtest/gtest.h>

#include <optional>

#include "damper/engine/call.h"
#include "damper/run/clock.h"

namespace damper {
namespace {

TEST(RunDependency, IsUnderTheSwitchesOfTheProcess) {
  Dependency dependency("test");
  EXPECT_FALSE(dependency.switches().retries_off(run::now()));
  switches().set(admit::Switch::retries, {.off = true});
  EXPECT_TRUE(dependency.switches().retries_off(run::now()));
  switches().clear(admit::Switch::retries);
  EXPECT_FALSE(dependency.switches().retries_off(run::now()));
}

TEST(RunDependency, MayBeUnderABudget) {
  admit::RetryBudget process({.percent = Percent(0), .reserve = 1});
  Dependency one("one", {}, &process);
  Dependency two("two", {}, &process);
  EXPECT_TRUE(one.budget().try_withdraw(run::now()));
  EXPECT_FALSE(two.budget().try_withdraw(run::now()));
}

TEST(RunDependency, TheDefaultsAreSafe) {
  Dependency dependency("test");
  EXPECT_EQ(dependency.name(), "test");
  EXPECT_EQ(dependency.policy().max_attempts, 3);
  EXPECT_FALSE(dependency.terms().hedges);
}

TEST(RunDependencyDeathTest, IsNotDestroyedUnderACallInFlight) {
  EXPECT_DEATH(
      {
        std::optional<Dependency> dependency;
        dependency.emplace("billing");
        engine::Call call(*dependency, {});
        call.start(run::now(), 0.5);
        dependency.reset();
      },
      "check failed: the dependency billing is destroyed while calls of it \\(1\\) are in flight; "
      "it "
      "must outlive its calls");
  Dependency fine("billing");
  engine::Call call(fine, {});
  call.start(run::now(), 0.5);
  call.on_cancel(run::now());
}

}  // namespace
}  // namespace damper
