#include "damper/lab/world/client_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

const RandomStreams kStreams(1);

ClientsSpec paced(Pattern pattern, std::int32_t count, Duration every) {
  ClientsSpec spec = poisson(0);
  spec.arrivals = pattern;
  spec.count = count;
  spec.every = every;
  return spec;
}

// The first `count` times of source 0.
std::vector<Instant> times_of(const ClientsSpec& spec, std::size_t count, double rush = 1) {
  Arrivals arrivals(spec, 0, kStreams);
  std::vector<Instant> times{arrivals.first(0)};
  while (times.size() < count) times.push_back(arrivals.next(times.back(), rush));
  return times;
}

TEST(Arrivals, APoissonProcessHasExponentialGaps) {
  const auto times = times_of(poisson(100), 100'001);
  double sum = 0;
  double squares = 0;
  Instant before{};
  for (const Instant time : times) {
    const double gap = std::chrono::duration<double>(time - before).count();
    ASSERT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    before = time;
  }
  const double mean = sum / 100'001;
  EXPECT_NEAR(mean, 0.01, 0.01 * 0.01);  // Three standard errors are 0.95 %.
  const double deviation = std::sqrt(squares / 100'001 - mean * mean);
  EXPECT_NEAR(deviation / mean, 1, 0.02);
}

TEST(Arrivals, ASpikeMultipliesTheRate) {
  EXPECT_EQ(times_of(poisson(10), 1)[0], times_of(poisson(10), 1, 5)[0]);
  const auto calm = times_of(poisson(10), 1000);
  const auto rush = times_of(poisson(10), 1000, 4);
  // The same draws, so the gaps are a quarter of what they were, to the nanosecond.
  for (std::size_t i = 1; i < 1000; ++i) {
    const Duration difference = (calm[i] - calm[i - 1]) - 4 * (rush[i] - rush[i - 1]);
    ASSERT_LE(std::chrono::abs(difference), 4ns);
  }
}

TEST(Arrivals, ConstantClientsAreInStep) {
  const ClientsSpec spec = paced(Pattern::constant, 3, 10ms);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_TRUE(arrivals.by_client());
  EXPECT_EQ(arrivals.sources(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(arrivals.first(i), Instant{});
  EXPECT_EQ(arrivals.begin(1), 1u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), Instant{10ms});
  EXPECT_EQ(arrivals.next(Instant{10ms}, 5), Instant{20ms});  // A rush is not for them.
}

TEST(Arrivals, SpreadClientsAreEvenlyOutOfStep) {
  const ClientsSpec spec = paced(Pattern::spread, 4, 10ms);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.sources(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(arrivals.first(i), Instant{i * 2500us});
  EXPECT_EQ(arrivals.next(Instant{2500us}, 1), Instant{12'500us});
}

TEST(Arrivals, ManyClientsThatAreSpreadOverADayDoNotOverflow) {
  const ClientsSpec spec = paced(Pattern::spread, 10'000'000, 24h);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.first(5'000'000), Instant{12h});
  EXPECT_EQ(arrivals.first(9'999'999), Instant{24h - 8640us});
}

TEST(Arrivals, BurstsComeFromTheClientsInTurn) {
  ClientsSpec spec = paced(Pattern::bursts, 5, 1s);
  spec.burst = 3;
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_FALSE(arrivals.by_client());
  EXPECT_EQ(arrivals.sources(), 1u);
  EXPECT_EQ(arrivals.first(0), Instant{});
  EXPECT_EQ(arrivals.begin(1), 3u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), Instant{1s});
  for (std::uint32_t i = 0; i < 12; ++i) {
    EXPECT_EQ(arrivals.next_client(), i % 5);
    (void)arrivals.number(i % 5, 0);
  }
}

TEST(Arrivals, MeteredOnesAccumulate) {
  ClientsSpec spec = poisson(500);
  spec.arrivals = Pattern::metered;
  const auto begun = [&spec](double rush) {
    Arrivals arrivals(spec, 0, kStreams);
    std::int64_t sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += arrivals.begin(rush);
    return static_cast<double>(sum);
  };
  // N(0.5, 0.125) each; the sum of 100,000 deviates by 40.
  EXPECT_NEAR(begun(1), 50'000, 120);
  EXPECT_NEAR(begun(3), 150'000, 360);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.next(Instant{7ms}, 9), Instant{8ms});
}

TEST(Arrivals, ChosenClientsAreAnyOfThem) {
  ClientsSpec spec = poisson(1);
  spec.count = 4;
  Arrivals arrivals(spec, 0, kStreams);
  std::array<int, 4> chosen{};
  for (int i = 0; i < 40'000; ++i) ++chosen.at(arrivals.next_client());
  for (const int times : chosen) EXPECT_NEAR(times, 10'000, 300);
}

TEST(Arrivals, AClosedLoopGoesOnAfterTheAnswer) {
  const ClientsSpec spec = closed(2, Distribution::constant(3s));
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.sources(), 2u);
  EXPECT_EQ(arrivals.first(1), Instant{});
  EXPECT_EQ(arrivals.begin(1), 1u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), kNever);
  EXPECT_EQ(arrivals.after_answer(1, 0, Instant{1s}), Instant{4s});
}

TEST(Arrivals, ThinkTimesDependOnClientAndRequest) {
  const ClientsSpec spec = closed(2, Distribution::exponential(1s));
  const Arrivals arrivals(spec, 0, kStreams);
  const Instant time = arrivals.after_answer(1, 0, Instant{});
  EXPECT_EQ(arrivals.after_answer(1, 0, Instant{}), time);
  EXPECT_NE(arrivals.after_answer(0, 0, Instant{}), time);
  EXPECT_NE(arrivals.after_answer(1, 1, Instant{}), time);
  const Arrivals other(spec, 1, kStreams);
  EXPECT_NE(other.after_answer(1, 0, Instant{}), time);
}

TEST(Arrivals, OnceIsOnce) {
  const ClientsSpec spec = at_once(3);
  Arrivals arrivals(spec, 0, kStreams);
  EXPECT_EQ(arrivals.sources(), 3u);
  EXPECT_EQ(arrivals.begin(1), 1u);
  EXPECT_EQ(arrivals.next(Instant{}, 1), kNever);
  EXPECT_EQ(arrivals.after_answer(0, 0, Instant{}), kNever);
}

TEST(Arrivals, EachClientBeginsInItsOwnTime) {
  ClientsSpec spec = at_once(1000);
  spec.first = Distribution::uniform(1s, 2s);
  Arrivals arrivals(spec, 0, kStreams);
  std::set<Instant> times;
  for (std::uint32_t i = 0; i < 1000; ++i) times.insert(arrivals.first(i));
  EXPECT_EQ(times.size(), 1000u);
  EXPECT_GE(*times.begin(), Instant{1s});
  EXPECT_LE(*times.rbegin(), Instant{2s});
}

TEST(Arrivals, NothingBeginsAfterUntil) {
  ClientsSpec spec = paced(Pattern::constant, 1, 10ms);
  spec.until = 20ms;
  Arrivals constant(spec, 0, kStreams);
  EXPECT_EQ(constant.next(Instant{10ms}, 1), Instant{20ms});  // At it, still.
  EXPECT_EQ(constant.next(Instant{20ms}, 1), kNever);
  spec = closed(1, Distribution::constant(10ms));
  spec.until = 20ms;
  const Arrivals loop(spec, 0, kStreams);
  EXPECT_EQ(loop.after_answer(0, 0, Instant{10ms}), Instant{20ms});
  EXPECT_EQ(loop.after_answer(0, 0, Instant{11ms}), kNever);
  spec.first = Distribution::constant(21ms);
  Arrivals late(spec, 0, kStreams);
  EXPECT_EQ(late.first(0), kNever);
}

TEST(Arrivals, NumbersTellRequestsApart) {
  std::set<std::uint64_t> numbers;
  const ClientsSpec group = poisson(1);
  const ClientsSpec loop = closed(10);
  for (std::size_t i = 0; i < 3; ++i) {
    Arrivals poissons(group, 2 * i, kStreams);
    Arrivals loops(loop, 2 * i + 1, kStreams);
    for (std::uint32_t n = 0; n < 100; ++n) {
      numbers.insert(poissons.number(7, 0));
      for (std::uint32_t client = 0; client < 10; ++client) numbers.insert(loops.number(client, n));
    }
  }
  EXPECT_EQ(numbers.size(), 3u * (100 + 1000));
}

// Two policies answer in different orders: the third request of a client stays the same one.
TEST(Arrivals, ANumberOfAClientDoesNotDependOnTheOthers) {
  const ClientsSpec loop = closed(10);
  Arrivals one(loop, 0, kStreams);
  Arrivals other(loop, 0, kStreams);
  for (int i = 0; i < 5; ++i) (void)other.number(3, 1);
  EXPECT_EQ(one.number(4, 2), other.number(4, 2));
}

using namespace std::chrono_literals;

Scenario under(const engine::Policy& policy, const ServiceSpec& db, const ClientsSpec& users,
               std::vector<FaultSpec> faults = {}) {
  Scenario scenario = world_of({db}, {users}, std::move(faults));
  set_policy(scenario, "db", policy);
  return scenario;
}

TEST(ClientGroups, AClosedLoopHasOneRequestAtATimeForEachClient) {
  const Record record =
      played(under(eager(1), service("db", takes(300ms)), closed(4, takes(700ms))));
  EXPECT_EQ(record.clients[0].requests, 4u * 10);  // At 0 s, 1 s, ... 9 s; not at the end.
  EXPECT_EQ(record.clients[0].succeeded, 4u * 10);
  EXPECT_EQ(record.clients[0].unfinished, 0u);
  EXPECT_EQ(record.clients[0].ticks[1].in_flight, 4u);
  EXPECT_EQ(record.clients[0].ticks[5].in_flight, 0u);
}

TEST(ClientGroups, AClosedLoopWithoutThinkingGoesOnAtOnce) {
  EXPECT_EQ(played(under(eager(1), service("db", takes(100ms)), closed(1))).clients[0].requests,
            100u);
}

TEST(ClientGroups, RequestsOfOneClientDiffer) {
  const Record record =
      played(under(eager(1), service("db", Distribution::exponential(20ms)), closed(1)));
  const LatencySketch& latency = record.clients[0].latency;
  EXPECT_NEAR(std::chrono::duration<double>(latency.mean()).count(), 0.02, 0.003);
  EXPECT_LT(*latency.quantile(Percent(20)), *latency.quantile(Percent(80)) / 4);
}

TEST(ClientGroups, AClosedLoopGoesOnAfterAFailure) {
  const Record record = played(under(eager(1), service("db", takes(300ms)), closed(1, takes(700ms)),
                                     {fault(FaultKind::errors, 0s, 5s, 1)}));
  EXPECT_EQ(record.clients[0].failed, 5u);
  EXPECT_EQ(record.clients[0].succeeded, 5u);
}

// A request that is over in no time: nothing takes any, or it is refused before it is sent.
TEST(ClientGroups, AClosedLoopWithoutAnyTimeDoesNotStopTheClock) {
  const Record record = played(under(eager(1), service("db"), closed(2)));
  EXPECT_EQ(record.clients[0].succeeded, 2u * 10'000);
  engine::Policy policy = eager(1);
  policy.call.needed = 1h;
  ClientsSpec hurried = closed(2);
  hurried.deadline = 1s;
  EXPECT_EQ(count(played(under(policy, service("db"), hurried)), Verdict::deadline_too_close),
            2u * 10'000);
}

TEST(ClientGroups, NothingBeginsAfterUntil) {
  ClientsSpec users = closed(1, takes(700ms));
  users.until = 3s;
  EXPECT_EQ(played(under(eager(1), service("db", takes(300ms)), users)).clients[0].requests, 4u);
  users = poisson(100);
  users.until = 3s;
  const Record record = played(under(eager(1), service("db"), users));
  EXPECT_GT(record.clients[0].ticks[29].requests, 0u);
  for (std::size_t i = 30; i < 100; ++i) ASSERT_EQ(record.clients[0].ticks[i].requests, 0u);
}

TEST(ClientGroups, PoissonArrivalsComeAtTheirRate) {
  const Record record = played(under(eager(1), service("db"), poisson(1000)));
  EXPECT_NEAR(static_cast<double>(record.clients[0].requests), 10'000, 300);
  EXPECT_EQ(record.clients[0].succeeded, record.clients[0].requests);
}

TEST(ClientGroups, ASpikeIsSoManyTimesAsMany) {
  for (const Pattern pattern : {Pattern::poisson, Pattern::metered}) {
    ClientsSpec users = poisson(1000);
    users.arrivals = pattern;
    const Record record = played(
        under(eager(1), service("db"), users, {fault(FaultKind::spike, 2s, 4s, 3, "users")}));
    double in_spike = 0;
    for (std::size_t i = 20; i < 60; ++i) in_spike += record.clients[0].ticks[i].requests;
    EXPECT_NEAR(in_spike, 12'000, 330);
    EXPECT_NEAR(static_cast<double>(record.clients[0].requests), 18'000, 405);
    EXPECT_EQ(static_cast<double>(record.clients[0].requests_in_fault), in_spike);
  }
}

TEST(ClientGroups, BurstsAndStepsAreExact) {
  ClientsSpec users = poisson(0);
  users.count = 10;
  users.arrivals = Pattern::bursts;
  users.every = 1s;
  users.burst = 7;
  EXPECT_EQ(played(under(eager(1), service("db"), users)).clients[0].requests, 7u * 10);
  users.arrivals = Pattern::constant;
  Record record = played(under(eager(1), service("db"), users));
  EXPECT_EQ(record.clients[0].requests, 10u * 10);
  EXPECT_EQ(record.clients[0].ticks[10].requests, 10u);
  users.arrivals = Pattern::spread;
  record = played(under(eager(1), service("db"), users));
  EXPECT_EQ(record.clients[0].requests, 10u * 10);
  for (std::size_t i = 0; i < 99; ++i) ASSERT_EQ(record.clients[0].ticks[i].requests, 1u);
}

TEST(ClientGroups, LevelsAreThoseAtTheEndOfTheBucket) {
  ClientsSpec users = at_once(5);
  const Record record = played(under(eager(1), service("db", takes(1s), 1), users));
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_EQ(record.clients[0].ticks[i].in_flight, 5 - i / 10) << i;
  }
  EXPECT_EQ(record.clients[0].ticks[50].in_flight, 0u);
}

// A process may spend 10 retries, and each of its clients would take two.
TEST(ClientGroups, ClientsOfOneProcessShareItsBudget) {
  for (const std::int32_t processes : {1, 4, 20}) {
    engine::Policy policy = eager(3);
    policy.budget = {.percent = Percent(0), .reserve = 10};
    ClientsSpec users = at_once(20);
    users.processes = processes;
    const Record record =
        played(under(policy, service("db"), users, {fault(FaultKind::down, 0s, 10s)}));
    const auto retries = static_cast<std::int32_t>(record.clients[0].attempts) - 20;
    EXPECT_EQ(retries, std::min(40, 10 * processes));
    EXPECT_EQ(record.clients[0].ticks[0].budget, processes == 20 ? 8.0F : 0.0F);
  }
}

TEST(ClientGroups, RequestsThatBeganInAFaultAreCountedApart) {
  ClientsSpec users = poisson(0);
  users.arrivals = Pattern::constant;
  users.every = 100ms;
  const Record record =
      played(under(eager(2), service("db"), users, {fault(FaultKind::down, 1s, 2s)}));
  EXPECT_EQ(record.clients[0].requests, 100u);
  EXPECT_EQ(record.clients[0].requests_in_fault, 20u);
  EXPECT_EQ(record.clients[0].attempts_in_fault, 40u);
  EXPECT_EQ(record.clients[0].attempts, 120u);
}

TEST(ClientGroups, OneThatIsNotIdempotentIsNotRepeated) {
  ClientsSpec users = at_once(10);
  users.idempotent = false;
  const Record record =
      played(under(eager(3), service("db"), users, {fault(FaultKind::down, 0s, 10s)}));
  EXPECT_EQ(count(record, Verdict::not_idempotent), 10u);
}

const std::vector<FaultSpec> kAllFail = {fault(FaultKind::down, 0s, 20s)};

TEST(ClientGroups, SomeGoAwayAfterEachFailure) {
  ClientsSpec users = at_once(10'000);
  users.gives_up = 0.5;
  const Record record = played(under(eager(3), service("db"), users, kAllFail));
  // 1 + 1/2 + 1/4, with a deviation of 0.83 each.
  EXPECT_NEAR(static_cast<double>(record.clients[0].attempts), 17'500, 250);
  EXPECT_NEAR(static_cast<double>(count(record, Verdict::pushed_back)), 8750, 100);
}

TEST(ClientGroups, ATokenBucketOfTheirOwnRunsDry) {
  ClientsSpec users = at_once(100);
  users.bucket = 10;
  users.bucket_refill = 0;
  const Record record = played(under(eager(3), service("db"), users, kAllFail));
  EXPECT_EQ(record.clients[0].attempts, 100u + 9);  // Down to one.
  users.bucket_refill = 1;
  users.count = 1;
  users.arrivals = Pattern::constant;
  users.loop = Loop::open;
  users.every = 1s;
  users.until = 9s;
  EXPECT_EQ(played(under(eager(3), service("db"), users, kAllFail)).clients[0].attempts,
            4 * 3u + 6 * 2);  // Each failure takes one: 10 8 6 4 2, then one retry each.
}

TEST(ClientGroups, ABreakerOfTheirOwnStopsAllRetries) {
  ClientsSpec users = poisson(0);
  users.arrivals = Pattern::constant;
  users.every = 1s;
  users.until = 9s;
  users.gives_up_over = 0.5;
  const Record record = played(under(eager(3), service("db"), users, kAllFail));
  EXPECT_EQ(record.clients[0].attempts, 10u);
  users.gives_up_over = 1;  // Never.
  EXPECT_EQ(played(under(eager(3), service("db"), users, kAllFail)).clients[0].attempts, 30u);
}

// The gap that is drawn before a spike ends is at the spike's rate: it lasted on, by a gap of 1000
// s here, and one at 0 s began with a gap of the old rate.
TEST(ClientGroups, ASpikeBeginsAndEndsOnTime) {
  Scenario quiet = tried_once({service("db")}, {poisson(100)},
                              {fault(FaultKind::spike, 2s, 2s, 0.001, "users")});
  const Record record = played(quiet);
  const std::vector<ClientsTick>& ticks = record.clients[0].ticks;
  const auto requests = [&ticks](std::size_t from, std::size_t to) {
    std::uint32_t sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += ticks[i].requests;
    return sum;
  };
  EXPECT_NEAR(requests(0, 20), 200, 60);
  EXPECT_LE(requests(20, 40), 3U);
  EXPECT_NEAR(requests(40, 50), 100, 40);
  EXPECT_NEAR(requests(40, 100), 600, 100);
  Scenario early = tried_once({service("db")}, {poisson(0.001)},
                              {fault(FaultKind::spike, 0s, 5s, 1000, "users")});
  EXPECT_GE(played(early).clients[0].requests, 1U);
  std::uint64_t sum = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) sum += played(early, seed).clients[0].requests;
  EXPECT_NEAR(static_cast<double>(sum), 40 * 5, 60);  // 1/s for 5 s
}

TEST(ClientGroups, AfterASlowSpikeRequestsStartAgainUntilTheEnd) {
  ClientsSpec users = poisson(100);
  users.until = 6s;
  const Record record = played(
      tried_once({service("db")}, {users}, {fault(FaultKind::spike, 1s, 1s, 0.001, "users")}));
  EXPECT_NEAR(static_cast<double>(record.clients[0].requests), 500, 100);
}

// A timeout is a failure, too: only answers were seen.
TEST(ClientGroups, ClientsGiveUpAfterATimeoutAsAfterAnError) {
  const auto attempts = [](auto change) {
    ClientsSpec users = poisson(100);
    change(users);
    Scenario scenario = world_of({service("db", takes(1s))}, {users});
    set_policy(scenario, "db", eager(4, 10ms));
    const Record record = played(scenario);
    EXPECT_EQ(record.clients[0].succeeded, 0U);
    return static_cast<double>(record.clients[0].attempts) /
           static_cast<double>(record.clients[0].requests);
  };
  EXPECT_NEAR(attempts([](ClientsSpec&) {}), 4, 0.05);
  EXPECT_NEAR(attempts([](ClientsSpec& users) { users.gives_up = 1; }), 1, 0.01);
  EXPECT_NEAR(attempts([](ClientsSpec& users) { users.gives_up = 0.5; }), 1.875, 0.15);
  EXPECT_NEAR(attempts([](ClientsSpec& users) { users.bucket = 5; }), 1.1, 0.05);
  EXPECT_NEAR(attempts([](ClientsSpec& users) { users.gives_up_over = 0.1; }), 1, 0.05);
}

}  // namespace

}  // namespace damper::lab
