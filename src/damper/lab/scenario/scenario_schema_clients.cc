// The schema of clients and controllers. Where a policy file has a word for it, it is that word.
#include "damper/lab/scenario/schema_forms.h"

namespace damper::lab {
namespace {

using config::kTick;

constexpr std::int64_t kNever = kForever.count();

// How callers in published models stop retrying.
void add_published(Schema<ClientsSpec>& s) {
  s.key<DAMPER_FIELD(gives_up)>("gives_up", kShare,
                                "Published models: probability of giving up after each failure.");
  s.key<DAMPER_FIELD(gives_up_over)>("gives_up_over", kShare,
                                     "Published models: clients give up after a failure when "
                                     "failed attempts / requests of their process exceed this "
                                     "ratio. 1: never.");
  s.key<DAMPER_FIELD(bucket)>("bucket", number(0, 1e6),
                              "Published models: size of a token bucket of the process. A retry "
                              "takes one token, and clients give up when one is left. 0: none.");
  s.key<DAMPER_FIELD(bucket_refill)>("bucket_refill", kShare,
                                     "Published models: tokens that each request adds.");
}

Schema<ClientsSpec> make_clients() {
  Schema<ClientsSpec> s("clients");
  s.set_may_be_null();
  s.key<DAMPER_FIELD(calls)>("calls", kName, "The called service.").required = true;
  s.key<DAMPER_FIELD(count)>("count", integer(1, 10'000'000), "Number of clients.");
  s.key<DAMPER_FIELD(processes)>("processes", integer(1, kMostCallers),
                                 "Number of processes; the clients of a process share its budget "
                                 "and its breaker.");
  s.key<DAMPER_FIELD(loop)>(
      "loop", choice(kLoopNames),
      "open: requests arrive whether or not the last one is answered. closed: each client has one "
      "request at a time, and thinks before the next. once: each client makes one request.");
  s.key<DAMPER_FIELD(arrivals)>(
      "arrivals", choice(kPatternNames),
      "Of an open loop. poisson: at random, at `rate`. constant: each client every `every`, all in "
      "step. spread: the same, evenly out of step. bursts: `burst` at once every `every`. metered: "
      "about N(rate, rate / 4) accumulate each millisecond.");
  s.key<DAMPER_FIELD(rate)>("rate", number(0.001, 1e7),
                            "Requests per second of all clients together; poisson and metered.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(every)>("every", duration(kTick, kDay),
                             "Interval between requests of a client, or between bursts of the "
                             "group; constant, spread and bursts.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(burst)>("burst", integer(1, 1'000'000), "Requests in a burst.");
  distribution<DAMPER_FIELD(think)>(s, "think",
                                    "Of a closed loop: delay before each request but the first; at "
                                    "least 1ms after one that took no time.");
  distribution<DAMPER_FIELD(first)>(s, "first", "Time of the first request of each client.");
  s.key<DAMPER_FIELD(until)>("until", duration(kTick, kDay).with_off(kNever),
                             "No request starts after this time.");
  s.key<DAMPER_FIELD(deadline)>("deadline", duration(kTick).with_off(kNever),
                                "Deadline of the caller, from the start of the request, beside the "
                                "policy's timeout.");
  s.key<DAMPER_FIELD(idempotent)>("idempotent", kBoolean, "Requests may safely be repeated.");
  s.key<DAMPER_FIELD(criticality)>("criticality", choice(admit::kCriticalityNames),
                                   "Criticality of the requests: a shed queue sheds the least "
                                   "critical first.");
  add_published(s);
  return s;
}

void add_retries(Schema<ControllersSpec>& s) {
  s.key<DAMPER_FIELD(retries.max_attempts)>(
      "retry_policy.num_retries", integer(0, 999'999).with_off(-1).with_offset(1),
      "Consecutive failed retries of a key before it is parked. off: it is never parked.");
  s.key<DAMPER_FIELD(retries.overload_base)>(
      "retry_policy.overload_base_interval", duration(kTick),
      "base_interval after an overload without a Retry-After.");
  s.key<DAMPER_FIELD(retries.backoff.jitter)>(
      "retry_policy.retry_back_off.jitter", choice(schedule::kJitterNames),
      "Distribution of the wait before a retry over its interval.");
  s.key<DAMPER_FIELD(retries.backoff.base)>(
      "retry_policy.retry_back_off.base_interval", duration(kTick),
      "Interval before the first retry; doubled for each further retry.");
  s.key<DAMPER_FIELD(retries.backoff.cap)>("retry_policy.retry_back_off.max_interval",
                                           duration(kTick), "Longest interval.");
  s.key<DAMPER_FIELD(retries.budget.percent)>("retry_budget.budget_percent",
                                              percent(0, Percent::kMost),
                                              "Retries as a percentage of runs that are none.");
  s.key<DAMPER_FIELD(retries.budget.window)>("retry_budget.window", duration(1s, 1h),
                                             "Period over which the percentage is computed.");
  s.key<DAMPER_FIELD(retries.budget.reserve)>(
      "retry_budget.reserve", integer(0, 1000),
      "Retries beyond the percentage; full at first, and only successes refill it.");
  s.key<DAMPER_FIELD(retries.budget.min_per_second)>("retry_budget.min_retries_per_second",
                                                     integer(0, 10'000),
                                                     "Retries that are always allowed.");
  for (const auto& [path, doc] :
       {std::pair("retry_policy", "When and how often a failed key is run again."),
        std::pair("retry_policy.retry_back_off", "The wait of a key before a retry."),
        std::pair("retry_budget", "Bounds the retries of all keys of a controller.")}) {
    s.section(path, doc).accepted = "a map of keys";
  }
}

Schema<ControllersSpec> make_controllers() {
  Schema<ControllersSpec> s("controllers");
  s.set_may_be_null();
  s.key<DAMPER_FIELD(calls)>("calls", kName,
                             "The called service: each run of a key is one request to it.")
      .required = true;
  s.key<DAMPER_FIELD(count)>(
      "count", integer(1, kMostCallers),
      "Number of controllers: processes, each with its own queue, budget and "
      "limits.");
  s.key<DAMPER_FIELD(workers)>("workers", integer(1, 1000), "Concurrent runs of a controller.");
  s.key<DAMPER_FIELD(keys)>("keys", integer(1, 1'000'000), "Objects of each controller.");
  s.key<DAMPER_FIELD(events)>("events", number(0.001, 100'000),
                              "Events per second of each controller, at random; each adds the key "
                              "of an object to the queue.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(hot_keys)>("hot_keys", integer(0, 1'000'000),
                                "Number of hot keys: the first ones.");
  s.key<DAMPER_FIELD(hot_share)>("hot_share", kShare, "Share of the events of hot keys.");
  s.key<DAMPER_FIELD(broken_keys)>(
      "broken_keys", integer(0, 1'000'000),
      "Number of keys of each controller that always fail: the last ones.");
  s.key<DAMPER_FIELD(broken_answer)>("broken_answer", kAnswer, "Outcome of broken keys.");
  s.key<DAMPER_FIELD(resync)>("resync", duration(0s, kDay),
                              "Interval at which a controller adds all of its keys again, out of "
                              "step with the others. 0s: never.");
  s.key<DAMPER_FIELD(coalesce)>("coalesce", kBoolean,
                                "false: a plain queue, in which each event is a run.");
  s.key<DAMPER_FIELD(retries.timeout)>("timeout", duration(kTick), "Timeout of a run.");
  s.key<DAMPER_FIELD(rate_limit)>("rate_limit", number(0.001, 1e6),
                                  "Runs per second of a controller. Default: no limit.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(burst)>("burst", integer(1, 1'000'000),
                             "Runs at once after an idle period, beyond rate_limit.");
  add_retries(s);
  return s;
}

}  // namespace

template <>
const Schema<ClientsSpec>& schema<ClientsSpec>() {
  static const Schema<ClientsSpec> kSchema = make_clients();
  return kSchema;
}
template <>
const Schema<ControllersSpec>& schema<ControllersSpec>() {
  static const Schema<ControllersSpec> kSchema = make_controllers();
  return kSchema;
}

}  // namespace damper::lab
