#include "damper/admit/circuit_breaker.h"

#include <algorithm>
#include <chrono>

#include "damper/base/check.h"

namespace damper::admit {
namespace {

constexpr double kRampFloor = 0.1;

// A cell of half-open is one word: the generation of its lease (the low 16 bits), whether the lease
// was not returned yet, and its end in whole microseconds modulo 2^47 (over four years). A cell is
// not leased twice in a generation unless its lease was returned, so the generation identifies the
// lease.
constexpr std::uint64_t kOut = std::uint64_t{1} << 47;

std::uint64_t microseconds(Instant instant) noexcept {
  return static_cast<std::uint64_t>(instant.time_since_epoch().count() / 1000);
}
bool leased_in(std::uint64_t cell, std::uint32_t generation) noexcept {
  return (cell & kOut) != 0 && cell >> 48 == (generation & 0xffff);
}
// The microseconds since the end of the lease; negative before it.
std::int64_t since_end(std::uint64_t cell, Instant now) noexcept {
  return static_cast<std::int64_t>((microseconds(now) - cell) << 17) >> 17;
}

// U[d/2, d): never on the end, whatever the cap.
Duration jittered(Duration d, double draw) noexcept {
  const std::int64_t half = d.count() / 2;
  const double within = draw >= 0 && draw < 1 ? draw * static_cast<double>(half) : 0;
  return d - Duration{half} + Duration{static_cast<std::int64_t>(within)};
}

}  // namespace

std::optional<std::string> find_error(const CircuitBreakerOptions& o) {
  return BoundsCheck()
      .field("failure_rate", o.failure_rate, o.kRate)
      .field("slow_call_rate", o.slow_call_rate, o.kRate)
      .field("slow_call_duration", o.slow_call_duration, o.kSlowCallDuration)
      .field("consecutive_failures", o.consecutive_failures, o.kConsecutiveFailures)
      .field("window", o.window, o.kWindow)
      .field("minimum_volume", o.minimum_volume, o.kMinimumVolume)
      .field("open_base", o.open_base, o.kOpenBase)
      .field("open_cap", o.open_cap, Range<Duration>{o.open_base, kLongest})
      .field("probes", o.probes, o.kProbes)
      .field("probe_lease", o.probe_lease == Duration{0} ? o.lease() : o.probe_lease, o.kProbeLease)
      .field("ramp", o.ramp, o.kRamp)
      .error();
}

template <Footprint kFootprint>
auto BasicCircuitBreaker<kFootprint>::hot(const CircuitBreakerOptions& options) noexcept -> Hot {
  DAMPER_CHECK_VALID(find_error(options));
  DAMPER_CHECK(options.probes <= kMostProbes);
  const bool slow_counts = options.slow_call_duration > Duration(0);
  return {SlotClock(options.window / Ring::kLiveSlots),
          slow_counts ? options.slow_call_duration : kForever};
}

template <Footprint kFootprint>
BasicCircuitBreaker<kFootprint>::BasicCircuitBreaker(const CircuitBreakerOptions& options)
    : hot_(hot(options)), options_(options) {}

template <Footprint kFootprint>
auto BasicCircuitBreaker<kFootprint>::try_admit_general(State state, Instant now,
                                                        double draw) noexcept -> Permit {
  if (state.phase == Phase::ramping) {
    if (!ramp_over(state, now)) {
      const auto elapsed =
          static_cast<double>(std::max(between(mark(state), now), Duration(0)).count());
      const auto ramp = static_cast<double>(options_.load().ramp.count());
      return draw < kRampFloor + (1 - kRampFloor) * elapsed / ramp ? admit(state) : Permit{};
    }
    State calm = state;  // Same generation: nothing changes but that the trips are forgotten.
    calm.phase = Phase::closed;
    calm.trips = 0;
    std::uint64_t seen = pack(state);
    state_.compare_exchange_strong(seen, pack(calm), std::memory_order_release,
                                   std::memory_order_relaxed);
    return admit(state);
  }
  if (state.phase == Phase::half_open) return try_probe(state, now, draw);
  if (state.phase == Phase::held_closed) {
    if (now < mark(state)) return admit(state);
    State automatic = state;  // Same generation: the counts of the window stay.
    automatic.phase = Phase::closed;
    automatic.successes = 0;
    std::uint64_t seen = pack(state);
    state_.compare_exchange_strong(seen, pack(automatic), std::memory_order_release,
                                   std::memory_order_relaxed);
    return admit(state);
  }
  if (now < mark(state)) return {};  // Held open.
  const State half_open{state.generation + 1, Phase::half_open, state.trips};
  if (!try_move(state, half_open, now)) return {};
  Permit permit = try_probe(half_open, now, draw);
  permit.half_opened = true;
  return permit;
}

template <Footprint kFootprint>
auto BasicCircuitBreaker<kFootprint>::try_probe(State state, Instant now, double draw) noexcept
    -> Permit {
  const CircuitBreakerOptions options = options_.load();
  const Duration stagger = options.lease() / options.probes;
  const std::int64_t passed = std::max(between(mark(state), now), Duration(0)) / stagger;
  const std::int64_t allowed = std::min<std::int64_t>(options.probes, 1 + state.successes + passed);
  std::int64_t taken = 0;
  std::size_t free = kMostProbes;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.probes); ++i) {
    const std::uint64_t cell = leases_[i].load(std::memory_order_relaxed);
    const std::int64_t late = since_end(cell, now);
    if ((cell & kOut) != 0 && late < 0) {
      ++taken;
    } else if (leased_in(cell, state.generation)) {
      return on_expiry(state, i, add(now, -std::chrono::microseconds(late)), now, draw);
    } else if (free == kMostProbes) {
      free = i;
      seen = cell;
    }
  }
  if (taken >= allowed) return {};
  const std::uint64_t end = microseconds(add(now, options.lease())) & (kOut - 1);
  if (!leases_[free].compare_exchange_strong(
          seen, std::uint64_t{state.generation} << 48 | kOut | end, std::memory_order_acq_rel)) {
    return {};  // Another call took the cell: one probe is enough for now.
  }
  Permit permit = admit(state);
  permit.probe = static_cast<std::uint8_t>(free + 1);
  return permit;
}

// A lease of this half-open time ended without a result: the breaker opens, from the end of the
// lease on. A client with few calls may find it after the open time; then its call is a probe.
template <Footprint kFootprint>
auto BasicCircuitBreaker<kFootprint>::on_expiry(State state, std::size_t cell, Instant end,
                                                Instant now, double draw) noexcept -> Permit {
  if (try_open(state, end, draw, static_cast<std::uint8_t>(cell + 1)) == Transition::none) {
    return {};
  }
  const State open = load();
  Permit permit;
  if (open.phase == Phase::open) permit = try_admit_general(open, now, draw);
  permit.opened = true;
  return permit;
}

// Whether the lease was still the permit's; its end may have passed.
template <Footprint kFootprint>
bool BasicCircuitBreaker<kFootprint>::return_lease(Permit permit) noexcept {
  Atomic<std::uint64_t>& cell = leases_[permit.probe - 1U];
  std::uint64_t seen = cell.load(std::memory_order_relaxed);
  return leased_in(seen, permit.generation) &&
         cell.compare_exchange_strong(seen, seen & ~kOut, std::memory_order_acq_rel);
}

template <Footprint kFootprint>
void BasicCircuitBreaker<kFootprint>::on_cancel(Permit permit, Instant /*now*/) noexcept {
  if (permit.probe != 0) return_lease(permit);
}

template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::on_result(Permit permit, bool failed, Duration latency,
                                                      Instant now, double draw) noexcept {
  const Hot hot = hot_.load();
  const bool slow = latency > hot.slow_after;
  if (permit.probe != 0) return on_probe_result(permit, failed || slow, now, draw);
  const State state = load();
  if (permit.generation != state.generation) return Transition::none;

  const CircuitBreakerOptions options = options_.load();
  const std::uint32_t slot = clock_of(hot, state.generation).slot(now);
  calls_.add(slot);  // First: a thread that sums failures before calls never sees too high a rate.
  if (slow) slow_calls_.add(slot);
  std::uint32_t streak = 0;
  if (failed) {
    failures_.add(slot);
    streak = streak_.add(state.generation);
  } else {
    streak_.clear(state.generation);
  }
  const bool trips = would_trip(options, counts(slot, streak));
  return trips && !is_held(state, now) ? try_open(state, now, draw) : Transition::none;
}

template <Footprint kFootprint>
auto BasicCircuitBreaker<kFootprint>::counts(std::uint32_t slot,
                                             std::uint32_t streak) const noexcept -> Counts {
  Counts counts;
  counts.failures = static_cast<std::int64_t>(failures_.sum(slot));
  counts.slow_calls = static_cast<std::int64_t>(slow_calls_.sum(slot));
  counts.calls = static_cast<std::int64_t>(calls_.sum(slot));  // Last: see on_result().
  counts.streak = streak;
  return counts;
}

template <Footprint kFootprint>
bool BasicCircuitBreaker<kFootprint>::would_trip(const CircuitBreakerOptions& options,
                                                 const Counts& counts) noexcept {
  if (options.consecutive_failures > 0 &&
      counts.streak >= static_cast<std::uint32_t>(options.consecutive_failures)) {
    return true;
  }
  return counts.calls >= options.minimum_volume &&
         (options.failure_rate.reached_by(counts.failures, counts.calls) ||
          options.slow_call_rate.reached_by(counts.slow_calls, counts.calls));
}

template <Footprint kFootprint>
BreakerState BasicCircuitBreaker<kFootprint>::own_state(State state, Instant now) const noexcept {
  if (!is_held(state, now)) return state_at(state, now);
  const auto before = static_cast<BreakerState>(state.successes);
  if (state.phase == Phase::held_open) return before;
  const CircuitBreakerOptions options = options_.load();
  const auto streak = streak_.load();
  const Counts seen = counts(clock_of(hot_.load(), state.generation).slot(now),
                             streak.tag == state.generation ? streak.count : 0);
  if (would_trip(options, seen)) return BreakerState::open;
  return seen.calls >= options.minimum_volume ? BreakerState::closed : before;
}

template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::on_probe_result(Permit permit, bool failed, Instant now,
                                                            double draw) noexcept {
  if (!return_lease(permit)) return Transition::none;
  for (;;) {
    State state = load();
    const bool presumed = state.expired == permit.probe &&
                          state.generation == permit.generation + 1 && state.phase == Phase::open;
    if (presumed && !failed) return revoke_expiry(state, now);
    if (permit.generation != state.generation) return Transition::none;
    if (failed) return try_open(state, now, draw);
    if (state.successes + 1 >= options_.load().probes) return try_close(state, now);
    std::uint64_t seen = pack(state);
    ++state.successes;
    if (state_.compare_exchange_weak(seen, pack(state), std::memory_order_acq_rel)) {
      return Transition::none;
    }
  }
}

// The probe whose expired lease opened the breaker has succeeded: half-open again, or closed.
template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::revoke_expiry(State open, Instant now) noexcept {
  --open.trips;
  const auto successes = static_cast<std::uint8_t>(open.successes + 1);
  if (successes >= options_.load().probes) return try_close(open, now);
  const State half_open{open.generation + 1, Phase::half_open, open.trips, successes};
  return try_move(open, half_open, now) ? Transition::half_opened : Transition::none;
}

template <Footprint kFootprint>
bool BasicCircuitBreaker<kFootprint>::ramp_over(State state, Instant now) const noexcept {
  return between(mark(state), now) >= options_.load().ramp;
}

// The next generation is claimed, then prepared, then published. A thread that does not get the
// claim continues with the old state; no thread waits.
template <Footprint kFootprint>
bool BasicCircuitBreaker<kFootprint>::try_move(State from, State to, Instant mark,
                                               std::string_view reason) noexcept {
  std::uint32_t generation = from.generation;
  if (!claimed_.compare_exchange_strong(generation, to.generation, std::memory_order_acq_rel)) {
    return false;
  }
  marks_[to.generation % 2].store(mark.time_since_epoch().count(), std::memory_order_relaxed);
  if (!reason.empty()) note_.store({to.generation, Reason(reason)});
  state_.store(pack(to), std::memory_order_release);
  return true;
}

template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::try_open(State from, Instant now, double draw,
                                                     std::uint8_t expired) noexcept {
  const CircuitBreakerOptions options = options_.load();
  if (from.phase == Phase::ramping && ramp_over(from, now)) from.trips = 0;
  const Duration d =
      std::min(times(options.open_base, std::int64_t{1} << from.trips), options.open_cap);
  const auto trips = static_cast<std::uint8_t>(std::min(from.trips + 1, 62));
  const State open{from.generation + 1, Phase::open, trips, from.successes, expired};
  return try_move(from, open, add(now, jittered(d, draw))) ? Transition::opened : Transition::none;
}

template <Footprint kFootprint>
void BasicCircuitBreaker<kFootprint>::restore(const Saved& saved) noexcept {
  if (saved.trips == 0) return;
  const State state = load();
  try_move(state, {state.generation + 1, Phase::open, std::min<std::uint8_t>(saved.trips, 62)},
           saved.open_until);
}

template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::try_close(State from, Instant now) noexcept {
  const bool ramp = options_.load().ramp > Duration(0);
  const State closed = ramp ? State{from.generation + 1, Phase::ramping, from.trips}
                            : State{from.generation + 1, Phase::closed};
  return try_move(from, closed, now) ? Transition::closed : Transition::none;
}

template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::trip(Instant now, double draw) noexcept {
  const State state = load();
  if (is_held(state, now) || state_at(state, now) != BreakerState::closed) return Transition::none;
  return try_open(state, now, draw);
}

template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::close(Instant now) noexcept {
  const State state = load();
  if (is_held(state, now) || state_at(state, now) == BreakerState::closed) return Transition::none;
  const State closed{state.generation + 1, Phase::closed};
  return try_move(state, closed, now) ? Transition::closed : Transition::none;
}

template <Footprint kFootprint>
Transition BasicCircuitBreaker<kFootprint>::force(const BreakerForceSetting& setting,
                                                  Instant now) noexcept {
  Phase phase = Phase::closed;
  if (setting.force == BreakerForce::open) phase = Phase::held_open;
  if (setting.force == BreakerForce::closed) phase = Phase::held_closed;
  const Instant until = add(now, setting.bounded());
  for (;;) {
    const State from = load();
    const BreakerState before = state_at(from, now);
    State to{from.generation + 1, phase};
    if (phase != Phase::closed) to.successes = static_cast<std::uint8_t>(own_state(from, now));
    if (!try_move(from, to, until, setting.reason)) continue;
    if (phase == Phase::held_open) {
      return before == BreakerState::open ? Transition::none : Transition::opened;
    }
    return before == BreakerState::closed ? Transition::none : Transition::closed;
  }
}

template <Footprint kFootprint>
BreakerForceStatus BasicCircuitBreaker<kFootprint>::forced(Instant now) const {
  const State state = load();
  if (!is_held(state, now)) return {};
  const Note note = note_.load();
  return {state.phase == Phase::held_open ? BreakerForce::open : BreakerForce::closed,
          between(now, mark(state)),
          std::string(note.generation == state.generation ? note.reason.text() : ""),
          own_state(state, now)};
}

template <Footprint kFootprint>
BreakerState BasicCircuitBreaker<kFootprint>::state(Instant now) const noexcept {
  return state_at(load(), now);
}

template <Footprint kFootprint>
BreakerState BasicCircuitBreaker<kFootprint>::state_at(State state, Instant now) const noexcept {
  if (state.phase == Phase::half_open) return BreakerState::half_open;
  if (state.phase != Phase::open && state.phase != Phase::held_open) return BreakerState::closed;
  return now < mark(state) ? BreakerState::open : BreakerState::half_open;
}

template <Footprint kFootprint>
bool BasicCircuitBreaker<kFootprint>::calm(Instant now) const noexcept {
  const State state = load();
  return state.phase == Phase::closed || state.phase == Phase::held_closed ||
         (state.phase == Phase::ramping && ramp_over(state, now));
}

template <Footprint kFootprint>
Duration BasicCircuitBreaker<kFootprint>::open_for(Instant now) const noexcept {
  const State state = load();
  if (state.phase != Phase::open && state.phase != Phase::held_open) return Duration(0);
  return std::max(between(now, mark(state)), Duration(0));
}

template <Footprint kFootprint>
void BasicCircuitBreaker<kFootprint>::reload(const CircuitBreakerOptions& options,
                                             Instant now) noexcept {
  const Hot old = hot_.load();
  Hot next = hot(options);
  if (next.clock.width() == old.clock.width()) {
    next.clock = old.clock;
  } else {
    next.clock = old.clock.followed_by(next.clock.width(), now);
    const std::uint32_t generation = load().generation;
    const SlotClock from = clock_of(old, generation);
    const SlotClock to = clock_of(next, generation);
    calls_.carry(from, to, now);
    failures_.carry(from, to, now);
    slow_calls_.carry(from, to, now);
  }
  hot_.store(next);
  options_.store(options);
}

template class BasicCircuitBreaker<Footprint::large>;
template class BasicCircuitBreaker<Footprint::small>;

}  // namespace damper::admit
