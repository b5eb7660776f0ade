#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "damper/base/random.h"
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
    client_throttle:
      multiplier: 200                                   # default
      window: 2m                                        # default
    facts: off
)");
}

// A value within the key's bounds: often one of its ends.
std::int64_t random_raw(const Key& key, Random& random) {
  const double draw = random.draw();
  if (draw < 0.1) return key.low;
  if (draw < 0.2) return key.high;
  if (draw < 0.3 && key.off) return *key.off;
  const auto span = static_cast<std::uint64_t>(key.high - key.low) + 1;
  return key.low + static_cast<std::int64_t>(random.bits() % span);
}

bool is_off(const Key& key, const Settings& settings) {
  const auto section = find_section(parent(key.path));
  return section && sections()[*section].on != nullptr && !sections()[*section].on(settings);
}

Route random_route(Random& random) {
  Route route;
  route.origins.resize(keys().size(), Origin::route);
  Settings& settings = route.settings;
  for (const Section& section : sections()) {
    if (section.turn != nullptr) section.turn(settings, random.draw() < 0.5);
  }
  for (const Key& key : keys()) {
    if (is_off(key, settings)) continue;
    if (key.kind == Kind::routes) continue;
    if (key.kind == Kind::statuses) {
      RetryOn::Statuses statuses;
      for (std::size_t i = 0; i < 3; ++i) statuses.set(400 + random.bits() % 200);
      settings.retry_on.set_statuses(statuses);
      continue;
    }
    key.set(settings, random_raw(key, random));
  }
  for (const Key& key : keys()) {
    if (key.not_under.empty() || is_off(key, settings)) continue;
    key.set(settings, std::max(key.get(settings), keys()[*find_key(key.not_under)].get(settings)));
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
      for (const Section& section : sections()) {
        if (section.on == nullptr) continue;
        ASSERT_EQ(section.on(after), section.on(before)) << "seed " << seed << section.path;
      }
      for (const Key& key : keys()) {
        if (is_off(key, before) || !key.has_raw()) continue;
        ASSERT_EQ(key.get(after), key.get(before)) << "seed " << seed << ' ' << key.path;
      }
    }
    ASSERT_EQ(print(*loaded), text) << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::policy
