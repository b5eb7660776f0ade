#include "damper/lab/world/client_groups.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/portable_math.h"

namespace damper::lab {
namespace {

constexpr Duration kMeter = std::chrono::milliseconds(1);

// The share part / whole of a length: exact, and no product on the way is too large.
Duration share_of(Duration length, std::int64_t part, std::int64_t whole) noexcept {
  return length / whole * part + length % whole * part / whole;
}

// The least pause in a closed loop after a request that took no time, such as one refused by the
// client's breaker. Without it, virtual time would not advance.
constexpr Duration kLeastPause = std::chrono::milliseconds(1);

}  // namespace

Duration exponential_gap(double rate_per_second, double draw) noexcept {
  const double ns = -math::ln(1 - draw) / rate_per_second * 1e9;
  constexpr double kMost = static_cast<double>(kLongest.count());
  return Duration{static_cast<std::int64_t>(ns < kMost ? ns + 0.5 : kMost)};
}

Arrivals::Arrivals(const ClientsSpec& spec, std::size_t group, const RandomStreams& streams)
    : spec_(spec),
      group_(group),
      streams_(streams),
      gaps_(streams.stream(Purpose::arrivals, group)),
      choices_(streams.stream(Purpose::choice, ~std::uint64_t{group})) {}

bool Arrivals::by_client() const noexcept {
  return spec_.loop != Loop::open || spec_.arrivals == Pattern::constant ||
         spec_.arrivals == Pattern::spread;
}

std::uint32_t Arrivals::sources() const noexcept {
  return by_client() ? static_cast<std::uint32_t>(spec_.count) : 1;
}

Instant Arrivals::first(std::uint32_t source) {
  const Duration begins =
      spec_.first.sample(streams_.draw(Purpose::clients, group_ << 32 | source, 0));
  Instant at{begins};
  if (spec_.loop == Loop::open) {
    if (spec_.arrivals == Pattern::poisson) at = add(at, exponential_gap(spec_.rate, gaps_.draw()));
    if (spec_.arrivals == Pattern::spread) at = add(at, share_of(spec_.every, source, spec_.count));
  }
  unbounded_ = at;
  return bounded(at);
}

std::uint32_t Arrivals::begin(double rush) {
  if (by_client() || spec_.arrivals == Pattern::poisson) return 1;
  if (spec_.arrivals == Pattern::bursts) return static_cast<std::uint32_t>(spec_.burst);
  const double mean = spec_.rate * rush / 1000;  // for each kMeter
  constexpr double kLeastDraw = 0x1.0p-54;  // The quantile of 0 is infinite: it would end them all.
  due_ += mean + mean / 4 * math::normal_quantile(std::max(kLeastDraw, gaps_.draw()));
  std::uint32_t begun = 0;
  for (; due_ > 0; due_ -= 1) ++begun;
  return begun;
}

Instant Arrivals::next(Instant now, double rush) {
  if (spec_.loop != Loop::open) return kNever;
  Duration gap = spec_.every;
  if (spec_.arrivals == Pattern::poisson) gap = exponential_gap(spec_.rate * rush, gaps_.draw());
  if (spec_.arrivals == Pattern::metered) gap = kMeter;
  unbounded_ = add(now, gap);
  return bounded(unbounded_);
}

Instant Arrivals::after_answer(std::uint32_t client, std::uint32_t nth, Instant now) const {
  if (spec_.loop != Loop::closed) return kNever;
  const Duration thinks = spec_.think.sample(
      streams_.draw(Purpose::clients, group_ << 32 | client, std::uint64_t{nth} + 1));
  const Instant at = add(now, thinks);
  return at > Instant{spec_.until} ? kNever : at;
}

std::uint32_t Arrivals::next_client() {
  if (spec_.arrivals == Pattern::bursts) {
    return static_cast<std::uint32_t>(begun_ % static_cast<std::uint64_t>(spec_.count));
  }
  const double choice = choices_.draw() * spec_.count;
  return static_cast<std::uint32_t>(choice);
}

std::uint64_t Arrivals::number(std::uint32_t client, std::uint32_t nth) noexcept {
  const bool mine = by_client();
  const std::uint64_t who = mine ? std::uint64_t{client} + 1 : 0;
  const std::uint64_t which = mine ? nth : begun_;
  ++begun_;
  return Random(Random(group_ << 40 ^ who).bits() ^ which).bits();
}

ClientGroups::ClientGroups(Simulation& simulation) : sim_(simulation) {
  for (const ClientsSpec& spec : sim_.scenario.clients) {
    const auto index = static_cast<std::uint32_t>(groups_.size());
    const auto home = spec.shares.empty()
                          ? index
                          : static_cast<std::uint32_t>(*sim_.scenario.find_clients(spec.shares));
    groups_.push_back(
        {.spec = &spec,
         .service = sim_.position(spec.calls),
         .arrivals = Arrivals(spec, index, sim_.streams),
         .home = home,
         .dependencies = sim_.make_dependencies(spec.calls, home == index ? spec.processes : 0),
         .processes = std::vector<Process>(static_cast<std::size_t>(spec.processes),
                                           Process{.tokens = spec.bucket})});
    Group& group = groups_.back();
    Arrivals& arrivals = group.arrivals;
    for (std::uint32_t source = 0; source < arrivals.sources(); ++source) {
      group.pending =
          sim_.queue.schedule(arrivals.first(source), {EventKind::begin, index, source});
      group.next = arrivals.unbounded();
    }
  }
}

void ClientGroups::on_begin(std::uint32_t group, std::uint64_t detail) {
  Arrivals& arrivals = groups_[group].arrivals;
  const auto source = static_cast<std::uint32_t>(detail);
  const auto nth = static_cast<std::uint32_t>(detail >> 32);
  const double rush = sim_.faults.spike(group);
  const std::uint32_t begun = arrivals.begin(rush);
  const std::uint64_t following = std::uint64_t{nth + 1} << 32 | source;
  const auto pending =
      sim_.queue.schedule(arrivals.next(sim_.now(), rush), {EventKind::begin, group, following});
  if (arrivals.follows_rate()) {
    groups_[group].pending = pending;
    groups_[group].next = arrivals.unbounded();
    groups_[group].detail = following;
  }
  for (std::uint32_t i = 0; i < begun; ++i) {
    begin_request(group, arrivals.by_client() ? source : arrivals.next_client(), nth);
  }
}

void ClientGroups::on_spike(std::uint32_t index) {
  Group& group = groups_[index];
  const double before = std::exchange(group.rush, sim_.faults.spike(index));
  if (!group.arrivals.follows_rate() || before == group.rush) return;
  const double left = static_cast<double>(between(sim_.now(), group.next).count());
  const double scaled = left * before / group.rush;
  constexpr double kMost = static_cast<double>(kLongest.count());
  group.next =
      add(sim_.now(), Duration{static_cast<std::int64_t>(scaled < kMost ? scaled + 0.5 : kMost)});
  sim_.queue.cancel(group.pending);
  group.pending = sim_.queue.schedule(group.arrivals.bounded(group.next),
                                      {EventKind::begin, index, group.detail});
}

void ClientGroups::begin_request(std::uint32_t index, std::uint32_t client, std::uint32_t nth) {
  Group& group = groups_[index];
  const ClientsSpec& spec = *group.spec;
  const std::uint32_t process = group.process_of(client);
  const engine::CallOptions options{
      .request = {.idempotent = spec.idempotent,
                  .safe = spec.safe,
                  .rereads = sim_.scenario.services[group.service].optimistic},
      .deadline = schedule::Deadline(add(sim_.now(), spec.deadline)),
  };
  const CallData data{.in_fault = sim_.faults.any(),
                      .criticality = spec.criticality,
                      .group = index,
                      .service = group.service,
                      .origin = std::uint64_t{nth} << 32 | client};
  const Handle request = sim_.calls.prepare(*dependencies_of(group)[process], options,
                                            group.arrivals.number(client, nth), data);
  ++group.in_flight;
  Process& counts = group.processes[process];
  ++counts.requests;
  counts.tokens = std::min(counts.tokens + spec.bucket_refill, spec.bucket);
  sim_.recorder.on_request(index, data.in_fault);
  sim_.calls.start(request);
}

void ClientGroups::on_send(const CallData& request, Message& message) const {
  const decide::Outcome answer = groups_[request.group].spec->answer;
  if (answer != decide::Outcome::success) message.broken = answer;
}

void ClientGroups::on_over(const Calls::Operation& request, Verdict verdict) {
  const std::uint32_t index = request.data.group;
  --groups_[index].in_flight;
  sim_.recorder.on_over(index, verdict, request.started);
  const auto client = static_cast<std::uint32_t>(request.data.origin);
  const auto nth = static_cast<std::uint32_t>(request.data.origin >> 32);
  const Instant now = sim_.now();
  Instant next = groups_[index].arrivals.after_answer(client, nth, now);
  if (request.started == now) next = std::max(next, add(now, kLeastPause));
  sim_.queue.schedule(next, {EventKind::begin, index, std::uint64_t{nth + 1} << 32 | client});
}

bool ClientGroups::gives_up(const Calls::Operation& request, std::uint32_t attempt) {
  Group& group = groups_[request.data.group];
  const ClientsSpec& spec = *group.spec;
  const auto client = static_cast<std::uint32_t>(request.data.origin);
  Process& counts = group.processes[group.process_of(client)];
  ++counts.failures;
  if (spec.gives_up_over < 1 && counts.failures / counts.requests > spec.gives_up_over) {
    return true;
  }
  if (spec.bucket > 0) {
    if (counts.tokens <= 1) return true;
    counts.tokens -= 1;
  }
  return spec.gives_up > 0 &&
         sim_.streams.draw(Purpose::patience, request.number, attempt) < spec.gives_up;
}

void ClientGroups::read(std::size_t index, Instant now, ClientsTick& tick) const {
  const Group& group = groups_[index];
  tick.in_flight = group.in_flight;
  // The mean of up to a hundred processes, evenly chosen.
  const Dependencies& dependencies = dependencies_of(group);
  const std::size_t stride = (dependencies.size() + 99) / 100;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < dependencies.size(); i += stride, ++count) {
    sum += dependencies[i]->budget().balance(now);
  }
  tick.budget = static_cast<float>(sum / static_cast<double>(count));
}

void ClientGroups::check(const std::vector<std::size_t>& in_flight) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    DAMPER_CHECK(groups_[i].in_flight == in_flight[i]);
  }
}

}  // namespace damper::lab
