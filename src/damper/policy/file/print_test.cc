#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "damper/base/random.h"
#include "damper/config/schema_testing.h"
#include "damper/policy/file/policy_file.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

TEST(Print, SaysEveryValueAndMarksWhatTheFileDidNotSay) {
  const auto file = load(
      "defaults: {timeout: 3s}\n"
      "routes: {db: {retry_policy: {num_retries: 1}, client_throttle: on}}",
      "p.yaml");
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(print(*file), R"(routes:
  "db":
    timeout: 3s                                         # from defaults
    attempt_needs: 1ms                                  # default
    deadline_reserve: 0s                                # default
    retry_policy:
      retry_on: "default"                               # default
      num_retries: 1
      per_try_timeout: off                              # default
      retriable_status_codes: []                        # default
      retry_back_off:
        jitter: full                                    # default
        base_interval: 500ms                            # default
        max_interval: 5s                                # default
    retry_budget:
      budget_percent: 10                                # default
      window: 10s                                       # default
      reserve: 3                                        # default
      min_retries_per_second: 0                         # default
      deposit_on: request                               # default
      min_retry_concurrency: off                        # default
    hedge_policy:
      initial_requests: 1                               # default
      max_hedges: 0                                     # default
      additional_request_chance: { numerator: 0, denominator: TEN_THOUSAND } # default
      hedge_on_per_try_timeout: false                   # default
      quantile: 95                                      # default
      floor: 1ms                                        # default
      min_samples: 100                                  # default
    adaptive_timeout: off
    circuit_breaker: off
    concurrency_limit: off
    attempt_rate_limit: off
    client_throttle:
      multiplier: 200                                   # default
      window: 2m                                        # default
      minimum_volume: 20                                # default
      max_rejected: 92                                  # default
    facts: off
)");
}

using config::Key;
using config::Kind;
using config::Section;

Route random_route(Random& random) {
  const auto& schema = block_schema();
  Route route;
  route.origins.resize(schema.keys().size(), Origin::route);
  Settings& settings = route.settings;
  for (const Section& section : schema.sections()) {
    if (section.turn != nullptr) section.turn(&settings, random.draw() < 0.5);
  }
  for (const Key& key : schema.keys()) {
    if (!schema.is_on(key, settings) || key.form.kind == Kind::texts) continue;
    schema.set(key, settings, config::random_value(key.form, random));
  }
  for (const Key& key : schema.keys()) {
    if (key.not_under.empty() || !schema.is_on(key, settings)) continue;
    schema.set(key, settings,
               std::max(schema.value(key, settings),
                        schema.value(schema.key_at(key.not_under), settings)));
  }
  engine::CallPolicy& call = settings.policy.call;
  if (call.backoff.base == call.backoff.cap) call.backoff.jitter = schedule::Jitter::full;
  call.reserve = std::min(call.reserve, call.timeout - Duration{1});
  call.retryable = settings.retry_on.outcomes();
  return route;
}

// Invariant (3), over the whole schema. That all of it loads shows too that the bounds of the table
// are none that the engine refuses.
TEST(Print, WhatIsPrintedLoadsAsTheSamePolicy) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    PolicyFile file;
    file.shape = seed % 2 == 0 ? "route" : "dependencies";
    for (int i = 0; i < (seed % 2 == 0 ? 1 : 3); ++i) {
      file.routes.push_back(random_route(random));
      if (seed % 2 == 0) continue;
      file.routes.back().name = "null:" + std::to_string(i);
      auto& facts = file.routes[0].settings.facts;
      if (i > 0 && facts) facts->calls.push_back(file.routes.back().name);
    }
    const std::string text = print(file);
    const auto loaded = load(text, "printed.yaml");
    ASSERT_TRUE(loaded) << "seed " << seed << ": " << to_string(loaded.error()) << '\n' << text;
    ASSERT_EQ(loaded->routes.size(), file.routes.size()) << "seed " << seed;
    for (std::size_t i = 0; i < file.routes.size(); ++i) {
      const Settings& before = file.routes[i].settings;
      const Settings& after = loaded->routes[i].settings;
      ASSERT_EQ(after.retry_on, before.retry_on) << "seed " << seed;
      ASSERT_EQ(after.policy.call.retryable, before.policy.call.retryable) << "seed " << seed;
      ASSERT_EQ(loaded->routes[i].name, file.routes[i].name) << "seed " << seed;
      if (before.facts) {
        ASSERT_EQ(after.facts->calls, before.facts->calls) << "seed " << seed;
      }
      for (const Section& section : block_schema().sections()) {
        if (section.on == nullptr) continue;
        ASSERT_EQ(section.on(&after), section.on(&before)) << "seed " << seed << section.path;
      }
      for (const Key& key : block_schema().keys()) {
        if (!block_schema().is_on(key, before)) continue;
        ASSERT_EQ(block_schema().value(key, after), block_schema().value(key, before))
            << "seed " << seed << ' ' << key.path;
      }
    }
    ASSERT_EQ(print(*loaded), text) << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::policy
