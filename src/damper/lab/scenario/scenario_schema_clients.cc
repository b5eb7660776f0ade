// The schema of clients and faults.
#include "damper/lab/scenario/scenario_schema.h"

#include "damper/lab/scenario/schema_field.h"

namespace damper::lab {
namespace {

constexpr std::int64_t kNever = kForever.count();

template <auto Field>
constexpr SchemaKey<ClientsSpec> key(std::string_view path, const Form& form,
                                     std::string_view doc) {
  return field<ClientsSpec, Field>(path, form, doc);
}

constexpr SchemaKey<ClientsSpec> kClients[] = {
    required(key<DAMPER_LAB_FIELD(calls)>("calls", kName, "The service that they call.")),
    key<DAMPER_LAB_FIELD(count)>("count", integer(1, 10'000'000), "How many there are."),
    key<DAMPER_LAB_FIELD(processes)>(
        "processes", integer(1, kMostCallers),
        "In how many processes; the clients of one share its budget and its breaker."),
    key<DAMPER_LAB_FIELD(loop)>(
        "loop", choice(kLoopNames),
        "open: requests come whether or not the last one is answered; closed: each client has one "
        "at a time, and thinks before the next; once: each client makes one."),
    key<DAMPER_LAB_FIELD(arrivals)>(
        "arrivals", choice(kPatternNames),
        "Of an open loop. poisson: at random, at `rate`; constant: each client every `every`, all "
        "in "
        "step; spread: the same, evenly out of step; bursts: `burst` at once every `every`; "
        "metered: about N(rate, rate / 4) accumulate each millisecond."),
    said_field<ClientsSpec, DAMPER_LAB_FIELD(rate)>(
        "rate", number(0.001, 1e7), "A second, of all clients together; poisson and metered."),
    said_field<ClientsSpec, DAMPER_LAB_FIELD(every)>(
        "every", duration(kTick, kDay),
        "Between two requests of a client; of the group in bursts; constant, spread and bursts."),
    key<DAMPER_LAB_FIELD(burst)>("burst", integer(1, 1'000'000), "Requests in a burst."),
    key<DAMPER_LAB_FIELD(think)>("think", kDistribution,
                                 "Of a closed loop: before each request but the first; at least "
                                 "1ms after one that took no time."),
    key<DAMPER_LAB_FIELD(first)>("first", kDistribution, "When each client begins."),
    key<DAMPER_LAB_FIELD(until)>("until", duration(kTick, kDay, kNever),
                                 "No request starts after it."),
    key<DAMPER_LAB_FIELD(deadline)>(
        "deadline", duration(kTick, kLongest, kNever),
        "The caller's own, from the request's start; the policy's timeout holds beside it."),
    key<DAMPER_LAB_FIELD(idempotent)>("idempotent", kBoolean,
                                      "It does no harm to do a request twice."),
    key<DAMPER_LAB_FIELD(criticality)>("criticality", choice(admit::kCriticalityNames),
                                       "Who is shed last by a shed queue."),
    key<DAMPER_LAB_FIELD(gives_up)>(
        "gives_up", kShare,
        "Published models: after each failure they go away with this probability."),
    key<DAMPER_LAB_FIELD(gives_up_over)>("gives_up_over", kShare,
                                         "Published models: they go away after a failure once so "
                                         "many attempts of their process have "
                                         "failed, by its requests; 1: never."),
    key<DAMPER_LAB_FIELD(bucket)>(
        "bucket", number(0, 1e6),
        "Published models: they go away after a failure when a token bucket of this size, of their "
        "process, is down to one; a retry takes one; 0: there is none."),
    key<DAMPER_LAB_FIELD(bucket_refill)>(
        "bucket_refill", kShare, "Published models: what each request puts into the bucket."),
};

constexpr SchemaKey<FaultSpec> kFault[] = {
    required(field<FaultSpec, DAMPER_LAB_FIELD(on)>(
        "on", kName, "The service that it happens to; the clients, for a spike.")),
    required(field<FaultSpec, DAMPER_LAB_FIELD(kind)>(
        "kind", choice(kFaultNames),
        "down: it answers `answer` at once; errors: the share `amount` of its requests fails with "
        "`answer`; slow: it takes `amount` times as long; capacity: only the share `amount` of its "
        "workers works; held: nothing gets through, and what was sent arrives when it ends; lost: "
        "nothing gets through; spike: `amount` times as many requests.")),
    field<FaultSpec, DAMPER_LAB_FIELD(at)>("at", duration(Duration{0}, kDay), "When it begins."),
    said_field<FaultSpec, DAMPER_LAB_FIELD(length)>("for", duration(kTick, kDay),
                                                    "How long it lasts; none: to the end."),
    said_field<FaultSpec, DAMPER_LAB_FIELD(requests)>("requests", integer(1, 1e9),
                                                      "slow: it is over after so many requests."),
    field<FaultSpec, DAMPER_LAB_FIELD(replicas)>("replicas", {ValueKind::wholes, 0, 9'999},
                                                 "To which it happens, from 0; none: to all."),
    field<FaultSpec, DAMPER_LAB_FIELD(amount)>(
        "amount", {ValueKind::share, 0, 1000},
        "How bad it is: a share of errors and capacity, a factor of slow and spike."),
    answer<FaultSpec, DAMPER_LAB_FIELD(answer)>("answer", "What callers are told."),
};

}  // namespace

template <>
const Schema<ClientsSpec>& schema<ClientsSpec>() {
  static constexpr Schema<ClientsSpec> kSchema = {"A group of clients", kClients, {}};
  return kSchema;
}

template <>
const Schema<FaultSpec>& schema<FaultSpec>() {
  static constexpr Schema<FaultSpec> kSchema = {"A fault, in faults", kFault, {}};
  return kSchema;
}

}  // namespace damper::lab
