// The schema of controllers. Where a policy file has a word for it, it is that word.
#include "damper/lab/scenario/scenario_schema.h"

#include <cmath>

#include "damper/lab/scenario/schema_field.h"

namespace damper::lab {
namespace {

constexpr std::int64_t kEndless = -1;  // retries that are never given up

template <auto Field>
constexpr SchemaKey<ControllersSpec> key(std::string_view path, const Form& form,
                                         std::string_view doc) {
  return field<ControllersSpec, Field>(path, form, doc);
}

constexpr SchemaKey<ControllersSpec> kNumRetries = {
    .path = "retry_policy.num_retries",
    .form = {ValueKind::integer, 0, 999'999, {}, kEndless},
    .doc = "Retries of a key in a row that fail, then it is parked; off: it is never given up.",
    .get = [](const ControllersSpec& spec) -> Value {
      return std::int64_t{spec.retries.max_attempts} - 1;
    },
    .set =
        [](ControllersSpec& spec, Value&& value) {
          spec.retries.max_attempts = static_cast<std::int32_t>(std::get<std::int64_t>(value) + 1);
        }};

constexpr SchemaKey<ControllersSpec> kBudgetPercent = {
    .path = "retry_budget.budget_percent",
    .form = number(0, Percent::kMost / 100.0),
    .doc = "Retries for each hundred runs that are none.",
    .get = [](const ControllersSpec& spec) -> Value {
      return spec.retries.budget.percent.hundredths() / 100.0;
    },
    .set =
        [](ControllersSpec& spec, Value&& value) {
          spec.retries.budget.percent = Percent::from_hundredths(
              static_cast<std::int32_t>(std::lround(std::get<double>(value) * 100)));
        }};

constexpr SchemaKey<ControllersSpec> kControllers[] = {
    required(key<DAMPER_LAB_FIELD(calls)>(
        "calls", kName, "The service that they call: each run of a key is one request to it.")),
    key<DAMPER_LAB_FIELD(count)>(
        "count", integer(1, kMostCallers),
        "How many there are: processes, each with its own queue, budget and limits."),
    key<DAMPER_LAB_FIELD(workers)>("workers", integer(1, 1000), "Runs of a controller at once."),
    key<DAMPER_LAB_FIELD(keys)>("keys", integer(1, 1'000'000), "Objects of each controller."),
    said_field<ControllersSpec, DAMPER_LAB_FIELD(events)>(
        "events", number(0.001, 100'000),
        "A second, for each controller, at random; each adds the key of an object to the queue."),
    key<DAMPER_LAB_FIELD(hot_keys)>("hot_keys", integer(0, 1'000'000),
                                    "The first so many keys are hot."),
    key<DAMPER_LAB_FIELD(hot_share)>("hot_share", kShare,
                                     "The share of the events that the hot keys have."),
    key<DAMPER_LAB_FIELD(broken_keys)>("broken_keys", integer(0, 1'000'000),
                                       "The last so many keys of each controller always fail."),
    answer<ControllersSpec, DAMPER_LAB_FIELD(broken_answer)>("broken_answer",
                                                             "What the service answers to them."),
    key<DAMPER_LAB_FIELD(resync)>(
        "resync", duration(Duration{0}, kDay),
        "How often a controller adds all of its keys again, out of step with the others; 0s: "
        "never."),
    key<DAMPER_LAB_FIELD(coalesce)>("coalesce", kBoolean,
                                    "false: a plain queue, in which each event runs on its own."),
    key<DAMPER_LAB_FIELD(retries.timeout)>("timeout", duration(kTick, kLongest), "Of one run."),
    said_field<ControllersSpec, DAMPER_LAB_FIELD(rate_limit)>(
        "rate_limit", number(0.001, 1e6),
        "Runs a second of a controller; none: as fast as its workers."),
    key<DAMPER_LAB_FIELD(burst)>("burst", integer(1, 1'000'000),
                                 "Runs beyond it at once, after a quiet time."),
    kNumRetries,
    key<DAMPER_LAB_FIELD(retries.overload_base)>(
        "retry_policy.overload_base_interval", duration(kTick, kLongest),
        "The same as base_interval, after an overload that did not say when to come back."),
    key<DAMPER_LAB_FIELD(retries.backoff.jitter)>("retry_policy.retry_back_off.jitter",
                                                  choice(schedule::kJitterNames),
                                                  "How the wait is spread over its interval."),
    key<DAMPER_LAB_FIELD(retries.backoff.base)>("retry_policy.retry_back_off.base_interval",
                                                duration(kTick, kLongest),
                                                "The wait before the first retry, at the most."),
    key<DAMPER_LAB_FIELD(retries.backoff.cap)>(
        "retry_policy.retry_back_off.max_interval", duration(kTick, kLongest),
        "It doubles with each failure in a row, up to this."),
    kBudgetPercent,
    key<DAMPER_LAB_FIELD(retries.budget.window)>(
        "retry_budget.window", duration(std::chrono::seconds(1), std::chrono::hours(1)),
        "What is older counts no more."),
    key<DAMPER_LAB_FIELD(retries.budget.reserve)>(
        "retry_budget.reserve", integer(0, 1000),
        "Retries beyond that, full at first and refilled by successes only."),
    key<DAMPER_LAB_FIELD(retries.budget.min_per_second)>("retry_budget.min_retries_per_second",
                                                         integer(0, 10'000),
                                                         "Retries that are always allowed."),
};

constexpr Part kControllersParts[] = {
    {"retry_policy", "a map of keys", "How often a key that fails is run again, and when."},
    {"retry_policy.retry_back_off", "a map of keys", "The wait of a key before a retry."},
    {"retry_budget", "a map of keys", "Bounds the retries of all keys of a controller."},
};

}  // namespace

template <>
const Schema<ControllersSpec>& schema<ControllersSpec>() {
  static constexpr Schema<ControllersSpec> kSchema = {"A group of controllers", kControllers,
                                                      kControllersParts};
  return kSchema;
}

}  // namespace damper::lab
