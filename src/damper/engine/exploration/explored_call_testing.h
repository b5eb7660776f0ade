#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/call.h"
#include "damper/engine/exploration/exploration_testing.h"
#include "damper/engine/exploration/explored_world_testing.h"

namespace damper::engine {

// An ExploredCall is a call in its surroundings, with a model of both: it plays inputs, and checks
// the invariants of Call after each. For tests.
//
// Model: the driver's view (what is in flight, until when), and shadows of the shared parts, of the
// same classes, which are told only what was sent and what became of it. At the end of a history
// the parts have to equal their shadows.
class ExploredCall {
 public:
  using Kind = ExploredInput::Kind;

  explicit ExploredCall(const Exploration& exploration)
      : exploration_(exploration), world_(std::make_unique<World>(exploration)) {}

  // The first invariant that did not hold; empty: all did.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  void forget_fault() { fault_.clear(); }
  [[nodiscard]] bool over() const { return world_->model.over; }

  // The calls before, and the start of the one that is explored.
  void start() {
    World& world = *world_;
    const double draw = exploration_.draw;
    for (int i = 0; i < exploration_.successes_before + exploration_.failures_before; ++i) {
      const Instant at = Exploration::kStart - std::chrono::seconds(2) + i * Exploration::kTick;
      Call earlier(world.dependency, {});
      earlier.start(at, draw);
      if (earlier.step().over()) continue;
      take_token(at);
      const Outcome outcome =
          i < exploration_.successes_before ? Outcome::success : Outcome::transient;
      Flight flight{.sent = at};
      shadow_sent(flight, false);
      earlier.on_outcome(0, {.outcome = outcome}, at, draw);
      shadow_settled(flight, outcome, at);
    }
    before_ = world.dependency.tally();
    Model& model = world.model;
    for (int i = 0; i < exploration_.tokens_before; ++i) {
      expect(real_rate()->try_take(model.now), "a call before finds no token");
      take_token(model.now);
    }
    model.most_attempts = exploration_.policy.call.max_attempts;
    model.most_hedges = exploration_.policy.call.hedge.max_hedges;
    Call* const call = new (world.call.data()) Call(world.dependency, exploration_.options);
    call->start(model.now, draw);
    model.deadline = call->deadline().at();
    observe(false);
  }

  // One input, and the checks of the step that it makes.
  void apply(const ExploredInput& input) {
    Model& model = world_->model;
    Dependency& dependency = world_->dependency;
    switch (input.kind) {
      case Kind::outcome: on_outcome(input.lane, exploration_.reports[input.report]); break;
      case Kind::timer: on_timer(); break;
      case Kind::tick: model.now += Exploration::kTick; return;
      case Kind::flip_retries:
        model.flipped = true;
        model.retries_off = !model.retries_off;
        dependency.switches().set(admit::Switch::retries, {.off = model.retries_off});
        return;
      case Kind::flip_hedging:
        model.flipped = true;
        model.hedging_off = !model.hedging_off;
        dependency.switches().set(admit::Switch::hedging, {.off = model.hedging_off});
        return;
      case Kind::reload: reload(); return;
      case Kind::neighbour:
        model.neighbour = !model.neighbour;
        if (model.neighbour) {
          expect(dependency.limit().try_acquire(), "(4) a place under the limit is not free");
        } else {
          dependency.limit().release_ignored();
        }
        return;
      case Kind::unrepeatable:
        model.unrepeatable = true;
        call().on_unrepeatable();
        return;
      case Kind::cancel:
        call().on_cancel(model.now);
        observe(false);
        expect(model.over && model.verdict == Verdict::cancelled, "a cancelled call goes on");
        break;
    }
    if (exploration_.policy.limit) {
      expect(dependency.limit().in_flight() ==
                 std::popcount(model.in_flight) + (model.neighbour ? 1 : 0),
             "(4) the limit does not count exactly the attempts in flight");
    }
  }

  // Ends the history, if it did not end by itself, and compares the books.
  void end() {
    World& world = *world_;
    Model& model = world.model;
    if (!model.over) apply({Kind::cancel});
    if (!fault_.empty()) return;
    const Instant now = model.now;
    const Policy& first = exploration_.policy;
    Dependency& real = world.dependency;
    expect(real.budget().balance(now) == world.budget.balance(now),
           "(3) the budget was not charged for exactly the retries and hedges that were sent");
    expect(real.hedge_budget().balance(now) == world.hedge_budget.balance(now),
           "(3) the hedges' budget was not charged for exactly the hedges that were sent");
    if (first.breaker) {
      expect(real.breaker().state(now) == world.breaker.state(now) &&
                 real.breaker().calm(now) == world.breaker.calm(now) &&
                 real.breaker().open_for(now) == world.breaker.open_for(now),
             "(4) the breaker did not get the outcome of each attempt once");
      if (real.breaker().state(now) == admit::BreakerState::half_open) {
        expect(real.breaker().try_admit(now, 0).admitted, "(4) a probe's lease was not returned");
      }
    }
    if (first.throttle && refuses_nothing()) {
      expect(real.throttle().reject_probability(now) == world.throttle.reject_probability(now),
             "(4) the throttle did not get the outcome of each attempt once");
    }
    if (world.rate) {
      expect(world.rate->takes_the_same(*real_rate(), now),
             "(5) the rate gave other tokens than those of the attempts that were sent");
    }
    // As many retries fit into the concurrency bound as fit into the shadow's.
    for (int i = 0; i < 4 && first.budget.min_retry_concurrency >= 0; ++i) {
      const bool fits = bool{real.budget().try_withdraw(now)};
      expect(fits == bool{world.budget.try_withdraw(now)},
             "(4) a place under the budget's concurrency bound was not returned");
      if (!fits) break;
    }
  }

  // Only for a new state: it reads some thousand cells.
  void check_tally() {
    const Model& model = world_->model;
    const Tally tally = world_->dependency.tally();
    expect(tally.attempts - before_.attempts == model.attempts, "an attempt is not counted once");
    expect(tally.hedges - before_.hedges == model.hedges, "a hedge is not counted once");
    expect(tally.in_flight() == (model.over ? 0U : 1U), "(1) the call is not counted once");
    if (model.over) {
      expect(tally.of(model.verdict) == before_.of(model.verdict) + 1,
             "(1) the verdict is not counted once");
    }
  }

  // What decides the future. Not in it: what is the same in a whole exploration, and counters.
  [[nodiscard]] std::uint64_t digest() {
    const Model& model = world_->model;
    const Call& call = this->call();
    const Instant now = model.now;
    std::uint64_t hash = 0;
    const auto mix = [&hash](std::uint64_t word) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    };
    const auto mix_time = [&mix](Instant at) {
      mix(static_cast<std::uint64_t>(at.time_since_epoch().count()));
    };
    mix_time(now);
    mix_time(call.not_before_);
    mix_time(call.retry_at_);
    mix_time(call.hedge_at_);
    mix_time(call.step_.wake);
    mix(std::uint64_t{model.in_flight} << 40 | std::uint64_t{call.active_} << 32 |
        std::uint64_t{call.attempts_} << 24 | std::uint64_t{call.retries_} << 16 |
        static_cast<std::uint64_t>(call.last_refusal_) << 8 |
        static_cast<std::uint64_t>(call.step_.verdict));
    mix(static_cast<std::uint64_t>(model.most_attempts) << 16 |
        static_cast<std::uint64_t>(model.most_hedges) << 8 |
        std::uint64_t{call.grant_.granted} << 6 | std::uint64_t{call.grant_.from_reserve} << 5 |
        std::uint64_t{model.retries_off} << 4 | std::uint64_t{model.hedging_off} << 3 |
        std::uint64_t{model.reloaded} << 2 | std::uint64_t{model.unrepeatable} << 1 |
        std::uint64_t{model.flipped});
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (!is_in(call.active_, i)) continue;
      const Call::Lane& lane = call.lanes_[i];
      mix_time(lane.sent);
      mix_time(lane.deadline);
      mix(std::uint64_t{lane.permit.generation} << 32 | std::uint64_t{lane.permit.probe} << 16 |
          std::uint64_t{lane.hedge} << 9 | std::uint64_t{lane.paid} << 8 |
          std::uint64_t{lane.paid ? lane.grant.from_reserve : std::uint8_t{0}});
    }
    Dependency& real = world_->dependency;
    const admit::CircuitBreaker& breaker = real.breaker();
    mix(std::bit_cast<std::uint64_t>(real.budget().balance(now)));
    mix(std::bit_cast<std::uint64_t>(real.hedge_budget().balance(now)));
    mix(static_cast<std::uint64_t>(breaker.state(now)) << 1 | std::uint64_t{breaker.calm(now)});
    mix(static_cast<std::uint64_t>(breaker.open_for(now).count()));
    mix(static_cast<std::uint64_t>(real.limit().in_flight()));
    mix(std::bit_cast<std::uint64_t>(real.throttle().reject_probability(now)));
    if (world_->rate) mix(world_->rate->digest(now) << 1 | std::uint64_t{call.has_token_});
    return hash;
  }

  // The inputs that the state allows, but for the cancellation.
  [[nodiscard]] std::vector<ExploredInput> inputs() const {
    const Model& model = world_->model;
    std::vector<ExploredInput> inputs;
    inputs.reserve(64);
    for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
      if (!is_in(model.in_flight, lane)) continue;
      for (std::size_t i = 0; i < exploration_.reports.size(); ++i) {
        inputs.push_back({Kind::outcome, lane, static_cast<std::uint8_t>(i)});
      }
    }
    inputs.push_back({Kind::timer});
    if (model.now <= model.deadline) inputs.push_back({Kind::tick});
    inputs.push_back({Kind::flip_retries});
    inputs.push_back({Kind::flip_hedging});
    inputs.push_back({Kind::reload});
    if (has_neighbour()) inputs.push_back({Kind::neighbour});
    if (!model.unrepeatable && model.in_flight != 0) inputs.push_back({Kind::unrepeatable});
    return inputs;
  }

  // The step, as text for a trace.
  [[nodiscard]] std::string step_in_words() {
    const Step& step = call().step();
    std::string text = " ->";
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((step.cancels >> lane & 1) != 0) text.append(" cancel").append(std::to_string(lane));
    }
    if (step.over()) {
      text.append(" ").append(name(step.verdict));
    } else if (step.sends) {
      text += step.attempt.hedge ? " hedge" : " send";
      text += std::to_string(step.attempt.lane);
    } else {
      text += " wait";
    }
    return text += "\n";
  }

  // All that a history changes, as bytes, at the addresses that they belong to. The dependency
  // keeps its rate on the heap.
  [[nodiscard]] std::vector<std::span<std::byte>> bytes() {
    std::vector<std::span<std::byte>> parts = {bytes_of(*world_)};
    if (world_->rate) parts.push_back(bytes_of(*real_rate()));
    return parts;
  }

 private:
  using Outcome = decide::Outcome;

  using Flight = ExploredFlight;
  using Model = ExploredModel;
  using World = ExploredWorld;

  template <class T>
  [[nodiscard]] static std::span<std::byte> bytes_of(T& object) {
    return {reinterpret_cast<std::byte*>(&object), sizeof(object)};
  }
  // Only a call changes it, and this test: at the end of a history, and as a neighbour.
  [[nodiscard]] admit::AttemptRate* real_rate() {
    return const_cast<admit::AttemptRate*>(world_->dependency.attempt_rate());
  }
  void take_token(Instant at) {
    expect(!world_->rate || world_->rate->try_take(at), "a call before finds no token");
  }
  [[nodiscard]] Call& call() { return *reinterpret_cast<Call*>(world_->call.data()); }
  [[nodiscard]] const Policy& policy() const {
    return world_->model.reloaded ? exploration_.other : exploration_.policy;
  }
  [[nodiscard]] static bool is_in(std::uint8_t lanes, std::size_t lane) {
    return (lanes >> lane & 1) != 0;
  }
  // Whether the neighbour can take a place, or has one.
  [[nodiscard]] bool has_neighbour() const {
    const auto& limit = exploration_.policy.limit;
    return limit &&
           (world_->model.neighbour || std::popcount(world_->model.in_flight) < limit->initial);
  }
  [[nodiscard]] bool has_original() const {
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (is_in(world_->model.in_flight, i) && !world_->model.flights[i].hedge) return true;
    }
    return false;
  }

  void fail(std::string_view fault) {
    if (fault_.empty()) fault_ = fault;
  }
  void expect(bool holds, std::string_view fault) {
    if (!holds) fail(fault);
  }

  void on_outcome(std::uint8_t lane, const decide::Report& report) {
    Model& model = world_->model;
    const bool hedge = model.flights[lane].hedge;
    model.in_flight = static_cast<std::uint8_t>(model.in_flight & ~(1U << lane));
    const bool beside_original = hedge && has_original();
    call().on_outcome(lane, report, model.now, exploration_.draw);
    shadow_settled(model.flights[lane], report.unknown ? Outcome::cancelled : report.outcome,
                   model.now);
    if (report.server_said_when()) {
      model.not_before = std::max(model.not_before, model.now + report.retry_after);
    }
    observe(false);
    if (report.outcome == Outcome::success) {
      expect(model.verdict == Verdict::success, "a success does not end the call");
    } else {
      expect(model.verdict != Verdict::success, "a call without a success succeeds");
      expect(!model.over || !beside_original, "the failure of a hedge ends the original's call");
    }
  }

  // A driver calls on_timer() again at once while `wake` has passed.
  void on_timer() {
    Model& model = world_->model;
    const Instant wake = model.wake;
    const bool early = model.now < wake && !model.flipped;
    model.flipped = false;
    int rounds = 0;
    do {
      call().on_timer(model.now, exploration_.draw);
      const Step& step = call().step();
      expect(!early || (!step.over() && !step.sends && step.cancels == 0 && step.wake == wake),
             "an early timer changes the step");
      observe(true);
    } while (!model.over && model.wake <= model.now && ++rounds < 4);
    expect(model.verdict != Verdict::success, "a call without a success succeeds");
    if (model.over) return;
    expect(model.now < model.wake, "(1) a timer is due again and again");
    expect(model.now < model.deadline, "(1) the call goes on after its deadline");
    expect(!model.retries_off || model.in_flight != 0 || model.attempts == 0,
           "(2) a retry waits while retries are off");
    for (std::size_t i = 0; i < kLanes; ++i) {
      expect(!is_in(model.in_flight, i) || model.now < model.flights[i].deadline,
             "an attempt is in flight after its deadline");
    }
  }

  void reload() {
    World& world = *world_;
    Model& model = world.model;
    model.reloaded = !model.reloaded;
    const Policy& next = policy();
    world.dependency.reload(next, model.now);
    world.budget.reload(next.budget, model.now);
    world.hedge_budget.reload(
        {.percent = next.call.hedge.ratio, .window = next.budget.window, .reserve = 0}, model.now);
    if (next.breaker) world.breaker.reload(*next.breaker, model.now);
    if (next.throttle) world.throttle.reload(*next.throttle, model.now);
    if (next.attempt_rate) world.rate->reload(*next.attempt_rate, model.now);
    model.most_attempts = std::max(model.most_attempts, next.call.max_attempts);
    model.most_hedges = std::max(model.most_hedges, next.call.hedge.max_hedges);
  }

  // Reads the call's step as a driver does.
  void observe(bool timer) {
    Model& model = world_->model;
    const Step& step = call().step();
    expect((step.cancels & ~model.in_flight) == 0, "(4) an attempt that has ended is cancelled");
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (!is_in(step.cancels, i)) continue;
      const bool late = model.now >= std::min(model.flights[i].deadline, model.deadline);
      shadow_settled(model.flights[i], timer && late ? Outcome::timeout : Outcome::cancelled,
                     model.now);
    }
    model.in_flight = static_cast<std::uint8_t>(model.in_flight & ~step.cancels);
    model.verdict = step.verdict;
    model.over = step.over();
    shadow_tokens(step);
    if (model.over) {
      expect(model.in_flight == 0, "(4) an attempt is in flight after the end of the call");
      expect(!step.sends, "(1) an attempt is sent by a call that is over");
      return;
    }
    if (step.sends) sent(step.attempt);
    model.wake = step.wake;
    expect(step.wake <= model.deadline, "(1) the call waits beyond its deadline");
  }

  void sent(const Attempt& attempt) {
    Model& model = world_->model;
    const decide::Request& request = exploration_.options.request;
    const bool first = model.attempts == 0;
    expect(attempt.number == ++model.attempts, "the numbers of the attempts do not count them");
    expect(model.attempts <= static_cast<std::uint32_t>(model.most_attempts),
           "more attempts than max_attempts");
    expect(!is_in(model.in_flight, attempt.lane), "(4) an attempt is sent in a lane in use");
    expect(attempt.sent == model.now && model.now < attempt.deadline &&
               attempt.deadline <= model.deadline,
           "an attempt is sent after the deadline");
    expect(model.now + exploration_.policy.call.needed <= model.deadline,
           "an attempt is sent with less time left than it needs");
    expect(first || !model.unrepeatable, "an unrepeatable request is repeated");
    expect(model.now >= model.not_before, "(2) an attempt is sent before the Retry-After");
    if (attempt.hedge) {
      ++model.hedges;
      expect(!model.hedging_off, "(2) a hedge is sent while hedging is off");
      expect(model.in_flight != 0, "a hedge is sent beside no attempt");
      expect(request.safe, "an unsafe request is hedged");
    } else {
      expect(first || !model.retries_off, "(2) a retry is sent while retries are off");
      expect(!has_original(), "a retry is sent beside the attempt that it repeats");
    }
    Flight& flight = model.flights[attempt.lane];
    flight = {.sent = model.now, .deadline = attempt.deadline, .hedge = attempt.hedge};
    flight.paid = !first;
    shadow_sent(flight, !first);
    model.in_flight = static_cast<std::uint8_t>(model.in_flight | 1U << attempt.lane);
    expect(std::popcount(model.in_flight) <= 1 + model.most_hedges,
           "more attempts in flight than the first and max_hedges");
  }

  void shadow_tokens(const Step& step) {
    if (!world_->rate) return;
    const Model& model = world_->model;
    std::optional<Instant> reserved;
    if (call().has_token_) reserved = call().retry_at_;
    const Duration most = model.deadline - model.now - exploration_.policy.call.needed;
    const std::string_view fault = world_->rate->on_step(step, reserved, most, model.now);
    expect(fault.empty(), fault);
  }
  // The shadows: what the shared parts should be told of an attempt.
  void shadow_sent(Flight& flight, bool paid) {
    World& world = *world_;
    const Policy& terms = exploration_.policy;
    const double draw = exploration_.draw;
    if (terms.breaker) flight.permit = world.breaker.try_admit(flight.sent, draw);
    if (!paid) {
      budget_of(terms.call.hedge.max_hedges > 0).on_request(flight.sent);
      return;
    }
    flight.grant = budget_of(flight.hedge).try_withdraw(flight.sent, 1);
    expect(flight.grant.granted, "(3) an attempt is sent that the budget does not pay for");
  }
  void shadow_settled(const Flight& flight, Outcome outcome, Instant now) {
    World& world = *world_;
    const Policy& terms = exploration_.policy;
    if (flight.paid && flight.grant) budget_of(flight.hedge).on_retry_done(flight.grant);
    if (outcome == Outcome::cancelled) {
      if (terms.breaker) world.breaker.on_cancel(flight.permit, now);
      return;
    }
    const bool failed = decide::is_failure(outcome);
    const Duration latency = between(flight.sent, now);
    const double draw = exploration_.draw;
    if (terms.breaker && failed) world.breaker.on_failure(flight.permit, latency, now, draw);
    if (terms.breaker && !failed) world.breaker.on_success(flight.permit, latency, now, draw);
    if (terms.throttle) failed ? world.throttle.on_reject(now) : world.throttle.on_accept(now);
    if (outcome == Outcome::success) world.budget.on_success(now);
  }
  [[nodiscard]] admit::RetryBudget& budget_of(bool hedge) {
    return hedge ? world_->hedge_budget : world_->budget;
  }
  [[nodiscard]] bool refuses_nothing() const {
    const Percent most = exploration_.policy.throttle->max_rejected;
    return another_draw(exploration_.draw) >= most.ratio();
  }

  const Exploration& exploration_;
  std::unique_ptr<World> world_;
  std::string fault_;
  Tally before_;
};

}  // namespace damper::engine
