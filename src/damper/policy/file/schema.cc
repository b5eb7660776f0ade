#include "damper/policy/file/schema.h"

#include <algorithm>

#include "damper/base/enum_names.h"

namespace damper::policy {
namespace {

using config::kTick;
using config::Schema;
using config::Value;
using namespace std::chrono_literals;
namespace form = config::form;
using Adaptive = schedule::AdaptiveTimeoutOptions;
using Breaker = admit::CircuitBreakerOptions;
using Budget = admit::RetryBudgetOptions;
using Hedge = schedule::HedgeOptions;

constexpr EnumNames<admit::DepositOn::success> kDepositOnNames = {"request", "success"};
constexpr double kMostRate = 1e9;

void add_call(Schema<Settings>& s) {
  s.key<DAMPER_FIELD(policy.call.timeout)>("timeout", form::duration(engine::CallPolicy::kTimeout),
                                           "Total time of a call, including attempts and waits.")
      .not_under = "attempt_needs";
  s.key<DAMPER_FIELD(policy.call.needed)>(
      "attempt_needs", form::duration(0s),
      "An attempt is not started with less time than this before the deadline.");
  s.key<DAMPER_FIELD(policy.call.reserve)>(
      "deadline_reserve", form::duration(0s),
      "Time subtracted from the deadline for this hop's own cost; the rest is forwarded.");
}

Value statuses_of(const Settings& settings) {
  std::vector<double> statuses;
  for (std::size_t status = 0; status < settings.retry_on.statuses().size(); ++status) {
    if (settings.retry_on.statuses()[status]) statuses.push_back(static_cast<double>(status));
  }
  return statuses;
}
void set_statuses(Settings& settings, Value&& value) {
  RetryOn::Statuses statuses;
  for (const double status : std::get<std::vector<double>>(value)) {
    statuses.set(static_cast<std::size_t>(status));
  }
  settings.retry_on.set_statuses(statuses);
}

void add_retries(Schema<Settings>& s) {
  s.key<[](const Settings& t) { return std::int64_t{t.retry_on.tokens()}; },
        [](Settings& t, const Value& value) {
          t.retry_on.set_tokens(static_cast<std::uint32_t>(std::get<std::int64_t>(value)));
        }>("retry_policy.retry_on", form::tokens(RetryOn::kNames),
           "Conditions that are retried, with Envoy's names. Empty: nothing is retried.");
  s.key<DAMPER_FIELD(policy.call.max_attempts)>("retry_policy.num_retries",
                                                form::integer(0, 99).with_offset(1),
                                                "Attempts after the first, including hedges.");
  s.key<DAMPER_FIELD(policy.call.per_try_timeout)>(
      "retry_policy.per_try_timeout",
      form::duration(engine::CallPolicy::kPerTryTimeout).with_off(0),
      "Timeout of one attempt. off: the remaining time of the call.");
  s.key<statuses_of, set_statuses>(
      "retry_policy.retriable_status_codes",
      {.kind = config::Kind::wholes, .low = 400, .high = 599, .accepted = "HTTP statuses"},
      "HTTP statuses that retriable-status-codes in retry_on selects.");
  s.key<DAMPER_FIELD(policy.call.backoff.jitter)>(
      "retry_policy.retry_back_off.jitter", form::choice(schedule::kJitterNames),
      "Distribution of the wait before a retry over its interval.");
  s.key<DAMPER_FIELD(policy.call.backoff.base)>(
      "retry_policy.retry_back_off.base_interval", form::duration(schedule::BackoffOptions::kBase),
      "Interval before the first retry; doubled for each further retry.");
  s.key<DAMPER_FIELD(policy.call.backoff.cap)>("retry_policy.retry_back_off.max_interval",
                                               form::duration(kTick),
                                               "Longest interval. Default: 10 times base_interval.")
      .not_under = "retry_policy.retry_back_off.base_interval";
}

void add_budget(Schema<Settings>& s) {
  s.key<DAMPER_FIELD(policy.budget.percent)>("retry_budget.budget_percent",
                                             form::percent(Budget::kPercent),
                                             "Retries as a percentage of requests.");
  s.key<DAMPER_FIELD(policy.budget.window)>("retry_budget.window", form::duration(Budget::kWindow),
                                            "Period over which the percentage is computed.");
  s.key<DAMPER_FIELD(policy.budget.reserve)>(
      "retry_budget.reserve", form::integer(Budget::kReserve),
      "Retries for a client with few requests; only successes refill it, one for one.");
  s.key<DAMPER_FIELD(policy.budget.min_per_second)>(
      "retry_budget.min_retries_per_second", form::integer(Budget::kMinPerSecond),
      "Retries that are always allowed. Every client process has this allowance.");
  s.key<DAMPER_FIELD(policy.budget.deposit_on)>(
      "retry_budget.deposit_on", form::choice(kDepositOnNames), "What adds to the budget.");
  s.key<DAMPER_FIELD(policy.budget.min_retry_concurrency)>(
      "retry_budget.min_retry_concurrency", form::integer(0, 1'000'000).with_off(-1),
      "Envoy's additional bound: retries in flight are at most this number or the percentage of "
      "the requests in flight, whichever is larger.");
}

Value hedge_chance(const Settings& settings) {
  const schedule::HedgeOptions& hedge = settings.policy.call.hedge;
  return std::int64_t{hedge.max_hedges == 0 ? 0 : hedge.ratio.hundredths()};
}
// The chance decides together with max_hedges whether hedging is enabled: see apply().
void set_hedge_chance(Settings& settings, Value&& value) {
  schedule::HedgeOptions& hedge = settings.policy.call.hedge;
  if (std::get<std::int64_t>(value) == 0) {
    hedge.max_hedges = 0;
  } else {
    config::from_value(form::kChance, std::move(value), hedge.ratio);
  }
}

void add_hedging(Schema<Settings>& s) {
  s.constant("hedge_policy.initial_requests", form::integer(1, 1),
             "Requests sent at once. More than one would multiply the load of every call.");
  s.key<DAMPER_FIELD(policy.call.hedge.max_hedges)>(
      "hedge_policy.max_hedges", form::integer(Hedge::kMaxHedges),
      "Additional attempts in flight beside the first. 0 disables hedging.");
  s.key<hedge_chance, set_hedge_chance>("hedge_policy.additional_request_chance", form::kChance,
                                        "Hedges as a percentage of requests. 0 disables hedging.");
  s.constant("hedge_policy.hedge_on_per_try_timeout", form::of(config::Kind::boolean, 0, 0),
             "Envoy hedges at a timeout; here a hedge is sent at the quantile.");
  s.key<DAMPER_FIELD(policy.call.hedge.quantile)>(
      "hedge_policy.quantile", form::percent(Hedge::kQuantile),
      "A hedge is sent when a response takes longer than this quantile of the latencies.");
  s.key<DAMPER_FIELD(policy.call.hedge.floor)>("hedge_policy.floor", form::duration(Hedge::kFloor),
                                               "Minimum delay before a hedge.");
  s.key<DAMPER_FIELD(policy.call.hedge.min_samples)>(
      "hedge_policy.min_samples", form::integer(Hedge::kMinSamples),
      "Latency samples needed before the first hedge.");

  s.key<DAMPER_FIELD(policy.call.adaptive_timeout.quantile)>("adaptive_timeout.quantile",
                                                             form::percent(Adaptive::kQuantile),
                                                             "Quantile of the observed latencies.");
  s.key<DAMPER_FIELD(policy.call.adaptive_timeout.margin)>(
      "adaptive_timeout.margin", form::percent(Adaptive::kMargin),
      "Timeout of an attempt as a percentage of the quantile.");
  s.key<DAMPER_FIELD(policy.call.adaptive_timeout.lower)>(
      "adaptive_timeout.lower", form::duration(Adaptive::kLower), "Lower bound of the timeout.");
  s.key<DAMPER_FIELD(policy.call.adaptive_timeout.upper)>(
       "adaptive_timeout.upper", form::duration(kTick), "Upper bound of the timeout.")
      .not_under = "adaptive_timeout.lower";
  s.key<DAMPER_FIELD(policy.call.adaptive_timeout.min_samples)>(
      "adaptive_timeout.min_samples", form::integer(Adaptive::kMinSamples),
      "Latency samples needed; until then per_try_timeout applies.");
}

void add_breaker(Schema<Settings>& s) {
  s.key<DAMPER_FIELD(policy.breaker->failure_rate)>(
      "circuit_breaker.failure_rate", form::percent(Breaker::kRate),
      "The breaker opens at this percentage of failed calls in the window.");
  s.key<DAMPER_FIELD(policy.breaker->slow_call_rate)>(
      "circuit_breaker.slow_call_rate", form::percent(Breaker::kRate),
      "The breaker opens at this percentage of calls over slow_call_duration.");
  s.key<DAMPER_FIELD(policy.breaker->slow_call_duration)>(
      "circuit_breaker.slow_call_duration", form::duration(Breaker::kSlowCallDuration).with_off(0),
      "A call that takes longer counts as slow. off: no call is slow.");
  s.key<DAMPER_FIELD(policy.breaker->consecutive_failures)>(
      "circuit_breaker.consecutive_failures",
      form::integer(Breaker::kConsecutiveFailures).with_off(0),
      "The breaker opens after this number of consecutive failures.");
  s.key<DAMPER_FIELD(policy.breaker->window)>("circuit_breaker.window",
                                              form::duration(Breaker::kWindow),
                                              "Period over which the rates are computed.");
  s.key<DAMPER_FIELD(policy.breaker->minimum_volume)>(
      "circuit_breaker.minimum_volume", form::integer(Breaker::kMinimumVolume),
      "Calls in the window before the rates are evaluated.");
  s.key<DAMPER_FIELD(policy.breaker->open_base)>(
      "circuit_breaker.open_base", form::duration(Breaker::kOpenBase),
      "First open period; doubled with each consecutive opening, with jitter.");
  s.key<DAMPER_FIELD(policy.breaker->open_cap)>("circuit_breaker.open_cap", form::duration(kTick),
                                                "Longest open period.")
      .not_under = "circuit_breaker.open_base";
  s.key<DAMPER_FIELD(policy.breaker->probes)>(
      "circuit_breaker.probes", form::integer(Breaker::kProbes),
      "Concurrent calls while half-open, and successes needed to close.");
  s.key<DAMPER_FIELD(policy.breaker->probe_lease)>(
      "circuit_breaker.probe_lease", form::duration(Breaker::kProbeLease).with_off(0, "auto"),
      "A probe without a result after this time counts as failed and releases its slot. auto: 1.5 "
      "times the timeout of an attempt.");
  s.key<DAMPER_FIELD(policy.breaker->ramp)>(
      "circuit_breaker.ramp", form::duration(Breaker::kRamp).with_off(0),
      "Traffic grows to 100 % over this period after closing. off: at once.");
}

void add_limits(Schema<Settings>& s) {
  s.key<DAMPER_FIELD(policy.limit->kind)>("concurrency_limit.kind",
                                          form::choice(admit::kLimitKindNames),
                                          "Algorithm that adapts the limit to the latencies.");
  s.key<DAMPER_FIELD(policy.limit->min)>("concurrency_limit.min",
                                         form::integer(admit::ConcurrencyLimitOptions::kLimit),
                                         "Lower bound of the limit.");
  s.key<DAMPER_FIELD(policy.limit->initial)>(
       "concurrency_limit.initial", form::integer(admit::ConcurrencyLimitOptions::kLimit),
       "Initial limit of calls in flight; the limit itself if the kind is fixed.")
      .not_under = "concurrency_limit.min";
  s.key<DAMPER_FIELD(policy.limit->max)>("concurrency_limit.max",
                                         form::integer(admit::ConcurrencyLimitOptions::kLimit),
                                         "Upper bound of the limit.")
      .not_under = "concurrency_limit.initial";
  s.key<DAMPER_FIELD(policy.attempt_rate->bucket.rate_per_second)>(
      "attempt_rate_limit.attempts_per_second",
      config::form::rate(admit::TokenBucketOptions::kRatePerSecond),
      "Attempts sent per second: first ones, retries and hedges together.");
  s.key<DAMPER_FIELD(policy.attempt_rate->bucket.burst)>(
      "attempt_rate_limit.burst", form::integer(admit::TokenBucketOptions::kBurst),
      "Attempts sent at once after a quiet time.");
  s.key<DAMPER_FIELD(policy.attempt_rate->max_wait)>(
      "attempt_rate_limit.max_wait",
      form::duration(admit::AttemptRateOptions::kMaxWait).with_off(0),
      "Longest wait of an attempt for its turn, within the deadline. off: it is refused at once.");
  s.key<DAMPER_FIELD(policy.throttle->multiplier)>(
      "client_throttle.multiplier", form::percent(admit::ClientThrottleOptions::kMultiplier),
      "Requests as a percentage of accepted ones; above it the client rejects some itself.");
  s.key<DAMPER_FIELD(policy.throttle->window)>(
      "client_throttle.window", form::duration(admit::ClientThrottleOptions::kWindow),
      "Period over which both are counted.");
  s.key<DAMPER_FIELD(policy.throttle->minimum_volume)>(
      "client_throttle.minimum_volume", form::integer(admit::ClientThrottleOptions::kMinimumVolume),
      "Requests in the window before any is rejected.");
  s.key<DAMPER_FIELD(policy.throttle->max_rejected)>(
      "client_throttle.max_rejected", form::percent(admit::ClientThrottleOptions::kMaxRejected),
      "At most this percentage is rejected; the rest finds out that the dependency has recovered.");
}

void add_facts(Schema<Settings>& s) {
  constexpr config::Form kRate = form::integer(1, kMostRate).with_off(0, "unknown");
  constexpr config::Form kLatency = form::duration(kTick).with_off(0, "unknown");
  s.key<DAMPER_FIELD(facts->capacity)>("facts.capacity", kRate,
                                       "Requests per second that the dependency can serve.");
  s.key<DAMPER_FIELD(facts->load)>("facts.load", kRate,
                                   "Requests per second from all clients, without retries.");
  s.key<DAMPER_FIELD(facts->clients)>("facts.clients", form::integer(1, 1e9),
                                      "Client processes, each with a retry budget.");
  s.key<DAMPER_FIELD(facts->methods)>("facts.methods", form::tokens(kMethodNames),
                                      "Methods of the requests. Empty: unknown.");
  s.key<DAMPER_FIELD(facts->assume_idempotent)>(
      "facts.assume_idempotent", form::kBoolean,
      "Callers declare every request idempotent: all methods are retried.");
  s.key<DAMPER_FIELD(facts->calls)>(
      "facts.calls",
      form::parsed_list(parse_name, "the name of a route of this file", 0, kMostCalls),
      "Routes of this file that the service behind this route calls.");
  s.key<DAMPER_FIELD(facts->ownership)>(
      "facts.ownership", form::kBoolean,
      "Calls carry damper-retry-owner, and the service honours that header.");
  s.key<DAMPER_FIELD(facts->latency.p50)>("facts.latency.p50", kLatency, "Median.");
  s.key<DAMPER_FIELD(facts->latency.p99)>("facts.latency.p99", kLatency, "99th percentile.")
      .not_under = "facts.latency.p50";
  s.key<DAMPER_FIELD(facts->latency.p999)>("facts.latency.p999", kLatency, "99.9th percentile.")
      .not_under = "facts.latency.p99";
}

void add_sections(Schema<Settings>& s) {
  s.section("retry_policy", "When and how often a failed attempt is retried.");
  s.section("retry_policy.retry_back_off", "The wait before a retry.");
  s.section("retry_budget", "Bounds retries to a percentage of requests.");
  s.section("hedge_policy", "A second attempt beside a slow one; reads only.");
  s.section({.path = "adaptive_timeout",
             .doc = "Derives the timeout of an attempt from observed latencies.",
             .on =
                 [](const void* t) {
                   return static_cast<const Settings*>(t)->policy.call.adaptive_timeout.on;
                 },
             .turn =
                 [](void* t, bool on) {
                   auto& options = static_cast<Settings*>(t)->policy.call.adaptive_timeout;
                   if (!on) options = {};
                   options.on = on;
                 }});
  s.optional_section<DAMPER_FIELD(policy.breaker)>("circuit_breaker",
                                                   "Stops calls to a failing dependency.");
  s.optional_section<DAMPER_FIELD(policy.limit)>("concurrency_limit",
                                                 "Bounds the calls in flight.");
  s.optional_section<DAMPER_FIELD(policy.attempt_rate)>(
      "attempt_rate_limit", "Bounds the rate of the attempts that are sent.");
  s.optional_section<DAMPER_FIELD(policy.throttle)>(
      "client_throttle", "Rejects locally what the dependency would reject.");
  const auto has_facts =
      s.optional_section<DAMPER_FIELD(facts)>(
           "facts", "Facts about the dependency for `damper check`; the engine ignores them.")
          .on;
  s.section("facts.latency", "Latencies of a healthy attempt.").on = has_facts;
}

void add_aliases(Schema<Settings>& s) {
  s.alias("retry_back_off", "retry_policy.retry_back_off");
  s.alias("retry_policy.retry_budget", "retry_budget");
  s.alias("retry_policy.hedge_policy", "hedge_policy");
  s.alias("outlier_detection", "circuit_breaker",
          "outlier_detection is read as circuit_breaker: one breaker for the dependency, not an "
          "ejection of single hosts");
  s.alias("outlier_detection.consecutive_5xx", "circuit_breaker.consecutive_failures");
  s.alias("outlier_detection.interval", "circuit_breaker.window");
  s.alias("outlier_detection.base_ejection_time", "circuit_breaker.open_base");
  s.alias("outlier_detection.max_ejection_time", "circuit_breaker.open_cap");
  s.alias("outlier_detection.failure_percentage_threshold", "circuit_breaker.failure_rate");
  s.alias("outlier_detection.failure_percentage_request_volume", "circuit_breaker.minimum_volume");
}

}  // namespace

const Schema<Settings>& block_schema() {
  static const Schema<Settings> kSchema = [] {
    Schema<Settings> schema("block");
    add_call(schema);
    add_retries(schema);
    add_budget(schema);
    add_hedging(schema);
    add_breaker(schema);
    add_limits(schema);
    add_facts(schema);
    add_sections(schema);
    add_aliases(schema);
    return schema;
  }();
  return kSchema;
}

void apply(const config::Reading& block, Origin origin, Route& route) {
  const Schema<Settings>& schema = block_schema();
  const auto at = [&](std::string_view path) { return schema.position(path); };
  Settings& settings = route.settings;
  schema.apply(block, settings);
  route.origins.resize(schema.keys().size(), Origin::built_in);
  route.places.resize(schema.keys().size());
  for (std::size_t i = 0; i < schema.keys().size(); ++i) {
    if (!block.keys[i]) continue;
    route.origins[i] = origin;
    route.places[i] = block.keys[i]->place;
  }
  // A chance over 0 enables hedging, unless the same block sets max_hedges.
  schedule::HedgeOptions& hedge = settings.policy.call.hedge;
  const auto& chance = block.keys[at("hedge_policy.additional_request_chance")];
  const auto& most = block.keys[at("hedge_policy.max_hedges")];
  if (chance && std::get<std::int64_t>(chance->value) > 0 && !most) {
    hedge.max_hedges = std::max(hedge.max_hedges, 1);
  }
  if (hedge.max_hedges == 0) hedge.ratio = schedule::HedgeOptions{}.ratio;
  // Envoy's default: max_interval is 10 times base_interval.
  schedule::BackoffOptions& backoff = settings.policy.call.backoff;
  if (route.origins[at("retry_policy.retry_back_off.max_interval")] == Origin::built_in) {
    backoff.cap = std::min(10 * backoff.base, kLongest);
  }
  settings.policy.call.retryable = settings.retry_on.outcomes();
}

Expected<std::string> parse_name(std::string_view text) {
  constexpr std::string_view kOthers = "._-/:";
  const bool fine = !text.empty() && text.size() <= kLongestName &&
                    std::all_of(text.begin(), text.end(), [&](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || kOthers.find(c) != std::string_view::npos;
                    });
  if (!fine) return unexpected(std::string());
  return std::string(text);
}

}  // namespace damper::policy
