#include "damper/lab/scenario/scenario_schema.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "damper/decide/outcome.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/scenario/distribution.h"
#include "damper/policy/file/schema.h"

namespace damper::lab {
namespace {

// What the tables of the scenario's schema share.

using config::kTick;
using config::Reader;
using config::Schema;
using config::Section;
using config::Tree;
using namespace std::chrono_literals;
namespace form = config::form;
using Items = Section::Items;
using Wrong = std::optional<config::Error>;

constexpr Duration kDay = std::chrono::hours(24);

// The outcomes that a service or a fault can answer instead of a success: from transient to
// permanent.
constexpr config::Form kAnswer =
    form::choice(std::span<const std::string_view>(decide::kOutcomeNames.data() + 1, 6))
        .with_offset(1);

constexpr config::Form kDistribution = {
    .kind = config::Kind::text,
    .accepted = "a distribution, such as 5ms, exponential(5ms) or normal(50ms, 10ms)",
    .parse = [](std::string_view text) -> Expected<std::string> {
      const Expected<Distribution> distribution = parse_distribution(text);
      if (!distribution) return unexpected(distribution.error());
      return to_text(*distribution);
    },
    .write = [](const config::Value& value) { return std::get<std::string>(value); }};

template <auto Field, class T>
void distribution(Schema<T>& s, std::string_view path, std::string_view doc) {
  s.template key<[](const T& t) { return to_text(Field(t)); },
                 [](T& t, const config::Value& value) {
                   Field(t) = *parse_distribution(std::get<std::string>(value));
                 }>(path, kDistribution, doc);
}

template <class T>
Section::Schemas element() {
  return {&schema<T>()};
}

// Reads a list into a vector.
template <class Owner, class T, auto Field, std::size_t kMost>
Wrong read_list(Reader& reader, const Section& section, const Tree& word, const Tree& value,
                void* owner) {
  std::vector<T>& things = Field(*static_cast<Owner*>(owner));
  return reader.read_list(section, word, value, kMost, [&](const Tree& item) {
    T& thing = things.emplace_back();
    thing.place = item.place;
    return reader.read(schema<T>(), item, item.place, "a " + std::string(schema<T>().title()),
                       thing);
  });
}

// Reads a map from names into a vector of groups or services.
template <class T, auto Field, std::size_t kMost>
Wrong read_named(Reader& reader, const Section& section, const Tree& word, const Tree& value,
                 void* scenario) {
  std::vector<T>& things = Field(*static_cast<Scenario*>(scenario));
  return reader.read_named(
      section, word, value, kMost, kName, [&](const Tree& name, const Tree& body) -> Wrong {
        T& thing = things.emplace_back();
        thing.name = name.text;
        thing.place = name.place;
        const std::string called = std::string(schema<T>().title()) + ' ' + name.text;
        config::Reading reading;
        if (auto wrong = reader.read(schema<T>(), body, name.place, called, thing, &reading)) {
          return wrong;
        }
        if constexpr (!std::is_same_v<T, ServiceSpec>) {
          thing.calls_place = schema<T>().place_of(reading, "calls");
        }
        return std::nullopt;
      });
}

Wrong read_policy(Reader& reader, const Section&, const Tree& word, const Tree& value,
                  void* scenario) {
  auto policy = policy::load_part(value, word.place, "policy", reader.file());
  if (!policy) return policy.error();
  static_cast<Scenario*>(scenario)->policy = *std::move(policy);
  return std::nullopt;
}

void add_parts(Schema<Scenario>& s) {
  s.section({.path = "services",
             .doc = "Services that are called.",
             .accepted = "a map from names to services",
             .required = true,
             .items = Items::named,
             .element = element<ServiceSpec>,
             .read = read_named<ServiceSpec, DAMPER_FIELD(services), kMostServices>});
  s.section({.path = "clients",
             .doc = "Groups of clients that call services. A scenario has clients, controllers or "
                    "both.",
             .accepted = "a map from names to groups of clients",
             .items = Items::named,
             .element = element<ClientsSpec>,
             .read = read_named<ClientsSpec, DAMPER_FIELD(clients), kMostClients>});
  s.section({.path = "controllers",
             .doc = "Groups of controllers that call services from a work queue: changes are "
                    "reconciled, and the queue retries.",
             .accepted = "a map from names to groups of controllers",
             .items = Items::named,
             .element = element<ControllersSpec>,
             .read = read_named<ControllersSpec, DAMPER_FIELD(controllers), kMostControllers>});
  s.section({.path = "faults",
             .doc = "Faults and their times.",
             .accepted = "a list of faults",
             .items = Items::list,
             .element = element<FaultSpec>,
             .read = read_list<Scenario, FaultSpec, DAMPER_FIELD(faults), kMostFaults>});
  s.section({.path = "policy",
             .doc = "Policy of all callers. Default: the built-in defaults.",
             .accepted = "a policy: route, routes or dependencies, as in a policy file",
             .items = Items::one,
             .element = [] { return Section::Schemas{&policy::file_schema()}; },
             .read = read_policy});
  s.section(
      {.path = "variants",
       .doc = "Other worlds or policies to compare, with the same arrivals.",
       .accepted = "a map from names to differences",
       .items = Items::named,
       .read = [](Reader& reader, const Section&, const Tree& word, const Tree&, void*) -> Wrong {
         return reader.error(word.place, "variants may not stand inside of a variant");
       }});
  s.section({.path = "expect",
             .doc = "Promises of a run.",
             .accepted = "a list of promises",
             .items = Items::list,
             .element = element<Expectation>,
             .read = read_list<Scenario, Expectation, DAMPER_FIELD(expect), kMostExpectations>});
  s.section("map", "What `damper lab map` sweeps.").accepted = "a map of keys";
}

Schema<Scenario> make(std::type_identity<Scenario>) {
  Schema<Scenario> s("scenario");
  s.key<DAMPER_FIELD(name)>("scenario", kName, "Name of the scenario.").required = true;
  s.key<DAMPER_FIELD(about)>("about", {.kind = config::Kind::text},
                             "One sentence on what happens in it.");
  s.key<DAMPER_FIELD(length)>("length", form::duration(1ms, kDay), "Length of a run.");
  s.key<DAMPER_FIELD(bucket)>("bucket", form::duration(1ms, 1h), "Interval of the charts.");
  s.key<DAMPER_FIELD(ownership)>("ownership", form::kBoolean,
                                 "Requests carry the owner of their retries, so that one layer "
                                 "retries.");
  s.key<DAMPER_FIELD(deadlines_travel)>("deadlines_travel", form::kBoolean,
                                        "A service calls others within its caller's deadline.");
  s.key<DAMPER_FIELD(map.length)>("map.length", form::duration(0s, kDay),
                                  "Length of a run, for systems that recover slowly. 0s: the "
                                  "scenario's length.");
  s.key<DAMPER_FIELD(map.loads)>("map.load", form::of(config::Kind::numbers, 0.001, 1e7),
                                 "Requests per second of the first clients.");
  s.key<DAMPER_FIELD(map.triggers)>("map.trigger", form::of(config::Kind::numbers, 0, 86'400),
                                    "Of the first fault: its length in seconds if it is down, held "
                                    "or lost, else its amount.");
  add_parts(s);
  return s;
}

Schema<FaultSpec> make(std::type_identity<FaultSpec>) {
  Schema<FaultSpec> s("fault");
  s.key<DAMPER_FIELD(on)>("on", kName, "The affected service; for a spike, the clients.").required =
      true;
  s.key<DAMPER_FIELD(kind)>(
       "kind", form::choice(kFaultNames),
       "down: requests are answered with `answer` at once. errors: the share `amount` of requests "
       "fails with `answer`. slow: service times are multiplied by `amount`. capacity: only the "
       "share `amount` of workers is available. held: messages are delivered when the fault ends. "
       "lost: messages are lost. spike: the request rate is multiplied by `amount`.")
      .required = true;
  s.key<DAMPER_FIELD(at)>("at", form::duration(0s, kDay), "Start of the fault.");
  s.key<DAMPER_FIELD(length)>("for", form::duration(kTick, kDay),
                              "Length of the fault. Default: to the end of the run.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(requests)>("requests", form::integer(1, 1e9),
                                "slow: number of requests after which the fault ends.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(replicas)>("replicas", form::of(config::Kind::wholes, 0, 9'999),
                                "Affected replicas, counted from 0. Empty: all.");
  s.key<DAMPER_FIELD(amount)>(
      "amount", form::of(config::Kind::share, 0, 1000),
      "errors, capacity: a share from 0 to 1. slow, spike: a factor from 0.001 to 1000.");
  s.key<DAMPER_FIELD(answer)>("answer", kAnswer, "Outcome that callers receive.");
  return s;
}

Schema<Expectation> make(std::type_identity<Expectation>) {
  Schema<Expectation> s("promise");
  s.key<DAMPER_FIELD(measure)>("measure", kName, "The measure.").required = true;
  s.key<DAMPER_FIELD(of)>("of", kName, "The bounds apply to the ratio to this variant's measure.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(at_least)>("at_least", form::number(0, 1e12), "Lower bound of the measure.");
  s.key<DAMPER_FIELD(at_most)>("at_most", form::number(0, 1e12), "Upper bound of the measure.");
  return s;
}

template <class T>
std::string tables(std::string_view title) {
  return "\n### " + std::string(title) + "\n\n" + schema<T>().reference("###");
}

// ---- Services and the calls that they make -----------------------------------------------------

void add_queue(Schema<ServiceSpec>& s) {
  s.key<DAMPER_FIELD(queue)>("queue.discipline", form::choice(kDisciplineNames),
                             "Order of the queue: the oldest first, the newest first, or the "
                             "engine's shed queue.");
  s.key<DAMPER_FIELD(queue_bound)>("queue.bound", form::integer(0, 10'000'000),
                                   "Requests queued at a replica; further ones are refused.");
  s.key<DAMPER_FIELD(shed.target)>("queue.target",
                                   form::duration(kTick, admit::ShedQueueOptions::kInterval.high),
                                   "Of a shed queue: longest wait under pressure.");
  s.key<DAMPER_FIELD(shed.interval)>(
      "queue.interval", form::duration(admit::ShedQueueOptions::kInterval),
      "Of a shed queue: a queue that is not empty for longer is under pressure.");
  s.key<DAMPER_FIELD(limit->kind)>("limit.kind", form::choice(admit::kLimitKindNames),
                                   "Algorithm that adapts the limit to the latencies.");
  s.key<DAMPER_FIELD(limit->min)>("limit.min",
                                  form::integer(admit::ConcurrencyLimitOptions::kLimit),
                                  "Lower bound of the limit.");
  s.key<DAMPER_FIELD(limit->initial)>("limit.initial",
                                      form::integer(admit::ConcurrencyLimitOptions::kLimit),
                                      "Initial limit; the limit itself if the kind is fixed.");
  s.key<DAMPER_FIELD(limit->max)>("limit.max",
                                  form::integer(admit::ConcurrencyLimitOptions::kLimit),
                                  "Upper bound of the limit.");
}

Schema<ServiceSpec> make(std::type_identity<ServiceSpec>) {
  Schema<ServiceSpec> s("service");
  s.set_may_be_null();
  s.key<DAMPER_FIELD(replicas)>("replicas", form::integer(1, 10'000), "Replicas of the service.");
  s.key<DAMPER_FIELD(balance)>(
      "balance", form::choice(kBalanceNames),
      "Selection of the replica. rotate: in turn, and another one for a retry or a hedge. spread: "
      "at random. keyed: each request belongs to one replica, and so do its retries.");
  s.key<DAMPER_FIELD(workers)>("workers", form::integer(0, 100'000),
                               "Concurrent requests of a replica. 0: no bound.");
  distribution<DAMPER_FIELD(service_time)>(s, "service_time", "Time of a worker for a request.");
  s.key<DAMPER_FIELD(grain)>("grain", form::duration(0s, 1h),
                             "Service times are rounded down to multiples of it. 0s: as drawn.");
  s.key<DAMPER_FIELD(per_request)>(
      "per_request", form::duration(0s, 1h),
      "Added to the service time for each request in progress at the replica.");
  s.key<DAMPER_FIELD(handover)>("handover", form::duration(0s, 1h),
                                "Delay before a worker takes the next request from the queue. A "
                                "request that arrives meanwhile is served first.");
  s.key<DAMPER_FIELD(fails_after)>("fails_after", form::duration(0s, kDay).with_off(0),
                                   "A request that is older than this is answered with an error.");
  add_queue(s);
  s.key<DAMPER_FIELD(refusal)>("refusal", kAnswer,
                               "Outcome of a request that the queue or the limit refuses.");
  s.key<DAMPER_FIELD(errors)>("errors", form::kShare, "Share of requests that fail, at any time.");
  s.key<DAMPER_FIELD(correlation)>("correlation", form::kShare,
                                   "Share of requests with the same service time at all replicas.");
  s.key<DAMPER_FIELD(optimistic)>(
      "optimistic", form::kBoolean,
      "The service is one row with a version: an attempt reads it, then writes it, and fails if it "
      "was written in between.");
  s.key<DAMPER_FIELD(heeds_deadline)>("heeds_deadline", form::kBoolean,
                                      "A request whose deadline has passed is not worked on.");
  s.key<DAMPER_FIELD(heeds_cancel)>(
      "heeds_cancel", form::kBoolean,
      "A request that its caller has cancelled leaves the queue and the worker.");
  distribution<DAMPER_FIELD(network)>(
      s, "network", "Delay of a message between the service and its callers, each way.");
  s.key<DAMPER_FIELD(loss)>("loss", form::kShare,
                            "Share of messages lost by the network, each way.");
  Section& queue = s.section("queue", "The queue before the workers of a replica.");
  queue.accepted = "fifo, lifo, shed or a map of keys";
  queue.word = "queue.discipline";
  s.optional_section<DAMPER_FIELD(limit)>("limit",
                                          "The engine's concurrency limit at each replica, for "
                                          "requests in progress and waiting.")
      .accepted = "on, off or a map of keys";
  s.section({.path = "calls",
             .doc = "Calls made for each request after its own service time, all at once.",
             .accepted = "a list of services, such as [db] or [{service: db, times: 3}]",
             .items = Section::Items::list,
             .element = element<CallSpec>,
             .read = read_list<ServiceSpec, CallSpec, DAMPER_FIELD(calls), kMostCalls>});
  return s;
}

Schema<CallSpec> make(std::type_identity<CallSpec>) {
  Schema<CallSpec> s("call");
  s.set_word("service");
  s.key<DAMPER_FIELD(service)>("service", kName, "The called service.").required = true;
  s.key<DAMPER_FIELD(times)>("times", form::integer(1, 10'000), "Number of calls, all at once.");
  return s;
}

// ---- Clients and controllers. Where a policy file has a word for it, it is that word. --------

constexpr std::int64_t kNever = kForever.count();

// How callers in published models stop retrying.
void add_published(Schema<ClientsSpec>& s) {
  s.key<DAMPER_FIELD(gives_up)>("gives_up", form::kShare,
                                "Published models: probability of giving up after each failure.");
  s.key<DAMPER_FIELD(gives_up_over)>("gives_up_over", form::kShare,
                                     "Published models: clients give up after a failure when "
                                     "failed attempts / requests of their process exceed this "
                                     "ratio. 1: never.");
  s.key<DAMPER_FIELD(bucket)>("bucket", form::number(0, 1e6),
                              "Published models: size of a token bucket of the process. A retry "
                              "takes one token, and clients give up when one is left. 0: none.");
  s.key<DAMPER_FIELD(bucket_refill)>("bucket_refill", form::kShare,
                                     "Published models: tokens that each request adds.");
}

Schema<ClientsSpec> make(std::type_identity<ClientsSpec>) {
  Schema<ClientsSpec> s("clients");
  s.set_may_be_null();
  s.key<DAMPER_FIELD(calls)>("calls", kName, "The called service.").required = true;
  s.key<DAMPER_FIELD(count)>("count", form::integer(1, 10'000'000), "Number of clients.");
  s.key<DAMPER_FIELD(processes)>("processes", form::integer(1, kMostCallers),
                                 "Number of processes; the clients of a process share its budget "
                                 "and its breaker.");
  s.key<DAMPER_FIELD(loop)>(
      "loop", form::choice(kLoopNames),
      "open: requests arrive whether or not the last one is answered. closed: each client has one "
      "request at a time, and thinks before the next. once: each client makes one request.");
  s.key<DAMPER_FIELD(arrivals)>(
      "arrivals", form::choice(kPatternNames),
      "Of an open loop. poisson: at random, at `rate`. constant: each client every `every`, all in "
      "step. spread: the same, evenly out of step. bursts: `burst` at once every `every`. metered: "
      "about N(rate, rate / 4) accumulate each millisecond.");
  s.key<DAMPER_FIELD(rate)>("rate", form::number(0.001, 1e7),
                            "Requests per second of all clients together; poisson and metered.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(every)>("every", form::duration(kTick, kDay),
                             "Interval between requests of a client, or between bursts of the "
                             "group; constant, spread and bursts.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(burst)>("burst", form::integer(1, 1'000'000), "Requests in a burst.");
  distribution<DAMPER_FIELD(think)>(s, "think",
                                    "Of a closed loop: delay before each request but the first; at "
                                    "least 1ms after one that took no time.");
  distribution<DAMPER_FIELD(first)>(s, "first", "Time of the first request of each client.");
  s.key<DAMPER_FIELD(until)>("until", form::duration(kTick, kDay).with_off(kNever),
                             "No request starts after this time.");
  s.key<DAMPER_FIELD(deadline)>("deadline", form::duration(kTick).with_off(kNever),
                                "Deadline of the caller, from the start of the request, beside the "
                                "policy's timeout.");
  s.key<DAMPER_FIELD(idempotent)>("idempotent", form::kBoolean, "Requests may safely be repeated.");
  s.key<DAMPER_FIELD(safe)>("safe", form::kBoolean,
                            "Requests only read: they are hedged if they are idempotent and the "
                            "policy hedges.");
  s.key<DAMPER_FIELD(criticality)>("criticality", form::choice(admit::kCriticalityNames),
                                   "Criticality of the requests: a shed queue sheds the least "
                                   "critical first.");
  s.key<DAMPER_FIELD(shares)>("shares", kName,
                              "An earlier group that calls the same service with as many "
                              "processes: the two groups share them, with budget and breaker. "
                              "Default: processes of its own.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(answer)>(
      "answer", form::choice(std::span<const std::string_view>(decide::kOutcomeNames.data(), 7)),
      "Other than success: what each request of the group is answered with, after its service "
      "time.");
  add_published(s);
  return s;
}

void add_retries(Schema<ControllersSpec>& s) {
  s.key<DAMPER_FIELD(retries.max_attempts)>("retry_policy.num_retries",
                                            form::integer(0, 999'999).with_off(-1).with_offset(1),
                                            "Consecutive failed retries of a key, while other keys "
                                            "succeed, before it is parked. off: it is "
                                            "never parked.");
  s.key<DAMPER_FIELD(retries.overload_base)>(
      "retry_policy.overload_base_interval", form::duration(kTick),
      "base_interval after an overload without a Retry-After.");
  s.key<DAMPER_FIELD(retries.backoff.jitter)>(
      "retry_policy.retry_back_off.jitter", form::choice(schedule::kJitterNames),
      "Distribution of the wait before a retry over its interval.");
  s.key<DAMPER_FIELD(retries.backoff.base)>(
      "retry_policy.retry_back_off.base_interval", form::duration(kTick),
      "Interval before the first retry; doubled for each further retry.");
  s.key<DAMPER_FIELD(retries.backoff.cap)>("retry_policy.retry_back_off.max_interval",
                                           form::duration(kTick), "Longest interval.");
  s.key<DAMPER_FIELD(retries.budget.percent)>("retry_budget.budget_percent",
                                              form::percent(admit::RetryBudgetOptions::kPercent),
                                              "Retries as a percentage of runs that are none.");
  s.key<DAMPER_FIELD(retries.budget.window)>("retry_budget.window",
                                             form::duration(admit::RetryBudgetOptions::kWindow),
                                             "Period over which the percentage is computed.");
  s.key<DAMPER_FIELD(retries.budget.reserve)>(
      "retry_budget.reserve", form::integer(admit::RetryBudgetOptions::kReserve),
      "Retries beyond the percentage; full at first, and only successes refill it.");
  s.key<DAMPER_FIELD(retries.budget.min_per_second)>(
      "retry_budget.min_retries_per_second",
      form::integer(admit::RetryBudgetOptions::kMinPerSecond), "Retries that are always allowed.");
  for (const auto& [path, doc] :
       {std::pair("retry_policy", "When and how often a failed key is run again."),
        std::pair("retry_policy.retry_back_off", "The wait of a key before a retry."),
        std::pair("retry_budget", "Bounds the retries of all keys of a controller.")}) {
    s.section(path, doc).accepted = "a map of keys";
  }
}

Schema<ControllersSpec> make(std::type_identity<ControllersSpec>) {
  Schema<ControllersSpec> s("controllers");
  s.set_may_be_null();
  s.key<DAMPER_FIELD(calls)>("calls", kName,
                             "The called service: each run of a key is one request to it.")
      .required = true;
  s.key<DAMPER_FIELD(count)>(
      "count", form::integer(1, kMostCallers),
      "Number of controllers: processes, each with its own queue, budget and "
      "limits.");
  s.key<DAMPER_FIELD(workers)>("workers", form::integer(1, 1000),
                               "Concurrent runs of a controller.");
  s.key<DAMPER_FIELD(keys)>("keys", form::integer(1, 1'000'000), "Objects of each controller.");
  s.key<DAMPER_FIELD(events)>("events", form::number(0.001, 100'000),
                              "Events per second of each controller, at random; each adds the key "
                              "of an object to the queue.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(hot_keys)>("hot_keys", form::integer(0, 1'000'000),
                                "Number of hot keys: the first ones.");
  s.key<DAMPER_FIELD(hot_share)>("hot_share", form::kShare, "Share of the events of hot keys.");
  s.key<DAMPER_FIELD(broken_keys)>(
      "broken_keys", form::integer(0, 1'000'000),
      "Number of keys of each controller that always fail: the last ones.");
  s.key<DAMPER_FIELD(broken_answer)>("broken_answer", kAnswer, "Outcome of broken keys.");
  s.key<DAMPER_FIELD(resync)>("resync", form::duration(0s, kDay),
                              "Interval at which a controller adds all of its keys again, out of "
                              "step with the others. 0s: never.");
  s.key<DAMPER_FIELD(coalesce)>("coalesce", form::kBoolean,
                                "false: a plain queue, in which each event is a run.");
  s.key<DAMPER_FIELD(retries.timeout)>("timeout", form::duration(kTick), "Timeout of a run.");
  s.key<DAMPER_FIELD(rate_limit)>("rate_limit", form::number(0.001, 1e6),
                                  "Runs per second of a controller. Default: no limit.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(burst)>("burst", form::integer(1, 1'000'000),
                             "Runs at once after an idle period, beyond rate_limit.");
  add_retries(s);
  return s;
}

}  // namespace

template <class T>
const Schema<T>& schema() {
  static const Schema<T> kSchema = make(std::type_identity<T>{});
  return kSchema;
}
template const Schema<Scenario>& schema();
template const Schema<ServiceSpec>& schema();
template const Schema<CallSpec>& schema();
template const Schema<ClientsSpec>& schema();
template const Schema<ControllersSpec>& schema();
template const Schema<FaultSpec>& schema();
template const Schema<Expectation>& schema();

Expected<std::string> parse_name(std::string_view text) {
  const bool fine =
      !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
      });
  if (!fine) return unexpected(std::string());
  return std::string(text);
}

std::string reference() {
  std::string text =
      tables<Scenario>("The scenario") + tables<ServiceSpec>("A service") +
      tables<CallSpec>("A call, in calls") + tables<ClientsSpec>("A group of clients") +
      tables<ControllersSpec>("A group of controllers") + tables<FaultSpec>("A fault, in faults") +
      tables<Expectation>("A promise, in expect") +
      "\n### Measures, for expect\n\n| measure | unit | |\n|---|---|---|\n";
  for (const Measure& measure : measures()) {
    text += "| `" + std::string(measure.name) + "` | " + std::string(measure.unit) + " | " +
            std::string(measure.what) + ". |\n";
  }
  return text;
}

}  // namespace damper::lab
