// The schema of services and the calls that they make.
#include "damper/lab/scenario/scenario_schema.h"

#include "damper/lab/scenario/schema_field.h"

namespace damper::lab {
namespace {

// The limit's options: those of the engine when there is no limit; one is made to set them.
admit::ConcurrencyLimitOptions& limit_of(ServiceSpec& service) {
  if (!service.limit) service.limit.emplace();
  return *service.limit;
}
const admit::ConcurrencyLimitOptions& limit_of(const ServiceSpec& service) {
  static constexpr admit::ConcurrencyLimitOptions kNone;
  return service.limit ? *service.limit : kNone;
}

template <auto Field>
constexpr SchemaKey<ServiceSpec> key(std::string_view path, const Form& form,
                                     std::string_view doc) {
  return field<ServiceSpec, Field>(path, form, doc);
}

constexpr Duration kHour = std::chrono::hours(1);

constexpr SchemaKey<ServiceSpec> kService[] = {
    key<DAMPER_LAB_FIELD(replicas)>("replicas", integer(1, 10'000), "Servers of the service."),
    key<DAMPER_LAB_FIELD(balance)>(
        "balance", choice(kBalanceNames),
        "How a request finds its replica: rotate takes them in turn, and another one for a retry "
        "or "
        "a hedge; spread draws one; keyed gives every request its own, which its retries share."),
    key<DAMPER_LAB_FIELD(workers)>("workers", integer(0, 100'000),
                                   "Requests that a replica works on at once; 0: all of them."),
    key<DAMPER_LAB_FIELD(service_time)>("service_time", kDistribution,
                                        "How long a worker takes for a request."),
    key<DAMPER_LAB_FIELD(grain)>(
        "grain", duration(Duration{0}, kHour),
        "Service times are whole multiples of it, rounded down; 0s: as drawn."),
    key<DAMPER_LAB_FIELD(per_request)>(
        "per_request", duration(Duration{0}, kHour),
        "Added to the service time for each request in progress at the replica."),
    key<DAMPER_LAB_FIELD(handover)>("handover", duration(Duration{0}, kHour),
                                    "Before a worker takes the next request from the queue."),
    key<DAMPER_LAB_FIELD(fails_after)>(
        "fails_after", duration(Duration{0}, kDay, 0),
        "The answer to a request that has been there for longer is an error."),
    key<DAMPER_LAB_FIELD(queue)>("queue.discipline", choice(kDisciplineNames),
                                 "Who is next: the oldest, the newest, or as the engine's shed "
                                 "queue says."),
    key<DAMPER_LAB_FIELD(queue_bound)>("queue.bound", integer(0, 10'000'000),
                                       "Requests that wait at a replica; more are refused."),
    key<DAMPER_LAB_FIELD(shed.target)>("queue.target", duration(kTick, kHour),
                                       "Of a shed queue: the longest wait under pressure."),
    key<DAMPER_LAB_FIELD(shed.interval)>("queue.interval",
                                         duration(std::chrono::milliseconds(1), kHour),
                                         "Of a shed queue: not empty for longer is pressure."),
    field<ServiceSpec, [](auto& s) -> auto& { return limit_of(s).kind; }>(
        "limit.kind", choice(admit::kLimitKindNames), "How the limit follows the latencies."),
    field<ServiceSpec, [](auto& s) -> auto& { return limit_of(s).min; }>(
        "limit.min", integer(1, 100'000), "The limit never falls under this."),
    field<ServiceSpec, [](auto& s) -> auto& { return limit_of(s).initial; }>(
        "limit.initial", integer(1, 100'000), "The limit at first; for good when it is fixed."),
    field<ServiceSpec, [](auto& s) -> auto& { return limit_of(s).max; }>(
        "limit.max", integer(1, 100'000), "The limit never grows over this."),
    answer<ServiceSpec, DAMPER_LAB_FIELD(refusal)>(
        "refusal", "What a request is told that the queue or the limit refuses."),
    key<DAMPER_LAB_FIELD(errors)>("errors", kShare, "Requests that fail, at any time."),
    key<DAMPER_LAB_FIELD(correlation)>("correlation", kShare,
                                       "Requests for which every replica would take equally long."),
    key<DAMPER_LAB_FIELD(optimistic)>(
        "optimistic", kBoolean,
        "It is one row with a version: an attempt reads it, then writes it, and fails if somebody "
        "else has written meanwhile."),
    key<DAMPER_LAB_FIELD(heeds_deadline)>("heeds_deadline", kBoolean,
                                          "A request whose deadline has passed is not worked on."),
    key<DAMPER_LAB_FIELD(heeds_cancel)>(
        "heeds_cancel", kBoolean,
        "A request that its caller has given up leaves the queue and the worker."),
    key<DAMPER_LAB_FIELD(network)>(
        "network", kDistribution, "How long a message takes between it and its callers, each way."),
    key<DAMPER_LAB_FIELD(loss)>("loss", kShare, "Messages that the network loses, each way."),
};

constexpr Part kServiceParts[] = {
    {"queue", "fifo, lifo, shed or a map of keys", "What waits before the workers of a replica.",
     "queue.discipline"},
    {"limit", "on, off or a map of keys",
     "The engine's concurrency limit at each replica, for requests in progress and waiting; off "
     "unless it is said."},
    {"calls", "a list of services, such as [db] or [{service: db, times: 3}]",
     "What it calls for each request, once its own service time is over; all at once."},
};

constexpr SchemaKey<CallSpec> kCall[] = {
    required(field<CallSpec, DAMPER_LAB_FIELD(service)>("service", kName, "Who is called.")),
    field<CallSpec, DAMPER_LAB_FIELD(times)>("times", integer(1, 10'000),
                                             "How often, all at once."),
};

}  // namespace

template <>
const Schema<ServiceSpec>& schema<ServiceSpec>() {
  static constexpr Schema<ServiceSpec> kSchema = {"A service", kService, kServiceParts};
  return kSchema;
}

template <>
const Schema<CallSpec>& schema<CallSpec>() {
  static constexpr Schema<CallSpec> kSchema = {"A call, in calls", kCall, {}};
  return kSchema;
}

}  // namespace damper::lab
