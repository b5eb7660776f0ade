// The schema of services and the calls that they make.
#include "damper/lab/scenario/schema_forms.h"

namespace damper::lab {
namespace {

void add_queue(Schema<ServiceSpec>& s) {
  s.key<DAMPER_FIELD(queue)>("queue.discipline", choice(kDisciplineNames),
                             "Order of the queue: the oldest first, the newest first, or the "
                             "engine's shed queue.");
  s.key<DAMPER_FIELD(queue_bound)>("queue.bound", integer(0, 10'000'000),
                                   "Requests queued at a replica; further ones are refused.");
  s.key<DAMPER_FIELD(shed.target)>("queue.target", duration(config::kTick, 1h),
                                   "Of a shed queue: longest wait under pressure.");
  s.key<DAMPER_FIELD(shed.interval)>(
      "queue.interval", duration(1ms, 1h),
      "Of a shed queue: a queue that is not empty for longer is under pressure.");
  s.key<DAMPER_FIELD(limit->kind)>("limit.kind", choice(admit::kLimitKindNames),
                                   "Algorithm that adapts the limit to the latencies.");
  s.key<DAMPER_FIELD(limit->min)>("limit.min", integer(1, 100'000), "Lower bound of the limit.");
  s.key<DAMPER_FIELD(limit->initial)>("limit.initial", integer(1, 100'000),
                                      "Initial limit; the limit itself if the kind is fixed.");
  s.key<DAMPER_FIELD(limit->max)>("limit.max", integer(1, 100'000), "Upper bound of the limit.");
}

Schema<ServiceSpec> make_service() {
  Schema<ServiceSpec> s("service");
  s.set_may_be_null();
  s.key<DAMPER_FIELD(replicas)>("replicas", integer(1, 10'000), "Replicas of the service.");
  s.key<DAMPER_FIELD(balance)>(
      "balance", choice(kBalanceNames),
      "Selection of the replica. rotate: in turn, and another one for a retry or a hedge. spread: "
      "at random. keyed: each request belongs to one replica, and so do its retries.");
  s.key<DAMPER_FIELD(workers)>("workers", integer(0, 100'000),
                               "Concurrent requests of a replica. 0: no bound.");
  distribution<DAMPER_FIELD(service_time)>(s, "service_time", "Time of a worker for a request.");
  s.key<DAMPER_FIELD(grain)>("grain", duration(0s, 1h),
                             "Service times are rounded down to multiples of it. 0s: as drawn.");
  s.key<DAMPER_FIELD(per_request)>(
      "per_request", duration(0s, 1h),
      "Added to the service time for each request in progress at the replica.");
  s.key<DAMPER_FIELD(handover)>("handover", duration(0s, 1h),
                                "Delay before a worker takes the next request from the queue.");
  s.key<DAMPER_FIELD(fails_after)>("fails_after", duration(0s, kDay).with_off(0),
                                   "A request that is older than this is answered with an error.");
  add_queue(s);
  s.key<DAMPER_FIELD(refusal)>("refusal", kAnswer,
                               "Outcome of a request that the queue or the limit refuses.");
  s.key<DAMPER_FIELD(errors)>("errors", kShare, "Share of requests that fail, at any time.");
  s.key<DAMPER_FIELD(correlation)>("correlation", kShare,
                                   "Share of requests with the same service time at all replicas.");
  s.key<DAMPER_FIELD(optimistic)>(
      "optimistic", kBoolean,
      "The service is one row with a version: an attempt reads it, then writes it, and fails if it "
      "was written in between.");
  s.key<DAMPER_FIELD(heeds_deadline)>("heeds_deadline", kBoolean,
                                      "A request whose deadline has passed is not worked on.");
  s.key<DAMPER_FIELD(heeds_cancel)>(
      "heeds_cancel", kBoolean,
      "A request that its caller has cancelled leaves the queue and the worker.");
  distribution<DAMPER_FIELD(network)>(
      s, "network", "Delay of a message between the service and its callers, each way.");
  s.key<DAMPER_FIELD(loss)>("loss", kShare, "Share of messages lost by the network, each way.");
  config::Section& queue = s.section("queue", "The queue before the workers of a replica.");
  queue.accepted = "fifo, lifo, shed or a map of keys";
  queue.word = "queue.discipline";
  s.optional_section<DAMPER_FIELD(limit)>("limit",
                                          "The engine's concurrency limit at each replica, for "
                                          "requests in progress and waiting.")
      .accepted = "on, off or a map of keys";
  s.section({.path = "calls",
             .doc = "Calls made for each request after its own service time, all at once.",
             .accepted = "a list of services, such as [db] or [{service: db, times: 3}]",
             .items = config::Section::Items::list,
             .element = element<CallSpec>,
             .read = read_list<ServiceSpec, CallSpec, DAMPER_FIELD(calls), kMostCalls>});
  return s;
}

Schema<CallSpec> make_call() {
  Schema<CallSpec> s("call");
  s.set_word("service");
  s.key<DAMPER_FIELD(service)>("service", kName, "The called service.").required = true;
  s.key<DAMPER_FIELD(times)>("times", integer(1, 10'000), "Number of calls, all at once.");
  return s;
}

}  // namespace

template <>
const Schema<ServiceSpec>& schema<ServiceSpec>() {
  static const Schema<ServiceSpec> kSchema = make_service();
  return kSchema;
}
template <>
const Schema<CallSpec>& schema<CallSpec>() {
  static const Schema<CallSpec> kSchema = make_call();
  return kSchema;
}

}  // namespace damper::lab
