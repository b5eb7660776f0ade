#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "damper/config/yaml_tree.h"
#include "damper/policy/file/policy_file.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using decide::OutcomeSet;

// The error's text, or "ok".
std::string error_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  return file ? "ok" : to_string(file.error());
}

// The settings of the file's only, or last, route.
Settings settings_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  EXPECT_TRUE(file) << to_string(file.error());
  return file ? file->routes.back().settings : Settings{};
}
engine::Policy policy_of(std::string_view text) { return settings_of(text).policy; }

std::string notes_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  EXPECT_TRUE(file) << to_string(file.error());
  std::string notes;
  if (file) {
    for (const config::Note& note : file->notes) notes += to_string(note) + '\n';
  }
  return notes;
}

// The article's example, as it is written there.
constexpr std::string_view kArticle = R"(route:
  timeout: 2s                     # request deadline at the edge
  retry_policy:
    retry_on: "5xx,reset,connect-failure"
    num_retries: 2
    per_try_timeout: 0.8s
    retry_back_off: { base_interval: 0.1s, max_interval: 2s }
    retry_budget: { budget_percent: 10, min_retry_concurrency: 3 }
  hedge_policy:
    initial_requests: 1
    additional_request_chance: { numerator: 0 }  # enable per-route for hot reads
)";

void expect_the_articles_policy(const engine::Policy& policy) {
  EXPECT_EQ(policy.call.timeout, 2s);
  EXPECT_EQ(policy.call.max_attempts, 3);
  EXPECT_EQ(policy.call.per_try_timeout, 800ms);
  EXPECT_EQ(policy.call.backoff.base, 100ms);
  EXPECT_EQ(policy.call.backoff.cap, 2s);
  EXPECT_EQ(policy.call.backoff.jitter, schedule::Jitter::full);
  EXPECT_EQ(policy.call.retryable,
            (OutcomeSet{Outcome::transient, Outcome::timeout, Outcome::unavailable}));
  EXPECT_EQ(policy.budget.percent, Percent(10));
  EXPECT_EQ(policy.budget.min_retry_concurrency, 3);
  EXPECT_EQ(policy.call.hedge.max_hedges, 0);
  EXPECT_FALSE(policy.breaker);
}

TEST(PolicyFile, TheArticlesExampleLoadsAsItStands) {
  expect_the_articles_policy(policy_of(kArticle));
  EXPECT_EQ(notes_of(kArticle), "");
  EXPECT_EQ(load(kArticle, "p.yaml")->routes[0].name, "");
}

TEST(PolicyFile, BudgetAndBackoffMayStandBesideTheRetryPolicyToo) {
  expect_the_articles_policy(policy_of(R"(route:
  timeout: 2s
  retry_back_off: { base_interval: 0.1s, max_interval: 2s }
  retry_budget: { budget_percent: 10, min_retry_concurrency: 3 }
  retry_policy:
    retry_on: "5xx,reset,connect-failure"
    num_retries: 2
    per_try_timeout: 0.8s
    hedge_policy: { initial_requests: 1, additional_request_chance: { numerator: 0 } }
)"));
}

TEST(PolicyFile, WhatIsNotSaidIsTheEnginesDefault) {
  const engine::Policy policy = policy_of("route: {}");
  const engine::Policy built_in;
  EXPECT_EQ(policy.call.timeout, built_in.call.timeout);
  EXPECT_EQ(policy.call.max_attempts, built_in.call.max_attempts);
  EXPECT_EQ(policy.call.retryable, decide::kRetryableByDefault);
  EXPECT_EQ(policy.call.backoff.cap, built_in.call.backoff.cap);
  EXPECT_EQ(policy.budget.percent, built_in.budget.percent);
  EXPECT_EQ(policy.budget.min_retry_concurrency, -1);
  EXPECT_FALSE(policy.breaker || policy.throttle || policy.limit || policy.attempt_rate);
  EXPECT_FALSE(policy.call.adaptive_timeout.on);
}

TEST(PolicyFile, EveryKeyReachesItsOption) {
  const engine::Policy policy = policy_of(R"(route:
  timeout: 1.5m
  attempt_needs: 7ms
  deadline_reserve: 8ms
  retry_policy:
    retry_on: [connect-failure]
    num_retries: 4
    per_try_timeout: 250ms
    retry_back_off: { jitter: decorrelated, base_interval: 20ms, max_interval: 30ms }
  retry_budget:
    budget_percent: { value: 20.5 }
    window: 20s
    reserve: 11
    min_retries_per_second: 12
    deposit_on: success
    min_retry_concurrency: 13
  hedge_policy:
    max_hedges: 2
    additional_request_chance: { numerator: 12500, denominator: MILLION }
    quantile: 90
    floor: 2ms
    min_samples: 14
  adaptive_timeout: { quantile: 99.5, margin: 200, lower: 3ms, upper: 4s, min_samples: 15 }
  circuit_breaker:
    failure_rate: 0.25
    slow_call_rate: 60%
    slow_call_duration: 5s
    consecutive_failures: 16
    window: 30s
    minimum_volume: 17
    open_base: 2s
    open_cap: 3s
    probes: 5
    probe_lease: 6s
    ramp: 7s
  concurrency_limit: { kind: vegas, initial: 18, min: 2, max: 19 }
  attempt_rate_limit: { attempts_per_second: 12.5, burst: 6, max_wait: 250ms }
  client_throttle: { multiplier: 150, window: 60s, minimum_volume: 7, max_rejected: 80 }
)");
  EXPECT_EQ(policy.call.timeout, 90s);
  EXPECT_EQ(policy.call.needed, 7ms);
  EXPECT_EQ(policy.call.reserve, 8ms);
  EXPECT_EQ(policy.call.retryable, (OutcomeSet{Outcome::unavailable}));
  EXPECT_EQ(policy.call.max_attempts, 5);
  EXPECT_EQ(policy.call.per_try_timeout, 250ms);
  EXPECT_EQ(policy.call.backoff.jitter, schedule::Jitter::decorrelated);
  EXPECT_EQ(policy.call.backoff.base, 20ms);
  EXPECT_EQ(policy.call.backoff.cap, 30ms);
  EXPECT_EQ(policy.budget.percent.hundredths(), 2050);
  EXPECT_EQ(policy.budget.window, 20s);
  EXPECT_EQ(policy.budget.reserve, 11);
  EXPECT_EQ(policy.budget.min_per_second, 12);
  EXPECT_EQ(policy.budget.deposit_on, admit::DepositOn::success);
  EXPECT_EQ(policy.budget.min_retry_concurrency, 13);
  EXPECT_EQ(policy.call.hedge.max_hedges, 2);
  EXPECT_EQ(policy.call.hedge.ratio.hundredths(), 125);
  EXPECT_EQ(policy.call.hedge.quantile, Percent(90));
  EXPECT_EQ(policy.call.hedge.floor, 2ms);
  EXPECT_EQ(policy.call.hedge.min_samples, 14);
  EXPECT_TRUE(policy.call.adaptive_timeout.on);
  EXPECT_EQ(policy.call.adaptive_timeout.quantile.hundredths(), 9950);
  EXPECT_EQ(policy.call.adaptive_timeout.margin, Percent(200));
  EXPECT_EQ(policy.call.adaptive_timeout.lower, 3ms);
  EXPECT_EQ(policy.call.adaptive_timeout.upper, 4s);
  EXPECT_EQ(policy.call.adaptive_timeout.min_samples, 15);
  ASSERT_TRUE(policy.breaker);
  EXPECT_EQ(policy.breaker->failure_rate.hundredths(), 25);
  EXPECT_EQ(policy.breaker->slow_call_rate, Percent(60));
  EXPECT_EQ(policy.breaker->slow_call_duration, 5s);
  EXPECT_EQ(policy.breaker->consecutive_failures, 16);
  EXPECT_EQ(policy.breaker->window, 30s);
  EXPECT_EQ(policy.breaker->minimum_volume, 17);
  EXPECT_EQ(policy.breaker->open_base, 2s);
  EXPECT_EQ(policy.breaker->open_cap, 3s);
  EXPECT_EQ(policy.breaker->probes, 5);
  EXPECT_EQ(policy.breaker->probe_lease, 6s);
  EXPECT_EQ(policy.breaker->ramp, 7s);
  ASSERT_TRUE(policy.limit);
  EXPECT_EQ(policy.limit->kind, admit::LimitKind::vegas);
  EXPECT_EQ(policy.limit->initial, 18);
  EXPECT_EQ(policy.limit->min, 2);
  EXPECT_EQ(policy.limit->max, 19);
  ASSERT_TRUE(policy.attempt_rate);
  EXPECT_EQ(policy.attempt_rate->bucket.rate_per_second, 12.5);
  EXPECT_EQ(policy.attempt_rate->bucket.burst, 6);
  EXPECT_EQ(policy.attempt_rate->max_wait, 250ms);
  ASSERT_TRUE(policy.throttle);
  EXPECT_EQ(policy.throttle->multiplier, Percent(150));
  EXPECT_EQ(policy.throttle->window, 60s);
  EXPECT_EQ(policy.throttle->minimum_volume, 7);
  EXPECT_EQ(policy.throttle->max_rejected, Percent(80));
}

TEST(PolicyFile, EveryKeyKnowsWhereItIsSaid) {
  const auto file = load(
      "defaults:\n  timeout: 9s\nroutes:\n  db:\n    retry_policy: { num_retries: 1 }\n", "p.yaml");
  ASSERT_TRUE(file);
  const Route& db = file->routes[0];
  EXPECT_EQ(place_of(db, block_schema().position("timeout")), (config::SourceLocation{2, 12}));
  EXPECT_EQ(place_of(db, block_schema().position("retry_policy.num_retries")),
            (config::SourceLocation{5, 34}));
  EXPECT_EQ(place_of(db, block_schema().position("retry_budget.window")),
            (config::SourceLocation{4, 3}));  // Nobody: the route.
  EXPECT_EQ(
      place_of(Route{.name = "x", .place = {7, 1}, .settings = {}, .origins = {}, .places = {}}, 0),
      (config::SourceLocation{7, 1}));
}

TEST(PolicyFile, MaxIntervalIsTenTimesTheBaseUnlessItIsSaid) {
  EXPECT_EQ(policy_of("route: {retry_back_off: {base_interval: 25ms}}").call.backoff.cap, 250ms);
  EXPECT_EQ(policy_of("route: {retry_back_off: {base_interval: 719h}}").call.backoff.cap, kLongest);
  EXPECT_EQ(policy_of("defaults: {retry_back_off: {max_interval: 9s}}\n"
                      "route: {retry_back_off: {base_interval: 25ms}}")
                .call.backoff.cap,
            9s);
}

TEST(PolicyFile, HedgingIsOnWhenAChanceIsGivenAndOffWhenEitherKeySaysSo) {
  const auto hedges = [](std::string_view text) { return policy_of(text).call.hedge; };
  EXPECT_EQ(hedges("route: {hedge_policy: {additional_request_chance: {numerator: 7}}}").max_hedges,
            1);
  EXPECT_EQ(hedges("route: {hedge_policy: {additional_request_chance: {numerator: 7}}}").ratio,
            Percent(7));
  EXPECT_EQ(hedges("route: {hedge_policy: {additional_request_chance: 0.5%}}").ratio.hundredths(),
            50);
  EXPECT_EQ(hedges("route: {hedge_policy: {max_hedges: 2}}").ratio, Percent(5));
  EXPECT_EQ(
      hedges("route: {hedge_policy: {additional_request_chance: {numerator: 0}, max_hedges: 2}}")
          .max_hedges,
      0);
  EXPECT_EQ(
      hedges("route: {hedge_policy: {max_hedges: 0, additional_request_chance: {numerator: 7}}}")
          .max_hedges,
      0);
  const auto off = hedges(
      "defaults: {hedge_policy: {additional_request_chance: {numerator: 7}}}\n"
      "route: {hedge_policy: {max_hedges: 0}}");
  EXPECT_EQ(off.max_hedges, 0);
  EXPECT_EQ(off.ratio, Percent(5));  // As if nobody had said one: off is printed as a chance of 0.
  EXPECT_EQ(hedges("defaults: {hedge_policy: {max_hedges: 3}}\n"
                   "route: {hedge_policy: {additional_request_chance: {numerator: 7}}}")
                .max_hedges,
            3);
}

TEST(PolicyFile, DefaultsAreUnderEveryRoute) {
  const auto file = load(R"(
routes:
  checkout/v1: { timeout: 1s }
  search: { circuit_breaker: off, retry_policy: { num_retries: 0 } }
defaults:
  timeout: 9s
  circuit_breaker: { window: 20s }
)",
                         "p.yaml");
  ASSERT_TRUE(file) << to_string(file.error());
  ASSERT_EQ(file->routes.size(), 2u);
  const engine::Policy& checkout = file->find("checkout/v1")->settings.policy;
  EXPECT_EQ(checkout.call.timeout, 1s);
  EXPECT_EQ(checkout.breaker->window, 20s);
  const engine::Policy& search = file->find("search")->settings.policy;
  EXPECT_EQ(search.call.timeout, 9s);
  EXPECT_FALSE(search.breaker);
  EXPECT_EQ(search.call.max_attempts, 1);
  EXPECT_EQ(file->find("nobody"), nullptr);
}

TEST(PolicyFile, ARouteAddsToADefaultsSectionInsteadOfReplacingIt) {
  const engine::Policy policy = policy_of(
      "defaults: {circuit_breaker: {window: 20s}}\n"
      "dependencies: {db: {circuit_breaker: {probes: 2}}}");
  EXPECT_EQ(policy.breaker->window, 20s);
  EXPECT_EQ(policy.breaker->probes, 2);
}

TEST(PolicyFile, EnvoysOutlierDetectionIsReadAsABreaker) {
  constexpr std::string_view kText = R"(route:
  outlier_detection:
    consecutive_5xx: 5
    interval: 15s
    base_ejection_time: 2s
    max_ejection_time: 20s
    failure_percentage_threshold: 85
    failure_percentage_request_volume: 50
)";
  const engine::Policy policy = policy_of(kText);
  EXPECT_EQ(policy.breaker->consecutive_failures, 5);
  EXPECT_EQ(policy.breaker->window, 15s);
  EXPECT_EQ(policy.breaker->open_base, 2s);
  EXPECT_EQ(policy.breaker->open_cap, 20s);
  EXPECT_EQ(policy.breaker->failure_rate, Percent(85));
  EXPECT_EQ(policy.breaker->minimum_volume, 50);
  EXPECT_EQ(notes_of(kText),
            "p.yaml:2:3: outlier_detection is read as circuit_breaker: one breaker for the "
            "dependency, not an ejection of single hosts\n");
  EXPECT_EQ(error_of("route: {outlier_detection: {probes: 2}}"),
            "p.yaml:1:29: unknown key \"probes\" in outlier_detection (accepted: consecutive_5xx, "
            "interval, base_ejection_time, max_ejection_time, failure_percentage_threshold, "
            "failure_percentage_request_volume)");
}

TEST(PolicyFile, WhatRetryOnAsksForAndDoesNotGetIsNoted) {
  EXPECT_EQ(notes_of("route: {retry_policy: {retry_on: '5xx,retriable-4xx'}}"),
            "p.yaml:1:34: retry_on has retriable-4xx: it is a conflict, and to send the same "
            "write again cannot resolve it; it is not retried\n");
  EXPECT_EQ(notes_of("route: {retry_policy: {retry_on: ''}}"),
            "p.yaml:1:34: retry_on is empty: nothing is retried\n");
  EXPECT_EQ(notes_of("route: {retry_policy: {retriable_status_codes: [503]}}"),
            "p.yaml:1:48: retriable_status_codes is not used: retry_on lacks "
            "retriable-status-codes\n");
  EXPECT_EQ(notes_of("route: {retry_policy: {retry_on: retriable-status-codes}}"),
            "p.yaml:1:34: retry_on has retriable-status-codes, but retriable_status_codes is "
            "empty\n");
  EXPECT_EQ(notes_of("route: {retry_policy: {retry_on: retriable-status-codes, "
                     "retriable_status_codes: [404, 503]}}"),
            "p.yaml:1:82: retriable_status_codes has 404: the answer is permanent and will not "
            "change; it is not retried\n");
}

// Each a sentence with its place.
TEST(PolicyFile, AnUnknownKeyIsAnErrorWithTheNearestAndAllAccepted) {
  EXPECT_EQ(error_of("route:\n  retry_policy:\n    num_retires: 2\n"),
            "p.yaml:3:5: unknown key \"num_retires\" in retry_policy; did you mean num_retries? "
            "(accepted: retry_on, num_retries, per_try_timeout, retriable_status_codes, "
            "retry_back_off, retry_budget, hedge_policy)");
  EXPECT_EQ(error_of("route:\n  zzz: 2\n"),
            "p.yaml:2:3: unknown key \"zzz\" in route (accepted: timeout, attempt_needs, "
            "deadline_reserve, retry_policy, retry_budget, hedge_policy, adaptive_timeout, "
            "circuit_breaker, concurrency_limit, attempt_rate_limit, client_throttle, facts, "
            "retry_back_off, outlier_detection)");
  EXPECT_EQ(error_of("rout: {}\n"),
            "p.yaml:1:1: unknown key \"rout\" in the file; did you mean route? "
            "(accepted: route, routes, dependencies, defaults)");
  EXPECT_EQ(error_of("routes:\n  db: {timeot: 1s}\n"),
            "p.yaml:2:8: unknown key \"timeot\" in db; did you mean timeout? (accepted: timeout, "
            "attempt_needs, deadline_reserve, retry_policy, retry_budget, hedge_policy, "
            "adaptive_timeout, circuit_breaker, concurrency_limit, attempt_rate_limit, "
            "client_throttle, facts, retry_back_off, outlier_detection)");
}

TEST(PolicyFile, AWrongValueIsAnErrorWithWhatIsAccepted) {
  EXPECT_EQ(error_of("route:\n  timeout: -2s\n"),
            "p.yaml:2:12: timeout must be a duration from 1ns to 720h, such as 250ms, 2s or 1.5m, "
            "not \"-2s\"");
  EXPECT_EQ(error_of("route:\n  retry_budget: {budget_percent: 10001}\n"),
            "p.yaml:2:34: budget_percent must be a percentage from 0 to 1000 with at most two "
            "decimals, not \"10001\"");
  EXPECT_EQ(error_of("route: {retry_policy: {num_retries: 100}}"),
            "p.yaml:1:37: num_retries must be a whole number from 0 to 99, not \"100\"");
  EXPECT_EQ(error_of("route: {retry_back_off: {jitter: ful}}"),
            "p.yaml:1:34: jitter must be one of none, full, equal, decorrelated, not \"ful\"; did "
            "you mean full?");
  EXPECT_EQ(error_of("route: {hedge_policy: {initial_requests: 2}}"),
            "p.yaml:1:42: initial_requests must be 1, not \"2\"");
  EXPECT_EQ(error_of("route: {hedge_policy: {hedge_on_per_try_timeout: true}}"),
            "p.yaml:1:50: hedge_on_per_try_timeout must be false, not \"true\"");
  EXPECT_EQ(error_of("route: {hedge_policy: {additional_request_chance: {numerator: 1, "
                     "denominator: MILLION}}}"),
            "p.yaml:1:51: additional_request_chance must be {numerator: N, denominator: HUNDRED, "
            "TEN_THOUSAND or MILLION} from 0 to 100 % in steps of 0.01 %, not a map");
  EXPECT_EQ(error_of("route: {retry_policy: {retry_on: 6xx}}"),
            "p.yaml:1:34: retry_on has no word \"6xx\"; did you mean 5xx? (accepted: default, 5xx, "
            "gateway-error, reset, reset-before-request, connect-failure, refused-stream, "
            "retriable-4xx, retriable-status-codes, envoy-ratelimited, cancelled, "
            "deadline-exceeded, internal, resource-exhausted, unavailable)");
  EXPECT_EQ(error_of("route: {retry_policy: {retriable_status_codes: [503, 200]}}"),
            "p.yaml:1:54: retriable_status_codes must be a list of HTTP statuses from 400 to 599, "
            "not \"200\"");
  EXPECT_EQ(error_of("route: {retry_budget: {min_retry_concurrency: -1}}"),
            "p.yaml:1:47: min_retry_concurrency must be a whole number from 0 to 1000000, or off, "
            "not \"-1\"");
}

TEST(PolicyFile, AValueOfTheWrongFormIsAnErrorAtItsPlace) {
  EXPECT_EQ(error_of("route:\n  timeout:\n"),
            "p.yaml:2:3: timeout must be a duration from 1ns to 720h, such as 250ms, 2s or 1.5m, "
            "not nothing");
  EXPECT_EQ(error_of("route: {timeout: [1s]}"),
            "p.yaml:1:18: timeout must be a duration from 1ns to 720h, such as 250ms, 2s or 1.5m, "
            "not a list");
  EXPECT_EQ(error_of("route:\n  retry_budget:\n"),
            "p.yaml:2:3: retry_budget must be a map of keys (accepted: budget_percent, window, "
            "reserve, min_retries_per_second, deposit_on, min_retry_concurrency)");
  EXPECT_EQ(error_of("route: {circuit_breaker: maybe}"),
            "p.yaml:1:26: circuit_breaker must be on, off or a map of keys, not \"maybe\"");
  EXPECT_EQ(error_of("routes: {}"), "p.yaml:1:1: routes must be a map from names to routes");
  EXPECT_EQ(error_of("routes: {'a b': {}}"),
            "p.yaml:1:10: a name must be 1 to 100 letters, digits or . _ - / :, not \"a b\"");
  EXPECT_EQ(error_of("[route]"),
            "p.yaml:1:1: the file must be a map of keys (accepted: route, routes, dependencies, "
            "defaults)");
}

TEST(PolicyFile, ACapUnderItsBaseIsAnErrorWhereItIsSaid) {
  EXPECT_EQ(error_of("route:\n  retry_back_off:\n    max_interval: 50ms\n"
                     "    base_interval: 100ms\n"),
            "p.yaml:3:19: max_interval must be at least base_interval (100ms), not 50ms");
  EXPECT_EQ(error_of("route: {timeout: 500us}"),
            "p.yaml:1:18: timeout must be at least attempt_needs (1ms), not 500us");
  EXPECT_EQ(error_of("route: {circuit_breaker: {open_base: 31s}}"),
            "p.yaml:1:38: open_cap must be at least open_base (31s), not 30s");
  EXPECT_EQ(error_of("defaults: {concurrency_limit: {max: 5}}\nroute: {}"),
            "p.yaml:1:37: max must be at least initial (20), not 5");
  EXPECT_EQ(error_of("route: {retry_back_off: {base_interval: 5s, max_interval: 5s}}"), "ok");
  EXPECT_EQ(error_of("defaults: {circuit_breaker: {open_base: 31s}}\n"
                     "route: {circuit_breaker: off}"),
            "ok");  // What is off is not checked.
}

// Invariant (1): what the table does not know, the engine's own check finds.
TEST(PolicyFile, WhatTheEngineRefusesIsAnErrorAtTheRoute) {
  EXPECT_EQ(error_of("routes:\n  db:\n    deadline_reserve: 1s\n    timeout: 1s\n"),
            "p.yaml:2:3: call.reserve is 1s; it must be less than timeout, which is 1s");
}

TEST(PolicyFile, NothingIsSaidTwice) {
  EXPECT_EQ(error_of("route:\n  timeout: 1s\n  timeout: 2s\n"),
            "p.yaml:3:3: key \"timeout\" is given twice, first in line 2");
  EXPECT_EQ(error_of("route:\n  retry_budget: {reserve: 1}\n  retry_policy:\n"
                     "    retry_budget: {window: 2s}\n"),
            "p.yaml:4:5: retry_budget is given twice, first in line 2");
  EXPECT_EQ(error_of("route:\n  circuit_breaker: on\n  outlier_detection: {interval: 2s}\n"),
            "p.yaml:3:3: circuit_breaker is given twice, first in line 2");
  EXPECT_EQ(error_of("route: {}\nroutes: {a: {}}\n"),
            "p.yaml:2:1: routes cannot stand beside route: a file has one of route, routes and "
            "dependencies");
}

TEST(PolicyFile, AFileWithoutARouteIsAnError) {
  const std::string empty =
      "p.yaml:1:1: the file is empty (expected: route, routes or dependencies)";
  EXPECT_EQ(error_of(""), empty);
  EXPECT_EQ(error_of("# nothing\n\n"), empty);
  EXPECT_EQ(error_of("---\n"), empty);
  EXPECT_EQ(error_of("defaults: {}"),
            "p.yaml:1:1: the file has no route (expected: route, routes or dependencies)");
}

TEST(PolicyFile, ANameHasABound) {
  EXPECT_EQ(error_of("routes: {" + std::string(100, 'n') + ": {}}"), "ok");
  EXPECT_EQ(error_of("routes: {" + std::string(101, 'n') + ": {}}").substr(0, 39),
            "p.yaml:1:10: a name must be 1 to 100 le");
}

TEST(PolicyFile, TheNumberOfRoutesIsBounded) {
  std::string text = "routes:\n";
  for (int i = 0; i < 1000; ++i) text += "  r" + std::to_string(i) + ": {}\n";
  EXPECT_EQ(error_of(text), "ok");
  EXPECT_EQ(error_of(text + "  last: {}\n"), "p.yaml:1:1: routes has more than 1000 entries");
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "damper_policy_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml";
};

TEST(PolicyFile, AFileIsReadFromDisk) {
  const TemporaryFile file(std::string{kArticle});
  const auto loaded = load_file(file.path());
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  expect_the_articles_policy(loaded->routes[0].settings.policy);
}

TEST(PolicyFile, AFileOverTheLimitIsRefusedWithoutReadingItAll) {
  const std::string largest = "route: {}\n#" + std::string(config::kMostBytes - 11, 'x');
  const TemporaryFile fits(largest);
  EXPECT_TRUE(load_file(fits.path()));
  std::istringstream eight_megabytes(std::string(8'000'000, 'x'));
  const auto loaded = load_stream(eight_megabytes, "big.yaml");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(to_string(loaded.error()),
            "big.yaml: is larger than 1 MiB; a policy file has at most 1048576 bytes");
  EXPECT_EQ(eight_megabytes.tellg(), static_cast<std::streamoff>(config::kMostBytes + 1));
}

TEST(PolicyFile, WhatIsNoReadableFileIsAnErrorOfOneSentence) {
  EXPECT_EQ(to_string(load_file("/nowhere/p.yaml").error()),
            "/nowhere/p.yaml: cannot be read: No such file or directory");
  EXPECT_EQ(to_string(load_file("/tmp").error()), "/tmp: cannot be read: it is a directory");
}

}  // namespace
}  // namespace damper::policy
