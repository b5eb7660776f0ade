#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "damper/admit/reason.h"
#include "damper/base/atomic.h"
#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/base/seqlock.h"
#include "damper/base/sharded_slot_ring.h"
#include "damper/base/slot_ring.h"

namespace damper::admit {

struct CircuitBreakerOptions {
  static constexpr Range<Percent> kRate{Percent::from_hundredths(1), Percent(100)};
  static constexpr Range<Duration> kSlowCallDuration{Duration{0}, kLongest};
  static constexpr Range<std::int32_t> kConsecutiveFailures{0, 10'000};
  static constexpr Range<Duration> kWindow{std::chrono::seconds(1), std::chrono::hours(1)};
  static constexpr Range<std::int32_t> kMinimumVolume{1, 1'000'000};
  static constexpr Range<Duration> kOpenBase{std::chrono::milliseconds(1), kLongest};
  static constexpr Range<std::int32_t> kProbes{1, 16};
  static constexpr Range<Duration> kProbeLease{std::chrono::milliseconds(1), std::chrono::hours(1)};
  static constexpr Range<Duration> kRamp{Duration{0}, std::chrono::hours(1)};
  static constexpr Duration kLeaseAlone = std::chrono::seconds(30);

  Percent failure_rate = Percent(50);     // trips when the window's share of failures reaches it
  Percent slow_call_rate = Percent(100);  // trips when the share of slow calls reaches it
  Duration slow_call_duration{0};         // a call that takes longer is slow; 0: none is
  std::int32_t consecutive_failures = 0;  // trips at this many failures in a row; 0: disabled
  Duration window = std::chrono::seconds(10);
  std::int32_t minimum_volume = 20;              // calls in the window before a rate is evaluated
  Duration open_base = std::chrono::seconds(1);  // first open time, doubled by each trip in a row
  Duration open_cap = std::chrono::seconds(30);  // greatest open time; [open_base, kLongest]
  std::int32_t probes = 3;  // concurrent half-open calls, and successes that close the breaker
  Duration probe_lease{0};  // a probe without a report has failed after this; 0: see lease()
  Duration ramp = std::chrono::seconds(5);  // after closing, traffic grows to 100 % over this time

  // The lease must outlast an attempt, or every probe of a slow dependency counts as failed. An
  // engine::Dependency sets a lease of 0 to 3/2 of its attempts' timeout; a breaker that is used
  // alone does not know a timeout, and its leases last kLeaseAlone.
  [[nodiscard]] constexpr Duration lease() const noexcept {
    return probe_lease > Duration{0} ? probe_lease : kLeaseAlone;
  }

  friend bool operator==(const CircuitBreakerOptions&, const CircuitBreakerOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const CircuitBreakerOptions& options);

enum class BreakerState : std::uint8_t { closed, open, half_open };
inline constexpr EnumNames<BreakerState::half_open> kBreakerStateNames = {"closed", "open",
                                                                          "half_open"};
[[nodiscard]] constexpr std::string_view name(BreakerState state) noexcept {
  return kBreakerStateNames[state];
}

// A state that an operator holds by hand. `none`: the breaker is automatic.
enum class BreakerForce : std::uint8_t { none, open, closed };
inline constexpr EnumNames<BreakerForce::closed> kBreakerForceNames = {"none", "open", "closed"};
[[nodiscard]] constexpr std::string_view name(BreakerForce force) noexcept {
  return kBreakerForceNames[force];
}

// A forced state always ends: without a length after 10 minutes, and never later than a day. So an
// outage by hand cannot be forgotten.
struct BreakerForceSetting {
  static constexpr Range<Duration> kLength{std::chrono::milliseconds(1), std::chrono::hours(24)};

  BreakerForce force = BreakerForce::none;
  Duration length = std::chrono::minutes(10);  // the nearest value of kLength is used
  std::string_view reason{};                   // see Reason

  [[nodiscard]] constexpr Duration bounded() const noexcept {
    return std::clamp(length, kLength.low, kLength.high);
  }
};

struct BreakerForceStatus {
  BreakerForce force = BreakerForce::none;
  Duration remaining{0};
  std::string reason{};                     // a small breaker keeps none
  BreakerState own = BreakerState::closed;  // the state that the breaker itself would be in

  friend bool operator==(const BreakerForceStatus&, const BreakerForceStatus&) = default;
};

// The effect of a report on the breaker. Exactly one of several concurrent reports gets it.
enum class Transition : std::uint8_t { none, opened, half_opened, closed };

// A BreakerPermit is the answer of try_admit(), passed back with the result. Default: refused.
struct BreakerPermit {
  std::uint32_t generation = 0;
  std::uint8_t probe = 0;  // 0: not a probe, else the cell + 1
  bool admitted : 1 = false;
  bool opened : 1 = false;       // this call found an expired lease, and opened the breaker
  bool half_opened : 1 = false;  // this call turned the breaker half-open (after `opened`, if both)

  [[nodiscard]] constexpr bool moved() const noexcept { return opened || half_opened; }
};
static_assert(sizeof(BreakerPermit) == 8);

// A CircuitBreaker stops calls to a dependency that fails, and lets them back in carefully.
//
// Why: a call that will fail costs the caller its time and the dependency its recovery. The hard
// part is recovery: probes that hang, are cancelled, are late or too many at once break the
// breakers in common use (traps C1 to C6).
// Model: closed -> open -> half_open -> closed, or back to open. Each transition increments a
// generation; a permit carries the generation that admitted its call. Closed: results are counted
// in a window of ten slots (small: five); a failure or a slow call (never a fast success)
// evaluates the rates and the streak, and may trip. Open: all calls are refused for U[d/2, d), d =
// min(cap, base * 2^n), n = trips in a row, out of half-open or the ramp. The first call after
// that turns the breaker half-open. Half-open: calls are probes, each with a lease on one of
// `probes` cells. They are staggered: one cell at first, one more for each success and for each
// lease / probes of time. `probes` successes close the breaker; one failure or slow call opens it
// again. After closing, a call is admitted with a probability that grows linearly from 10 % to 1
// over `ramp`.
// A lease bounds how long a probe may hold its cell, not how long its result counts. Until there
// is a result, a lease that has ended stands for a failure: the next call that finds it opens the
// breaker, from the end of the lease on. A result at or after the end of the lease that no call
// has found yet counts as any other. After that the presumption holds for a failure and for a
// cancellation; the success of that very probe revokes it if the breaker is still open because of
// it: half-open again, as if the lease had not ended, and this success counted. So a dependency
// that hangs opens the breaker for longer and longer, even if no probe ever reports, and one that
// is slower than the lease closes it all the same.
// By hand: force() holds the breaker open (every call is refused) or closed (every call is
// admitted; results are counted, and none trips) until an instant, or resets it: closed, with
// counts and trips forgotten. From that instant on a breaker that was held open is half-open, and
// one that was held closed is closed, with the counts of its window. Its own state is shown all the
// while (trap C9). Held closed, it is what the counts say: open if they would trip it. Held open,
// or before `minimum_volume` results, it is the state before force(): nothing else is known.
// Invariants:
//   (1) No more than `probes` leases are out, leases of earlier half-open times included.
//   (2) A lease ends after lease() (to the microsecond); without a result it is a failed probe.
//   (3) A cancelled probe returns its lease and is no verdict.
//   (4) A result counts only in the generation that admitted its call; the success of a probe also
//       in the open time that the end of its own lease began.
//   (5) The open time is under d and at least d/2, at the cap too: breakers that opened together do
//       not probe together.
//   (6) Each transition is reported by one call.
//   (7) A reload keeps the state, the counts within the window, the open time and the leases.
//   (8) Only force() ends a forced state before its expiry. Of concurrent ones the last remains.
//   (9) A query changes nothing (trap C8).
// Thread safety: all methods may be called concurrently, reload() with all but itself. No call
// waits for the transition of another: until it is published, the other threads see the old state.
// Only force() repeats until then. try_admit() is lock-free while the breaker is closed or open.
// All else reads the options under a Seqlock, and repeats while a reload() writes them.
// Cost: no allocation but for the reason in forced(). Closed: try_admit is one load; on_success is
// a few loads and one compare-and-swap, a store if the thread has a slot of its own. Open:
// try_admit is two loads.
template <Footprint kFootprint>
class BasicCircuitBreaker {
 public:
  using Permit = BreakerPermit;
  static constexpr std::int32_t kMostProbes = kFootprint == Footprint::large ? 16 : 4;

  // REQUIRES: !find_error(options).
  explicit BasicCircuitBreaker(const CircuitBreakerOptions& options);

  // Admits a call or refuses it. Each admitted call ends in exactly one of on_success, on_failure
  // and on_cancel. `draw` is for the ramp, and for the open time after an expired lease.
  [[nodiscard]] Permit try_admit(Instant now, double draw) noexcept {
    const State state = load();
    if (state.phase == Phase::closed) [[likely]]
      return admit(state);
    if (state.phase == Phase::open && now < mark(state)) return {};
    return try_admit_general(state, now, draw);
  }

  // `draw` is for the open time, should this result trip the breaker.
  Transition on_success(Permit permit, Duration latency, Instant now, double draw) noexcept {
    if (permit.probe == 0) [[likely]] {  // No need to compare generations: see clock_of().
      const Hot hot = hot_.load();
      if (latency <= hot.slow_after) [[likely]] {
        calls_.add(clock_of(hot, permit.generation).slot(now));
        if (streak_.load().count != 0) streak_.clear(permit.generation);
        return Transition::none;
      }
    }
    return on_result(permit, false, latency, now, draw);
  }
  Transition on_failure(Permit permit, Duration latency, Instant now, double draw) noexcept {
    return on_result(permit, true, latency, now, draw);
  }
  // The caller gave up, or a hedge lost: no result.
  void on_cancel(Permit permit, Instant now) noexcept;

  // Opens the breaker regardless of its counts, for an external signal (an outlier detector, say).
  // No effect unless it is closed.
  Transition trip(Instant now, double draw) noexcept;
  // Closes the breaker at once, without a ramp, and forgets the trips, for the same reason. No
  // effect unless it is open or half-open.
  Transition close(Instant now) noexcept;

  // What has to survive a restart of the process: the open time and its trips. The counts of a
  // closed breaker do not.
  struct Saved {
    std::uint8_t trips = 0;  // in a row
    Instant open_until = Instant::min();
  };
  [[nodiscard]] Saved save() const noexcept {
    const State state = load();
    return {state.trips, state.phase == Phase::open ? mark(state) : Instant::min()};
  }
  // Continues as an open breaker with these trips; results of permits from before are ignored.
  // Without trips, or if another thread moves the breaker at the same time, it has no effect.
  void restore(const Saved& saved) noexcept;

  // Holds a state, or resets the breaker (BreakerForce::none). Returns the change of the state that
  // the next call sees. trip() and close() have no effect until the forced state has expired.
  Transition force(const BreakerForceSetting& setting, Instant now) noexcept;
  // What is held, and the breaker's own state; `none` if nothing is held.
  [[nodiscard]] BreakerForceStatus forced(Instant now) const;
  // Whether it is held open by hand.
  [[nodiscard]] bool forced_open(Instant now) const noexcept {
    const State state = load();
    return state.phase == Phase::held_open && now < mark(state);
  }

  // The state that the next call sees: after the open time half_open, during the ramp closed. (An
  // expired lease shows as soon as a call has found it.)
  [[nodiscard]] BreakerState state(Instant now) const noexcept;
  // Closed and not ramping: hedges are allowed.
  [[nodiscard]] bool calm(Instant now) const noexcept;
  // The remaining open time; 0 unless open.
  [[nodiscard]] Duration open_for(Instant now) const noexcept;

  // REQUIRES: !find_error(options).
  void reload(const CircuitBreakerOptions& options, Instant now) noexcept;

 private:
  using Ring = RingOf<kFootprint>;
  using Calls = std::conditional_t<kFootprint == Footprint::large, ShardedSlotRing<>, Ring>;

  enum class Phase : std::uint8_t { closed, ramping, open, half_open, held_open, held_closed };
  // The reason of a held phase, by its generation.
  struct Note {
    std::uint32_t generation = 0;
    Reason reason;
  };
  struct NoNote {
    static void store(const Note& /*note*/) noexcept {}
    static Note load() noexcept { return {}; }
  };
  // The published state, packed in one word.
  struct State {
    std::uint32_t generation = 1;  // 0: of a refused permit
    Phase phase = Phase::closed;
    std::uint8_t trips = 0;      // in a row
    std::uint8_t successes = 0;  // of probes; open: those before `expired`; held: the BreakerState
                                 // before it
    std::uint8_t expired = 0;    // open: the cell + 1 of the probe whose lease ended, 0: none
  };
  // The part of the options that the hot path reads, in one Seqlock of its own.
  struct Hot {
    SlotClock clock;
    Duration slow_after;
  };

  [[nodiscard]] State load() const noexcept {
    const std::uint64_t word = state_.load(std::memory_order_acquire);
    return {static_cast<std::uint32_t>(word >> 32), static_cast<Phase>(word & 0xff),
            static_cast<std::uint8_t>(word >> 8), static_cast<std::uint8_t>(word >> 16),
            static_cast<std::uint8_t>(word >> 24)};
  }
  static std::uint64_t pack(State state) noexcept {
    return std::uint64_t{state.generation} << 32 | std::uint64_t{state.expired} << 24 |
           std::uint64_t{state.successes} << 16 | std::uint64_t{state.trips} << 8 |
           static_cast<std::uint64_t>(state.phase);
  }
  static Permit admit(State state) noexcept {
    Permit permit;
    permit.generation = state.generation;
    permit.admitted = true;
    return permit;
  }
  // The end of the phase (open, held) or its begin (half_open, ramping). Two marks, since that of
  // the next generation is written before its state is published.
  [[nodiscard]] Instant mark(State state) const noexcept {
    return Instant{Duration{marks_[state.generation % 2].load(std::memory_order_relaxed)}};
  }
  // Generations lie 1024 slots apart: none sees the counts of another, nor adds to them.
  static SlotClock clock_of(const Hot& hot, std::uint32_t generation) noexcept {
    return hot.clock.shifted(generation * 1024);
  }
  static Hot hot(const CircuitBreakerOptions& options) noexcept;

  Permit try_admit_general(State state, Instant now, double draw) noexcept;
  Permit try_probe(State state, Instant now, double draw) noexcept;
  Permit on_expiry(State state, std::size_t cell, Instant end, Instant now, double draw) noexcept;
  bool return_lease(Permit permit) noexcept;
  Transition on_result(Permit permit, bool failed, Duration latency, Instant now,
                       double draw) noexcept;
  Transition on_probe_result(Permit permit, bool failed, Instant now, double draw) noexcept;
  [[nodiscard]] bool ramp_over(State state, Instant now) const noexcept;
  [[nodiscard]] bool is_held(State state, Instant now) const noexcept {
    return state.phase >= Phase::held_open && now < mark(state);
  }
  [[nodiscard]] BreakerState state_at(State state, Instant now) const noexcept;
  // The results of the window.
  struct Counts {
    std::int64_t failures = 0;
    std::int64_t slow_calls = 0;
    std::int64_t calls = 0;
    std::uint32_t streak = 0;
  };
  [[nodiscard]] Counts counts(std::uint32_t slot, std::uint32_t streak) const noexcept;
  static bool would_trip(const CircuitBreakerOptions& options, const Counts& counts) noexcept;
  [[nodiscard]] BreakerState own_state(State state, Instant now) const noexcept;
  bool try_move(State from, State to, Instant mark, std::string_view reason = {}) noexcept;
  Transition revoke_expiry(State open, Instant now) noexcept;
  Transition try_open(State from, Instant now, double draw, std::uint8_t expired = 0) noexcept;
  Transition try_close(State from, Instant now) noexcept;

  Atomic<std::uint64_t> state_{pack(State{})};
  std::array<Atomic<std::int64_t>, 2> marks_{};
  Seqlock<Hot> hot_;
  Calls calls_;
  Ring failures_;
  Ring slow_calls_;
  TaggedCount streak_;                                 // failures in a row, by generation
  Atomic<std::uint32_t> claimed_{State{}.generation};  // by the thread that may publish it
  Seqlock<CircuitBreakerOptions> options_;
  std::array<Atomic<std::uint64_t>, std::size_t{kMostProbes}> leases_{};
  [[no_unique_address]] std::conditional_t<kFootprint == Footprint::large, Seqlock<Note>, NoNote>
      note_;
};

using CircuitBreaker = BasicCircuitBreaker<Footprint::large>;
using SmallCircuitBreaker = BasicCircuitBreaker<Footprint::small>;

extern template class BasicCircuitBreaker<Footprint::large>;
extern template class BasicCircuitBreaker<Footprint::small>;

}  // namespace damper::admit
