#include "damper/lab/world/services.h"

#include <gtest/gtest.h>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

TEST(Services, OneWorkerTakesOneAfterTheOther) {
  const Record record = played(tried_once({service("db", takes(1s), 1)}, {at_once(5)}));
  const ClientsRecord& users = record.clients[0];
  EXPECT_EQ(users.succeeded, 5u);
  EXPECT_EQ(users.latency.min(), 1s);
  EXPECT_EQ(users.latency.mean(), 3s);
  EXPECT_EQ(users.latency.max(), 5s);
  EXPECT_EQ(record.last_end, 5s);
  EXPECT_EQ(record.services[0].served, 5u);
  EXPECT_EQ(record.services[0].good, 5u);
  EXPECT_EQ(record.services[0].ticks[15].queued, 3u);
  EXPECT_EQ(record.services[0].ticks[15].working, 1u);
}

TEST(Services, WhoeverFindsNoRoomIsRefused) {
  ServiceSpec db = service("db", takes(1s), 1);
  db.queue_bound = 2;
  const Record record = played(tried_once({db}, {at_once(5)}));
  EXPECT_EQ(count(record, Verdict::success), 3u);
  EXPECT_EQ(count(record, Verdict::overload), 2u);
  EXPECT_EQ(record.services[0].refused, 2u);
  EXPECT_EQ(record.services[0].attempts, 5u);
}

TEST(Services, ARefusalIsToldInTheWordsOfTheService) {
  ServiceSpec db = service("db", takes(1s), 1);
  db.queue_bound = 0;
  db.refusal = Outcome::permanent;
  EXPECT_EQ(count(played(tried_once({db}, {at_once(5)})), Verdict::permanent), 4u);
}

TEST(Services, ALimitRefusesAsWell) {
  ServiceSpec db = service("db", takes(1s), 1);
  db.limit = admit::ConcurrencyLimitOptions{.kind = admit::LimitKind::fixed, .initial = 3};
  const Record record = played(tried_once({db}, {at_once(5), one_at(3500ms, "late")}));
  EXPECT_EQ(record.clients[0].succeeded, 3u);
  EXPECT_EQ(record.clients[1].succeeded, 1u);  // The places were given back.
  EXPECT_EQ(record.services[0].ticks[0].limit, 3u);
}

// A worker does A until 2 s. B waits and is given up at 1.1 s. C comes at 3 s, to a free worker.
TEST(Services, NobodyWaitsBehindOneWhoHasLeft) {
  for (const auto discipline : {Discipline::fifo, Discipline::lifo, Discipline::shed}) {
    SCOPED_TRACE(kDisciplineNames[static_cast<std::size_t>(discipline)]);
    ServiceSpec db = service("db", takes(2s), 1);
    db.heeds_cancel = true;
    db.queue = discipline;
    const Record record =
        played(tried_once({db}, {one_at(0s, "a"), one_at(100ms, "b", 1s), one_at(3s, "c")}));
    EXPECT_EQ(record.clients[1].failed, 1u);
    EXPECT_EQ(record.clients[2].latency.max(), 2s);
    EXPECT_EQ(record.services[0].served, 2u);
  }
}

TEST(Services, AHandoverDelaysThoseWhoWait) {
  ServiceSpec db = service("db", takes(100ms), 1);
  db.handover = 10ms;
  const Record record = played(tried_once({db}, {at_once(3)}));
  EXPECT_EQ(record.clients[0].latency.min(), 100ms);
  EXPECT_EQ(record.clients[0].latency.mean(), 210ms);
  EXPECT_EQ(record.clients[0].latency.max(), 320ms);
}

// A is done at 100 ms; B waits, and C comes while the worker is on its way to B.
TEST(Services, DuringAHandoverTheNewcomerIsFirst) {
  ServiceSpec db = service("db", takes(100ms), 1);
  db.handover = 10ms;
  const Record record =
      played(tried_once({db}, {one_at(0s, "a"), one_at(50ms, "b"), one_at(105ms, "c")}));
  EXPECT_EQ(record.clients[2].latency.max(), 100ms);
  EXPECT_EQ(record.clients[1].latency.max(), 205ms + 10ms + 100ms - 50ms);
}

// A and B are done at 100 and 105 ms; each worker takes one of the two that wait, 10 ms later.
TEST(Services, EachHandoverIsOneWorkers) {
  ServiceSpec db = service("db", takes(100ms), 2);
  db.handover = 10ms;
  ClientsSpec two = at_once(2);
  two.first = takes(20ms);
  const Record record = played(tried_once({db}, {two, one_at(0s, "a"), one_at(5ms, "b")}));
  EXPECT_EQ(record.clients[0].latency.min(), 190ms);
  EXPECT_EQ(record.clients[0].latency.max(), 195ms);
}

// A and B are done at 100 and 105 ms. The newcomer takes A's worker at 102 ms, which ends that
// handover; the other worker takes the first of those that wait at 115 ms, and not at 110 ms.
TEST(Services, ANewcomerEndsOneHandoverAndNoOther) {  // Invariant (3).
  ServiceSpec db = service("db", takes(100ms), 2);
  db.handover = 10ms;
  const Record record =
      played(tried_once({db}, {one_at(0s, "a"), one_at(5ms, "b"), one_at(20ms, "first"),
                               one_at(30ms, "second"), one_at(102ms, "newcomer")}));
  EXPECT_EQ(record.clients[4].latency.max(), 100ms);
  EXPECT_EQ(record.clients[2].latency.max(), 115ms + 100ms - 20ms);
  EXPECT_EQ(record.clients[3].latency.max(), 202ms + 10ms + 100ms - 30ms);
}

// One of two workers is cut until 104 ms. The other is done at 100 ms: what it takes, it takes at
// the end of its handover, at 110 ms.
TEST(Services, TheEndOfACapacityCutEndsNoHandover) {
  ServiceSpec db = service("db", takes(100ms), 2);
  db.handover = 10ms;
  const Record record =
      played(tried_once({db}, {one_at(0s, "a"), one_at(10ms, "first"), one_at(20ms, "second")},
                        {fault(FaultKind::capacity, 0s, 104ms, 0.5)}));
  EXPECT_EQ(record.clients[1].latency.max(), 104ms + 100ms - 10ms);
  EXPECT_EQ(record.clients[2].latency.max(), 110ms + 100ms - 20ms);
}

// A cut takes the worker away that is in a handover: nobody is served until it is over.
TEST(Services, AHandoverOfAWorkerThatIsCutIsOver) {
  ServiceSpec db = service("db", takes(100ms), 1);
  db.handover = 10ms;
  const Record record = played(tried_once({db}, {one_at(0s, "a"), one_at(10ms, "b")},
                                          {fault(FaultKind::capacity, 105ms, 1s, 0)}));
  EXPECT_EQ(record.clients[1].latency.max(), 1105ms + 100ms - 10ms);
}

// A is done at 1 s. B, who waited in the only place, was given up: it makes room for D.
TEST(Services, AHandoverClearsTheLineOfThoseWhoHaveLeft) {
  ServiceSpec db = service("db", takes(1s), 1);
  db.handover = 1ms;
  db.heeds_cancel = true;
  db.queue = Discipline::shed;
  db.queue_bound = 1;
  const Record record = played(tried_once(
      {db}, {one_at(0s, "a"), one_at(100ms, "b", 500ms), one_at(2s, "c"), one_at(2100ms, "d")}));
  EXPECT_EQ(record.services[0].refused, 0u);
  EXPECT_EQ(record.clients[3].latency.max(), 900ms + 1ms + 1s);
}

TEST(Services, ACapacityCutEndsForAllWorkersAtOnce) {
  for (const Duration handover : {0ms, 1ms}) {
    ServiceSpec db = service("db", takes(1s), 5);
    db.handover = handover;
    ClientsSpec users = at_once(5);
    users.first = takes(500ms);
    const Record record =
        played(tried_once({db}, {users}, {fault(FaultKind::capacity, 0s, 1s, 0)}));
    EXPECT_EQ(record.clients[0].latency.min(), 1500ms);
    EXPECT_EQ(record.clients[0].latency.max(), 1500ms);
    EXPECT_EQ(record.services[0].ticks[8].queued, 5u);
    EXPECT_EQ(record.services[0].ticks[8].working, 0u);
  }
}

TEST(Services, OfTwoCutsTheSmallerCapacityCounts) {
  const ServiceSpec db = service("db", takes(1s), 4);
  const Record record = played(tried_once(
      {db}, {at_once(12)},
      {fault(FaultKind::capacity, 0s, 3500ms, 0.5), fault(FaultKind::capacity, 500ms, 2s, 0.25)}));
  // Two until 1 s, one until 2.5 s (what works at 1 s goes on), then two, from 3.5 s four.
  const auto& ticks = record.services[0].ticks;
  EXPECT_EQ(ticks[4].working, 2u);
  EXPECT_EQ(ticks[14].working, 1u);
  EXPECT_EQ(ticks[29].working, 2u);
  EXPECT_EQ(ticks[36].working, 4u);
  EXPECT_EQ(record.clients[0].succeeded, 12u);
}

TEST(Services, OneWhoseTimeIsUpIsNotWorkedOnIfTheServiceHeedsIt) {
  for (const bool heeds : {false, true}) {
    ServiceSpec db = service("db", takes(2s), 1);
    db.heeds_deadline = heeds;
    ClientsSpec users = at_once(2);
    users.deadline = 1s;
    const Record record = played(tried_once({db}, {users}));
    EXPECT_EQ(count(record, Verdict::deadline_passed), 2u);
    EXPECT_EQ(record.services[0].served, heeds ? 1u : 2u);
    EXPECT_EQ(record.services[0].refused, heeds ? 1u : 0u);
    EXPECT_EQ(record.services[0].good, 0u);
  }
}

TEST(Services, NorIsItByAFreeWorker) {
  for (const bool heeds : {false, true}) {
    ServiceSpec db = service("db", takes(2s), 1);
    db.heeds_deadline = heeds;
    const Record record =
        played(tried_once({db}, {one_at(0s, "a", 1s)}, {fault(FaultKind::held, 0s, 2s)}));
    EXPECT_EQ(record.services[0].attempts, 1u);
    EXPECT_EQ(record.services[0].served, heeds ? 0u : 1u);
    EXPECT_EQ(record.services[0].refused, heeds ? 1u : 0u);
  }
}

TEST(Services, OneWhoIsGivenUpFreesItsWorkerIfTheServiceHeedsIt) {
  for (const bool heeds : {false, true}) {
    ServiceSpec db = service("db", takes(4s), 1);
    db.heeds_cancel = heeds;
    const Record record = played(tried_once({db}, {one_at(0s, "a", 1s), one_at(500ms, "b")}));
    EXPECT_EQ(record.services[0].served, heeds ? 1u : 2u);
    EXPECT_EQ(record.clients[1].latency.max(), heeds ? 4500ms : 7500ms);
  }
}

TEST(Services, OneWhoIsGivenUpOnTheWayIsNotWorkedOnEither) {
  for (const bool heeds : {false, true}) {
    ServiceSpec db = service("db", takes(1s), 1);
    db.heeds_cancel = heeds;
    const Record record =
        played(tried_once({db}, {one_at(0s, "a", 1s)}, {fault(FaultKind::held, 0s, 2s)}));
    EXPECT_EQ(record.services[0].attempts, 1u);
    EXPECT_EQ(record.services[0].served, heeds ? 0u : 1u);
  }
}

// What was not worked on to the end says nothing about how long it takes.
TEST(Services, TheLimitLearnsNothingFromThoseWhoLeave) {
  ServiceSpec db = service("db", takes(1s), 50);
  db.limit = admit::ConcurrencyLimitOptions{.kind = admit::LimitKind::gradient};
  db.heeds_cancel = true;
  ClientsSpec users = poisson(500);
  users.deadline = 10ms;
  const auto unmoved = [](const Record& record) {
    EXPECT_GT(record.clients[0].requests, 100u);
    EXPECT_EQ(record.clients[0].succeeded, 0u);
    return record.services[0].ticks.front().limit == record.services[0].ticks.back().limit;
  };
  EXPECT_TRUE(unmoved(played(tried_once({db}, {users}))));
  db.heeds_cancel = false;  // Nor from those whose time is up when a worker takes them.
  db.heeds_deadline = true;
  db.limit->kind = admit::LimitKind::aimd;  // Any answer would let it grow.
  db.limit->initial = 100;
  users.until = 4s;
  EXPECT_TRUE(unmoved(played(tried_once({db}, {users}, {fault(FaultKind::capacity, 0s, 5s, 0)}))));
}

TEST(Services, AServiceThatIsDownAnswersAtOnce) {
  FaultSpec down = fault(FaultKind::down, 0s, 10s);
  down.answer = Outcome::permanent;
  ServiceSpec db = service("db", takes(1s), 1);
  db.network = takes(5ms);
  const Record record = played(tried_once({db}, {at_once(3)}, {down}));
  EXPECT_EQ(count(record, Verdict::permanent), 3u);
  EXPECT_EQ(record.last_end, 10ms);
  EXPECT_EQ(record.services[0].ticks[0].failed, 3u);
  EXPECT_EQ(record.services[0].served, 0u);
  EXPECT_EQ(record.services[0].attempts, 3u);
}

TEST(Services, AFaultIsOnFromItsBeginningToItsEnd) {
  const ServiceSpec db = service("db");
  const auto failed_at = [&db](Duration time) {
    const Record record =
        played(tried_once({db}, {one_at(time, "a")}, {fault(FaultKind::down, 1s, 1s)}));
    EXPECT_EQ(record.clients[0].requests_in_fault, record.clients[0].failed);
    return record.clients[0].failed == 1;
  };
  EXPECT_FALSE(failed_at(1s - 1ns));
  EXPECT_TRUE(failed_at(1s));
  EXPECT_TRUE(failed_at(2s - 1ns));
  EXPECT_FALSE(failed_at(2s));
}

TEST(Services, ErrorsComeAfterTheServiceTime) {
  const ServiceSpec db = service("db", takes(10ms));
  const Record all = played(tried_once({db}, {at_once(5)}, {fault(FaultKind::errors, 0s, 1s, 1)}));
  EXPECT_EQ(all.clients[0].failed, 5u);
  EXPECT_EQ(all.last_end, 10ms);
  EXPECT_EQ(all.services[0].served, 5u);
  EXPECT_EQ(all.services[0].good, 0u);
  const Record some =
      played(tried_once({db}, {at_once(10'000)}, {fault(FaultKind::errors, 0s, 1s, 0.3)}));
  EXPECT_NEAR(static_cast<double>(some.clients[0].failed), 3000, 140);  // Three deviations.
  ServiceSpec shaky = db;
  shaky.errors = 0.3;
  EXPECT_EQ(played(tried_once({shaky}, {at_once(10'000)})).clients[0].failed,
            some.clients[0].failed);  // The same draws.
}

TEST(Services, SlowIsSoManyTimesAsLong) {
  const ServiceSpec db = service("db", takes(100ms), 1);
  const Record record =
      played(tried_once({db}, {at_once(1)}, {fault(FaultKind::slow, 0s, 1s, 2.5)}));
  EXPECT_EQ(record.last_end, 250ms);
  FaultSpec first_two = fault(FaultKind::slow, 0s, 10s, 10);
  first_two.requests = 2;
  EXPECT_EQ(played(tried_once({db}, {at_once(4)}, {first_two})).last_end, 2200ms);
}

TEST(Services, ServiceTimesMayGrowWithTheLoadAndHaveAGrain) {
  ServiceSpec db = service("db", takes(57ms));
  db.grain = 10ms;
  db.per_request = 1ms;
  const Record record = played(tried_once({db}, {at_once(3)}));
  EXPECT_EQ(record.clients[0].latency.min(), 51ms);
  EXPECT_EQ(record.clients[0].latency.mean(), 52ms);
  EXPECT_EQ(record.clients[0].latency.max(), 53ms);
}

TEST(Services, AnAnswerMayComeTooLateToBeGood) {
  ServiceSpec db = service("db", takes(1s), 1);
  db.fails_after = 3s;
  EXPECT_EQ(played(tried_once({db}, {at_once(5)})).clients[0].succeeded, 2u);
}

TEST(Services, CorrelatedReplicasTakeEquallyLong) {
  const auto succeeded = [](double correlation) {
    ServiceSpec db = service("db", Distribution::mix(0s, 10s, Percent(50)));
    db.correlation = correlation;
    Scenario scenario = world_of({db}, {at_once(10'000)});
    set_policy(scenario, "db", eager(3, 1s));
    return static_cast<double>(played(scenario).clients[0].succeeded);
  };
  EXPECT_NEAR(succeeded(0), 8750, 100);  // 1 - 0.5^3
  EXPECT_NEAR(succeeded(1), 5000, 150);
  EXPECT_NEAR(succeeded(0.5), (8750 + 5000) / 2.0, 145);
}

// The picture of a healthy service had waste in it: answers arrive in a later bucket than the one
// in which they were served.
TEST(Services, WhatIsGoodCountsInTheBucketInWhichItWasServed) {
  ServiceSpec db = service("db", takes(10ms), 10);
  db.network = takes(150ms);
  Scenario scenario = tried_once({db}, {poisson(50)});
  scenario.bucket = 100ms;
  const Record record = played(scenario);
  const std::vector<ServiceTick>& ticks = record.services[0].ticks;
  for (std::size_t i = 0; i + 3 < ticks.size(); ++i) EXPECT_EQ(ticks[i].good, ticks[i].served) << i;
  EXPECT_EQ(ticks.back().good, 0U);  // Its answers would arrive after the end.
}

}  // namespace
}  // namespace damper::lab
