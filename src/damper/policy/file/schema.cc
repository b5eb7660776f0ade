#include "damper/policy/file/schema.h"

#include <array>
#include <iterator>
#include <type_traits>

#include "damper/policy/file/raw_value.h"

namespace damper::policy {
namespace {

// A key whose value is one field; `Field` takes the Settings and returns the field.
template <auto Field>
constexpr Key field(std::string_view path, Kind kind, std::int64_t low, std::int64_t high,
                    std::string_view doc) {
  return {.path = path,
          .kind = kind,
          .low = low,
          .high = high,
          .doc = doc,
          .get = [](const Settings& s) { return to_raw(Field(s)); },
          .set =
              [](Settings& s, std::int64_t raw) {
                auto& value = Field(s);
                value = from_raw<std::remove_reference_t<decltype(value)>>(raw);
              }};
}
template <auto Field>
constexpr Key duration(std::string_view path, Duration low, Duration high, std::string_view doc) {
  return field<Field>(path, Kind::duration, low.count(), high.count(), doc);
}
template <auto Field>
constexpr Key percent(std::string_view path, std::int64_t low, std::int64_t high,
                      std::string_view doc) {
  return field<Field>(path, Kind::percent, low, high, doc);
}
template <auto Field>
constexpr Key integer(std::string_view path, std::int64_t low, std::int64_t high,
                      std::string_view doc) {
  return field<Field>(path, Kind::integer, low, high, doc);
}
template <auto Field>
constexpr Key boolean(std::string_view path, std::string_view doc) {
  return field<Field>(path, Kind::boolean, 0, 1, doc);
}
template <auto Field>
constexpr Key choice(std::string_view path, std::span<const std::string_view> names,
                     std::string_view doc) {
  Key key = field<Field>(path, Kind::choice, 0, std::ssize(names) - 1, doc);
  key.names = names;
  return key;
}

constexpr Key with_off(Key key, std::int64_t raw) {
  key.off = raw;
  return key;
}
constexpr Key not_under(Key key, std::string_view path) {
  key.not_under = path;
  return key;
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): the path of a member takes none.
#define DAMPER_FIELD(expression) [](auto& s) -> auto& { return s.expression; }

constexpr std::array<std::string_view, 2> kDepositOnNames = {"request", "success"};
constexpr std::string_view kUnknown = "unknown";
constexpr std::int64_t kMostRate = 1'000'000'000;
constexpr Duration kTick{1};  // The least duration over zero.
constexpr Duration kMillisecond = std::chrono::milliseconds(1);
constexpr Duration kSecond = std::chrono::seconds(1);
constexpr Duration kHour = std::chrono::hours(1);

constexpr std::int64_t hedge_chance(const Settings& s) {
  return s.policy.call.hedge.max_hedges == 0 ? 0 : s.policy.call.hedge.ratio.hundredths();
}
// The chance decides with max_hedges whether there is hedging at all: load.cc joins the two.
constexpr void set_hedge_chance(Settings& s, std::int64_t hundredths) {
  if (hundredths == 0) {
    s.policy.call.hedge.max_hedges = 0;
  } else {
    s.policy.call.hedge.ratio = from_raw<Percent>(hundredths);
  }
}

// A number of the facts: a whole one from 1 on, or unknown.
template <auto Field>
constexpr Key rate(std::string_view path, std::string_view doc) {
  Key key = field<Field>(path, Kind::integer, 1, kMostRate, doc);
  key.off = 0;
  key.off_word = kUnknown;
  return key;
}
// A latency of the facts, or unknown.
template <auto Field>
constexpr Key latency(std::string_view path, std::string_view doc) {
  Key key = duration<Field>(path, kTick, kLongest, doc);
  key.off = 0;
  key.off_word = kUnknown;
  return key;
}

constexpr Key kKeys[] = {
    not_under(duration<DAMPER_FIELD(policy.call.timeout)>(
                  "timeout", kTick, kLongest, "The whole call, all attempts and waits included."),
              "attempt_needs"),
    duration<DAMPER_FIELD(policy.call.needed)>(
        "attempt_needs", Duration{0}, kLongest,
        "An attempt with less time than this before the deadline is not started."),
    duration<DAMPER_FIELD(policy.call.reserve)>(
        "deadline_reserve", Duration{0}, kLongest,
        "Kept back of the deadline for this hop's own cost; the rest is forwarded."),

    {.path = "retry_policy.retry_on",
     .kind = Kind::tokens,
     .low = 0,
     .high = (std::int64_t{1} << RetryOn::kNames.size()) - 1,
     .doc = "What is retried, in Envoy's words; empty: nothing.",
     .get = [](const Settings& s) { return std::int64_t{s.retry_on.tokens()}; },
     .set = [](Settings& s,
               std::int64_t raw) { s.retry_on.set_tokens(static_cast<std::uint32_t>(raw)); },
     .names = RetryOn::kNames},
    {.path = "retry_policy.num_retries",
     .kind = Kind::integer,
     .low = 0,
     .high = 99,
     .doc = "Attempts after the first, hedges included.",
     .get = [](const Settings& s) { return std::int64_t{s.policy.call.max_attempts} - 1; },
     .set =
         [](Settings& s, std::int64_t raw) {
           s.policy.call.max_attempts = static_cast<std::int32_t>(raw + 1);
         }},
    with_off(duration<DAMPER_FIELD(policy.call.per_try_timeout)>(
                 "retry_policy.per_try_timeout", Duration{0}, kLongest,
                 "One attempt; off: whatever is left of the call."),
             0),
    {.path = "retry_policy.retriable_status_codes",
     .kind = Kind::statuses,
     .low = 400,
     .high = 599,
     .doc = "HTTP statuses that retry_on's retriable-status-codes stands for."},
    choice<DAMPER_FIELD(policy.call.backoff.jitter)>(
        "retry_policy.retry_back_off.jitter", schedule::kJitterNames,
        "How the wait before a retry is spread over its interval."),
    duration<DAMPER_FIELD(policy.call.backoff.base)>(
        "retry_policy.retry_back_off.base_interval", kTick, kLongest,
        "The interval before the first retry; doubled for each one after it."),
    not_under(duration<DAMPER_FIELD(policy.call.backoff.cap)>(
                  "retry_policy.retry_back_off.max_interval", kTick, kLongest,
                  "The longest interval; 10 times base_interval unless it is said."),
              "retry_policy.retry_back_off.base_interval"),

    percent<DAMPER_FIELD(policy.budget.percent)>("retry_budget.budget_percent", 0, Percent::kMost,
                                                 "Retries in percent of the requests."),
    duration<DAMPER_FIELD(policy.budget.window)>("retry_budget.window", kSecond, kHour,
                                                 "Over which the percentage holds."),
    integer<DAMPER_FIELD(policy.budget.reserve)>(
        "retry_budget.reserve", 0, 1000,
        "Retries for a quiet client; only successes refill it, one for one."),
    integer<DAMPER_FIELD(policy.budget.min_per_second)>(
        "retry_budget.min_retries_per_second", 0, 10'000,
        "Retries that are always allowed; a fleet of quiet clients has it once for each."),
    choice<DAMPER_FIELD(policy.budget.deposit_on)>("retry_budget.deposit_on", kDepositOnNames,
                                                   "What feeds the budget."),
    with_off(integer<DAMPER_FIELD(policy.budget.min_retry_concurrency)>(
                 "retry_budget.min_retry_concurrency", 0, 1'000'000,
                 "Envoy's bound beside it: retries in flight are at most this or the percentage "
                 "of the requests in flight, whichever is more."),
             -1),

    {.path = "hedge_policy.initial_requests",
     .kind = Kind::integer,
     .low = 1,
     .high = 1,
     .doc = "Requests sent at once; more than one would double the load for everybody.",
     .get = [](const Settings&) { return std::int64_t{1}; },
     .set = [](Settings&, std::int64_t) {}},
    integer<DAMPER_FIELD(policy.call.hedge.max_hedges)>(
        "hedge_policy.max_hedges", 0, 3,
        "Extra attempts in flight beside the first; 0: no hedging."),
    {.path = "hedge_policy.additional_request_chance",
     .kind = Kind::chance,
     .low = 0,
     .high = Percent::kDenominator,
     .doc = "Hedges in percent of the requests; 0: no hedging.",
     .get = hedge_chance,
     .set = set_hedge_chance},
    {.path = "hedge_policy.hedge_on_per_try_timeout",
     .kind = Kind::boolean,
     .low = 0,
     .high = 0,
     .doc = "Envoy's way to hedge, at a timeout; here a hedge goes at the quantile.",
     .get = [](const Settings&) { return std::int64_t{0}; },
     .set = [](Settings&, std::int64_t) {}},
    percent<DAMPER_FIELD(policy.call.hedge.quantile)>(
        "hedge_policy.quantile", 5000, 9999, "A hedge goes when an answer is later than this."),
    duration<DAMPER_FIELD(policy.call.hedge.floor)>("hedge_policy.floor", kTick, kLongest,
                                                    "A hedge never goes sooner than this."),
    integer<DAMPER_FIELD(policy.call.hedge.min_samples)>(
        "hedge_policy.min_samples", 1, 1'000'000, "Latencies to be known before the first hedge."),

    percent<DAMPER_FIELD(policy.call.adaptive_timeout.quantile)>("adaptive_timeout.quantile", 5000,
                                                                 9999, "Of the live latencies."),
    percent<DAMPER_FIELD(policy.call.adaptive_timeout.margin)>(
        "adaptive_timeout.margin", 10'000, Percent::kMost,
        "An attempt's timeout, of the quantile."),
    duration<DAMPER_FIELD(policy.call.adaptive_timeout.lower)>(
        "adaptive_timeout.lower", kTick, kLongest, "Never shorter than this."),
    not_under(duration<DAMPER_FIELD(policy.call.adaptive_timeout.upper)>(
                  "adaptive_timeout.upper", kTick, kLongest, "Never longer than this."),
              "adaptive_timeout.lower"),
    integer<DAMPER_FIELD(policy.call.adaptive_timeout.min_samples)>(
        "adaptive_timeout.min_samples", 1, 1'000'000,
        "Latencies to be known; until then per_try_timeout holds."),

    percent<DAMPER_FIELD(policy.breaker->failure_rate)>("circuit_breaker.failure_rate", 1, 10'000,
                                                        "It trips when the window reaches it."),
    percent<DAMPER_FIELD(policy.breaker->slow_call_rate)>(
        "circuit_breaker.slow_call_rate", 1, 10'000,
        "It trips when so many are over slow_call_duration."),
    with_off(duration<DAMPER_FIELD(policy.breaker->slow_call_duration)>(
                 "circuit_breaker.slow_call_duration", Duration{0}, kLongest,
                 "A call that takes longer is slow; off: none is."),
             0),
    with_off(integer<DAMPER_FIELD(policy.breaker->consecutive_failures)>(
                 "circuit_breaker.consecutive_failures", 0, 10'000,
                 "It trips at so many failures in a row."),
             0),
    duration<DAMPER_FIELD(policy.breaker->window)>("circuit_breaker.window", kSecond, kHour,
                                                   "Over which the rates are taken."),
    integer<DAMPER_FIELD(policy.breaker->minimum_volume)>(
        "circuit_breaker.minimum_volume", 1, 1'000'000,
        "Calls in the window before a rate counts."),
    duration<DAMPER_FIELD(policy.breaker->open_base)>(
        "circuit_breaker.open_base", kMillisecond, kLongest,
        "The first open time; doubled at each trip in a row, and jittered."),
    not_under(duration<DAMPER_FIELD(policy.breaker->open_cap)>("circuit_breaker.open_cap", kTick,
                                                               kLongest, "The longest open time."),
              "circuit_breaker.open_base"),
    integer<DAMPER_FIELD(policy.breaker->probes)>(
        "circuit_breaker.probes", 1, 16, "Half-open calls at once, and successes that close it."),
    duration<DAMPER_FIELD(policy.breaker->probe_lease)>(
        "circuit_breaker.probe_lease", kMillisecond, kHour,
        "A probe unheard of for so long gives its place back."),
    with_off(duration<DAMPER_FIELD(policy.breaker->ramp)>(
                 "circuit_breaker.ramp", Duration{0}, kHour,
                 "Traffic grows to all of it over so long after closing; off: at once."),
             0),

    choice<DAMPER_FIELD(policy.limit->kind)>("concurrency_limit.kind", admit::kLimitKindNames,
                                             "How the limit follows the latencies."),
    integer<DAMPER_FIELD(policy.limit->min)>("concurrency_limit.min", 1, 100'000,
                                             "The limit never falls under this."),
    not_under(integer<DAMPER_FIELD(policy.limit->initial)>(
                  "concurrency_limit.initial", 1, 100'000,
                  "Calls in flight at first; the limit itself when it is fixed."),
              "concurrency_limit.min"),
    not_under(integer<DAMPER_FIELD(policy.limit->max)>("concurrency_limit.max", 1, 100'000,
                                                       "The limit never grows over this."),
              "concurrency_limit.initial"),

    percent<DAMPER_FIELD(policy.throttle->multiplier)>(
        "client_throttle.multiplier", 10'000, Percent::kMost,
        "Requests in percent of those accepted; above it the client refuses some itself."),
    duration<DAMPER_FIELD(policy.throttle->window)>("client_throttle.window", kSecond, kHour,
                                                    "Over which both are counted."),

    rate<DAMPER_FIELD(facts->capacity)>("facts.capacity",
                                        "Requests a second that the dependency can do."),
    rate<DAMPER_FIELD(facts->load)>(
        "facts.load", "Requests a second that it gets from all clients, first tries only."),
    integer<DAMPER_FIELD(facts->clients)>("facts.clients", 1, 1'000'000'000,
                                          "Processes that each have a budget of their own."),
    {.path = "facts.methods",
     .kind = Kind::tokens,
     .low = 0,
     .high = (std::int64_t{1} << kMethodNames.size()) - 1,
     .doc = "What is sent; empty: not known.",
     .get = [](const Settings& s) { return std::int64_t{s.facts->methods}; },
     .set = [](Settings& s,
               std::int64_t raw) { s.facts->methods = static_cast<std::uint32_t>(raw); },
     .names = kMethodNames},
    boolean<DAMPER_FIELD(facts->assume_idempotent)>(
        "facts.assume_idempotent",
        "Every request is retried, whatever its method: the callers say that it may be."),
    {.path = "facts.calls",
     .kind = Kind::routes,
     .doc = "Routes of this file that the service behind this one calls."},
    boolean<DAMPER_FIELD(facts->ownership)>(
        "facts.ownership", "Its calls carry damper-retry-owner, and it obeys the header."),
    latency<DAMPER_FIELD(facts->latency.p50)>("facts.latency.p50", "Half are quicker."),
    not_under(latency<DAMPER_FIELD(facts->latency.p99)>("facts.latency.p99", "99 % are quicker."),
              "facts.latency.p50"),
    not_under(
        latency<DAMPER_FIELD(facts->latency.p999)>("facts.latency.p999", "99.9 % are quicker."),
        "facts.latency.p99"),
};

template <class T>
constexpr void turn_optional(std::optional<T>& part, bool on) {
  if (!on) part.reset();
  if (on && !part) part.emplace();
}
bool breaker_on(const Settings& s) { return s.policy.breaker.has_value(); }
void turn_breaker(Settings& s, bool on) { turn_optional(s.policy.breaker, on); }

bool facts_on(const Settings& s) { return s.facts.has_value(); }

constexpr Section kSections[] = {
    {"retry_policy", "When and how often a failed attempt is repeated."},
    {"retry_policy.retry_back_off", "The wait before a retry."},
    {"retry_budget", "Bounds retries to a share of the requests."},
    {"hedge_policy", "A second attempt beside a slow one; reads only."},
    {"adaptive_timeout", "An attempt's timeout from the latencies seen.",
     [](const Settings& s) { return s.policy.call.adaptive_timeout.on; },
     [](Settings& s, bool on) {
       if (!on) s.policy.call.adaptive_timeout = {};
       s.policy.call.adaptive_timeout.on = on;
     }},
    {"circuit_breaker", "Stops calls to a dependency that fails.", breaker_on, turn_breaker},
    {"concurrency_limit", "Bounds the calls in flight.",
     [](const Settings& s) { return s.policy.limit.has_value(); },
     [](Settings& s, bool on) { turn_optional(s.policy.limit, on); }},
    {"client_throttle", "Refuses here what the dependency would reject there.",
     [](const Settings& s) { return s.policy.throttle.has_value(); },
     [](Settings& s, bool on) { turn_optional(s.policy.throttle, on); }},
    {"facts", "What is known about the dependency: for damper check; the engine ignores it.",
     facts_on, [](Settings& s, bool on) { turn_optional(s.facts, on); }},
    {"facts.latency", "How long a healthy attempt takes.", facts_on},
};

constexpr Moved kMoved[] = {
    {"retry_back_off", "retry_policy.retry_back_off"},
    {"retry_policy.retry_budget", "retry_budget"},
    {"retry_policy.hedge_policy", "hedge_policy"},
    {"outlier_detection", "circuit_breaker",
     "outlier_detection is read as circuit_breaker: one breaker for the dependency, not an "
     "ejection "
     "of single hosts"},
    {"outlier_detection.consecutive_5xx", "circuit_breaker.consecutive_failures"},
    {"outlier_detection.interval", "circuit_breaker.window"},
    {"outlier_detection.base_ejection_time", "circuit_breaker.open_base"},
    {"outlier_detection.max_ejection_time", "circuit_breaker.open_cap"},
    {"outlier_detection.failure_percentage_threshold", "circuit_breaker.failure_rate"},
    {"outlier_detection.failure_percentage_request_volume", "circuit_breaker.minimum_volume"},
};

}  // namespace

std::span<const Key> keys() { return kKeys; }
std::span<const Section> sections() { return kSections; }
std::span<const Moved> moved() { return kMoved; }

}  // namespace damper::policy
