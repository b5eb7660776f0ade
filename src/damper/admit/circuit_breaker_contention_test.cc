#include "damper/admit/circuit_breaker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "damper/admit/circuit_breaker_testing.h"
#include "damper/base/random.h"

namespace damper::admit {
namespace {

// Long walks and many threads.

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Permit = BreakerPermit;

// A walk over all that can happen, in one thread, against the numbered invariants.
TYPED_TEST(AnyCircuitBreaker, KeepsItsInvariantsOverManySeeds) {  // Invariants (1) to (6)
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    CircuitBreakerOptions options = hasty();
    options.probes = 1 + static_cast<std::int32_t>(random.bits() % 4);
    options.consecutive_failures = 2;
    TypeParam breaker(options);
    struct Out {
      Permit permit;
      Instant since;
    };
    std::vector<Out> out;
    Instant now = kStart;
    BreakerState state = BreakerState::closed;  // As the reported transitions have it.
    std::uint32_t generation = 0;
    for (int step = 0; step < 600; ++step) {
      now += microseconds(random.bits() % 1'500'000);
      if (random.bits() % 2 == 0) {
        const Permit permit = breaker.try_admit(now, random.draw());
        if (permit.opened) {
          ASSERT_EQ(state, BreakerState::half_open) << "seed " << seed;
          ASSERT_TRUE(std::any_of(out.begin(), out.end(),
                                  [&](const Out& o) {
                                    return o.permit.probe != 0 &&
                                           o.permit.generation == generation &&
                                           now - o.since >= options.probe_lease;
                                  }))
              << "seed " << seed;
          state = BreakerState::open;
        }
        if (permit.half_opened) {
          ASSERT_EQ(state, BreakerState::open) << "seed " << seed;
          state = BreakerState::half_open;
        }
        if (permit.admitted) {
          ASSERT_NE(state, BreakerState::open) << "seed " << seed;
          ASSERT_EQ(permit.probe != 0, state == BreakerState::half_open) << "seed " << seed;
          out.push_back({permit, now});
          generation = permit.generation;
        }
      } else if (!out.empty()) {
        const std::size_t i = random.bits() % out.size();
        const Out ended = out[i];
        out[i] = out.back();
        out.pop_back();
        const std::uint64_t how = random.bits() % 8;
        Transition transition = Transition::none;
        if (how == 0) {
          breaker.on_cancel(ended.permit, now);
        } else if (how < 3) {
          transition = breaker.on_failure(ended.permit, Duration(1), now, random.draw());
        } else {
          transition = breaker.on_success(ended.permit, Duration(1), now, random.draw());
        }
        if (transition != Transition::none) {
          ASSERT_EQ(ended.permit.generation, generation) << "seed " << seed;
          if (state == BreakerState::open) {  // Revokes the end of its own lease.
            ASSERT_NE(transition, Transition::opened);
            ASSERT_TRUE(ended.permit.probe != 0 && now - ended.since >= options.probe_lease);
          }
          state = transition == Transition::opened        ? BreakerState::open
                  : transition == Transition::half_opened ? BreakerState::half_open
                                                          : BreakerState::closed;
        }
      }
      std::int32_t leases = 0;
      for (const Out& o : out) {
        leases += o.permit.probe != 0 && now - o.since < options.probe_lease ? 1 : 0;
      }
      ASSERT_LE(leases, options.probes) << "seed " << seed << " step " << step;
    }
  }
}

TYPED_TEST(AnyCircuitBreaker, EachTripIsReportedOnceUnderContention) {  // Invariants (1) and (6)
  CircuitBreakerOptions options = hasty();
  options.open_base = options.open_cap = milliseconds(1);
  options.probes = 2;
  options.ramp = Duration(0);
  TypeParam breaker(options);
  std::atomic<std::int64_t> time{kStart.time_since_epoch().count()};
  std::atomic<int> opened{0}, half_opened{0}, closed{0}, probes_out{0}, most_out{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Random random(t);
        std::optional<Permit> held;  // A probe, for a few calls: so that they add up.
        const auto end = [&](Permit permit, Instant now) {
          Transition transition = Transition::none;
          switch (random.bits() % 4) {
            case 0: transition = breaker.on_failure(permit, Duration(1), now, random.draw()); break;
            case 1: breaker.on_cancel(permit, now); break;
            default: transition = breaker.on_success(permit, Duration(1), now, random.draw());
          }
          opened += transition == Transition::opened ? 1 : 0;
          closed += transition == Transition::closed ? 1 : 0;
        };
        for (int i = 0; i < 20'000; ++i) {
          const Instant now = at(Duration(time.fetch_add(5'000)));
          if (held && random.bits() % 4 == 0) {
            --probes_out;  // Before the lease goes back, so as never to count one too many.
            end(*std::exchange(held, std::nullopt), now);
          }
          const Permit permit = breaker.try_admit(now, random.draw());
          half_opened += permit.half_opened ? 1 : 0;
          if (!permit.admitted) continue;
          if (permit.probe == 0 || held) {
            end(permit, now);
            continue;
          }
          held = permit;
          const int out = ++probes_out;
          if (out > most_out) most_out = out;
        }
        if (held) {
          --probes_out;
          breaker.on_cancel(*held, at(Duration(time)));
        }
      });
    }
  }
  EXPECT_LE(most_out, 2);
  EXPECT_GT(closed, 10);
  // Every half-open time but the last ends in one report, and begins with one.
  EXPECT_GE(opened, half_opened);
  EXPECT_LE(opened - half_opened, 1);
  EXPECT_LE(closed, half_opened);
}

TYPED_TEST(AnyCircuitBreaker,
           OneOfManyFailuresAtOnceReportsTheTripAndOneOfManyCallsTheHalfOpening) {
  for (int round = 0; round < 50; ++round) {  // Invariant (6)
    TypeParam breaker(hasty());
    std::vector<Permit> permits;
    for (int t = 0; t < 4; ++t) permits.push_back(admitted(breaker, kStart));
    std::atomic<int> ready{0}, opened{0}, half_opened{0}, probes{0};
    {
      std::vector<std::jthread> threads;
      for (const Permit permit : permits) {
        threads.emplace_back([&, permit] {
          ++ready;
          while (ready < 4) {
          }
          const Transition seen = breaker.on_failure(permit, Duration(1), kStart, 0);
          opened += seen == Transition::opened ? 1 : 0;
          ++ready;
          while (ready < 8) {
          }
          const Permit probe = breaker.try_admit(kStart + milliseconds(500), 0);
          half_opened += probe.half_opened ? 1 : 0;
          probes += probe.admitted ? 1 : 0;
        });
      }
    }
    ASSERT_EQ(opened, 1);
    ASSERT_EQ(half_opened, 1);
    ASSERT_EQ(probes, 1);
  }
}

}  // namespace
}  // namespace damper::admit
