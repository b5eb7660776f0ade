#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/admit/concurrency_limit.h"
#include "damper/admit/criticality.h"
#include "damper/admit/shed_queue.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/requeue.h"
#include "damper/lab/scenario/distribution.h"
#include "damper/policy/file/policy_file.h"

namespace damper::lab {

// A Scenario is a world on paper: services, the clients and controllers that call them, what goes
// wrong when, and the policy under which everybody retries. World (world.h) plays it.
//
// Model: a request travels from its client to a replica of a service and back, over a network that
// delays and loses. A replica has workers and a queue before them; a worker serves a request for
// its service time, then makes the calls that the service makes, and then answers. Client and
// service call through the engine, with the policy of the route that has the called
// service's name. A controller has a work queue: each run of a key is one request, of one attempt,
// and it is the queue that retries. Every time counts from the start of the run.

// The most that a scenario may have.
inline constexpr std::size_t kMostServices = 100;
inline constexpr std::size_t kMostClients = 100;      // groups
inline constexpr std::size_t kMostControllers = 100;  // groups
inline constexpr std::size_t kMostCalls = 100;        // that one service makes, each up to `times`
inline constexpr std::size_t kMostFaults = 1000;
inline constexpr std::size_t kMostExpectations = 100;
inline constexpr std::int64_t kMostFanOut = 100'000;  // calls that one request of a client causes
inline constexpr std::int64_t kMostClientsTogether = 20'000'000;
// Processes and calling replicas, for each service that they call: each has a budget, a breaker and
// all else that calls share, 90 KiB.
inline constexpr std::int64_t kMostCallers = 20'000;
inline constexpr std::int64_t kMostKeysTogether = 10'000'000;  // of all controllers
inline constexpr std::int64_t kMostTicks = 4'000'000;  // buckets of a run, for all that is recorded

enum class Discipline : std::uint8_t {
  fifo,
  lifo,
  shed,  // the engine's own admit::ShedQueue
};
inline constexpr EnumNames<Discipline::shed> kDisciplineNames = {"fifo", "lifo", "shed"};

enum class Balance : std::uint8_t {
  rotate,  // the replicas in turn; a retry or a hedge goes to another one
  spread,  // at random; the same for retries and hedges
  keyed,   // a request belongs to one replica, and so do its retries: a shard
};
inline constexpr EnumNames<Balance::keyed> kBalanceNames = {"rotate", "spread", "keyed"};

// A call that a service makes for each request, once its own service time is over.
struct CallSpec {
  std::string service{};
  config::SourceLocation place{};
  std::int32_t times = 1;  // 1 to 10,000, all at once; replicas in turn
};

struct ServiceSpec {
  std::string name{};
  config::SourceLocation place{};
  std::int32_t replicas = 1;  // 1 to 10,000
  Balance balance = Balance::rotate;
  std::int32_t workers = 0;     // of each replica, 0 to 100,000; 0: one for every request
  Distribution service_time{};  // the default is no time at all
  Duration grain{0};        // service times are whole multiples of it, rounded down; 0: as drawn
  Duration per_request{0};  // added to it for each request in progress at the replica
  Duration handover{0};     // before a worker takes the next one from the queue
  Duration fails_after{0};  // the answer to a request older than this is an error; 0: never
  Discipline queue = Discipline::fifo;
  std::int32_t queue_bound = 10'000;  // of each replica, 0 to 10,000,000
  admit::ShedQueueOptions shed{};     // if the discipline is shed; its capacity is the bound
  std::optional<admit::ConcurrencyLimitOptions> limit{};  // of requests in progress and queued
  decide::Outcome refusal = decide::Outcome::overload;    // what a refused request is told
  double errors = 0;                                      // the share of requests that fail, [0, 1]
  double correlation = 0;   // the share of requests whose service time all replicas share, [0, 1]
  bool optimistic = false;  // it is one row with a version: an attempt reads, then writes
  bool heeds_deadline = false;  // a request whose deadline has passed is not worked on
  bool heeds_cancel = false;    // a request that its caller has given up leaves queue and worker
  Distribution network{};       // each way, to and from its callers
  double loss = 0;              // the share of messages that the network loses, [0, 1]
  std::vector<CallSpec> calls{};
};

enum class Pattern : std::uint8_t {
  poisson,   // at `rate` for all clients together
  constant,  // each client every so often, all in step
  spread,    // the same, the clients evenly out of step
  bursts,    // `burst` at once, every so often, from the clients in turn
  metered,   // N(rate, rate / 4) of them accumulate each millisecond
};
inline constexpr EnumNames<Pattern::metered> kPatternNames = {"poisson", "constant", "spread",
                                                              "bursts", "metered"};
enum class Loop : std::uint8_t {
  open,    // requests come whether or not the last one is answered
  closed,  // each client has one request at a time, and thinks before the next
  once,    // each client makes one request
};
inline constexpr EnumNames<Loop::once> kLoopNames = {"open", "closed", "once"};

struct ClientsSpec {
  std::string name{};
  config::SourceLocation place{};
  std::string calls{};  // a service
  config::SourceLocation calls_place{};
  std::int32_t count = 1;      // 1 to 10,000,000
  std::int32_t processes = 1;  // 1 to count: clients of one process share budget and breaker
  Loop loop = Loop::open;
  Pattern arrivals = Pattern::poisson;  // of an open loop
  double rate = 0;            // a second, all clients together: (0, 10 million]; poisson, metered
  Duration every{0};          // of each client; constant, spread; of the group: bursts
  std::int32_t burst = 1;     // 1 to 1,000,000
  Distribution think{};       // of a closed loop, before each request but the first
  Distribution first{};       // when each client begins; the default is at once
  Duration until = kForever;  // no request starts after it
  Duration deadline = kForever;  // of each request, from its start
  bool idempotent = true;
  bool safe = true;  // reads: hedged if they are idempotent and the policy hedges
  admit::Criticality criticality = admit::Criticality::critical;
  // An earlier group that calls the same service, with as many processes: the two share them, and
  // with them budget, breaker and all else. Empty: it has processes of its own.
  std::string shares{};
  // Other than success: what each of its requests is answered with, after its service time.
  decide::Outcome answer = decide::Outcome::success;
  // How callers in the literature stop retrying, by rules of their own beside the engine's: asked
  // after each failed attempt, an error or a timeout. The published models need them; a policy of
  // ours does not.
  double gives_up = 0;         // they go away with this probability, [0, 1]
  double gives_up_over = 1;    // or when failed attempts / requests of their process exceed this
  double bucket = 0;           // or when their process's token bucket of this size is down to one
  double bucket_refill = 0.1;  // what each request puts into it, [0, 1]; a retry takes one

  // Whether `rate` says how often, and not `every`.
  [[nodiscard]] bool has_rate() const noexcept {
    return loop == Loop::open && (arrivals == Pattern::poisson || arrivals == Pattern::metered);
  }
};

// A group of controllers: processes, each with a work queue, a retry budget and limits of its own.
// What happens to an object is an event, which adds the object's key to the queue.
struct ControllersSpec {
  std::string name{};
  config::SourceLocation place{};
  std::string calls{};  // a service
  config::SourceLocation calls_place{};
  std::int32_t count = 1;        // 1 to 20,000
  std::int32_t workers = 4;      // runs of one controller at once, 1 to 1000
  std::int32_t keys = 100;       // objects of one controller, 1 to 1,000,000
  double events = 0;             // a second, of one controller, (0, 100,000]; 0: none
  std::int32_t hot_keys = 0;     // this many of the first keys, 0 to keys,
  double hot_share = 0;          // get this share of the events, [0, 1]
  std::int32_t broken_keys = 0;  // the last ones of each controller always fail, 0 to keys
  decide::Outcome broken_answer = decide::Outcome::transient;
  Duration resync{0};        // how often each key is added again, whatever happens; 0: never
  bool coalesce = true;      // without it, each event runs on its own: a plain queue of events
  double rate_limit = 0;     // runs a second of one controller, (0, 1 million]; 0: as they come
  std::int32_t burst = 100;  // at once after a quiet time, 1 to 1,000,000
  engine::RequeuePolicy retries{};  // `rate` is from the two above

  [[nodiscard]] bool is_broken(std::uint32_t key) const noexcept {
    return key >= static_cast<std::uint32_t>(keys - broken_keys);
  }
  // `retries` with the rate; no interval is over the largest.
  [[nodiscard]] engine::RequeuePolicy requeue_policy() const;
};

enum class FaultKind : std::uint8_t {
  down,      // it answers `answer` at once
  errors,    // the share `amount` of requests fails with `answer`, after their service time
  slow,      // service takes `amount` times as long
  capacity,  // only the share `amount` of the workers works
  held,      // nothing gets through; what was sent arrives when it ends
  lost,      // nothing gets through; what was sent is lost
  spike,     // `amount` times as many requests: on clients with poisson or metered arrivals
};
inline constexpr EnumNames<FaultKind::spike> kFaultNames = {"down", "errors", "slow", "capacity",
                                                            "held", "lost",   "spike"};

// What a kind of fault needs, and how reports describe it: {on}, {answer}, and the amount as
// {share} or {times} are replaced.
struct FaultTraits {
  enum class Size : std::uint8_t { length, share, factor };  // what `amount` is; length: unused
  Size size;
  bool on_clients;  // else on a service
  std::string_view sentence;
};
inline constexpr std::array<FaultTraits, kFaultNames.size()> kFaultTraits = {{
    {FaultTraits::Size::length, false, "{on} is down: {answer}, at once"},
    {FaultTraits::Size::share, false, "{on} fails with {share} of requests: {answer}"},
    {FaultTraits::Size::factor, false, "{on} takes {times} as long"},
    {FaultTraits::Size::share, false, "{on} works with {share} of its workers"},
    {FaultTraits::Size::length, false,
     "nothing gets through to {on}; what was sent arrives when it is over"},
    {FaultTraits::Size::length, false, "nothing gets through to {on}; what was sent is lost"},
    {FaultTraits::Size::factor, true, "{on} send {times} as many requests"},
}};

struct FaultSpec {
  FaultKind kind = FaultKind::down;
  config::SourceLocation place{};
  std::string on{};  // a service; for a spike, clients
  Duration at{0};
  Duration length{0};
  std::int64_t requests = 0;  // slow: it ends after this number of requests; 0: after `length`
  std::vector<std::int32_t> replicas{};  // from 0; none: all of them
  double amount = 1;
  decide::Outcome answer = decide::Outcome::transient;

  [[nodiscard]] Duration end() const noexcept { return at + length; }
  [[nodiscard]] constexpr const FaultTraits& traits() const noexcept {
    return kFaultTraits[static_cast<std::size_t>(kind)];
  }
};

// What a run promises: a measure (measure.h), and the bounds that it keeps. The bounds are those of
// the measure itself or, if `of` names a variant, of the ratio to that variant's.
struct Expectation {
  std::string measure{};
  config::SourceLocation place{};
  std::string of{};
  std::optional<double> at_least{};
  std::optional<double> at_most{};
};

// What `damper lab map` sweeps, unless it is told otherwise.
struct MapSpec {
  Duration length{0};              // of a run; 0: the scenario's
  std::vector<double> loads{};     // requests a second of the first clients
  std::vector<double> triggers{};  // of the first fault: its length in seconds, or its amount
};

struct Scenario {
  std::string name{};
  std::string variant{};  // empty: it has none
  std::string about{};
  std::string file{};                                // what errors call it
  Duration length = std::chrono::seconds(30);        // of a run; up to 24 h
  Duration bucket = std::chrono::milliseconds(100);  // of its series
  bool ownership = true;         // a request carries who retries it, so that one layer does
  bool deadlines_travel = true;  // what a service calls, it calls within its caller's deadline
  std::vector<ServiceSpec> services{};
  std::vector<ClientsSpec> clients{};
  std::vector<ControllersSpec> controllers{};
  std::vector<FaultSpec> faults{};
  policy::PolicyFile policy{};
  std::vector<Expectation> expect{};
  MapSpec map{};

  // "storm" or "storm/naive".
  [[nodiscard]] std::string title() const { return variant.empty() ? name : name + '/' + variant; }
  // The route for calls to a service: that of its name, or the only one, unless it has the name of
  // another service. Null when the policy has neither: the built-in defaults.
  [[nodiscard]] const policy::Route* route_for(std::string_view service) const;
  [[nodiscard]] engine::Policy policy_for(std::string_view service) const;
  // The position of a name; nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> find_service(std::string_view wanted) const;
  [[nodiscard]] std::optional<std::size_t> find_clients(std::string_view wanted) const;
  // The service that the first clients call or, without clients, the first controllers. Empty when
  // there is neither.
  [[nodiscard]] std::string_view first_called() const;
};

// What is wrong between the parts: an unknown service, services that call each other in a circle, a
// fault on nothing, a bound that is not kept. Nothing when the scenario can be played.
[[nodiscard]] std::optional<config::Error> find_error(const Scenario& scenario);

}  // namespace damper::lab
