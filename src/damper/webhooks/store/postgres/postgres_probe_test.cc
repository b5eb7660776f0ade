// The breaker's state of an endpoint, and the probes of a fleet.
#include <chrono>

#include "damper/run/clock.h"
#include "damper/webhooks/store/postgres/postgres_fleet_testing.h"

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;

// Invariant (3) of EndpointState: the loser of a race changes nothing.
TEST_F(PostgresFleet, AStateIsWrittenByItsEpoch) {
  const auto first = open();
  const auto second = open();
  StoreDriver(*first).set_up();
  const auto put = [](Store& store, const EndpointState& state) {
    return wait_for<Store::Nothing>([&](auto done) { store.put_state(state, done); });
  };
  ASSERT_TRUE(put(*first, {.endpoint = kFirst, .trips = 1, .epoch = 0}));
  const auto loser = put(*second, {.endpoint = kFirst, .trips = 7, .epoch = 0});
  ASSERT_FALSE(loser);
  EXPECT_EQ(loser.error().kind, StoreError::Kind::conflict);
  ASSERT_TRUE(put(*second, {.endpoint = kFirst, .trips = 2, .epoch = 1}));
  EXPECT_EQ(StoreDriver(*first).load().states.at(0).trips, 2U);
  EXPECT_EQ(StoreDriver(*first).load().states.at(0).epoch, 2);
}

// A dispatcher that has not heard of an open breaker yet sends nothing.
TEST_F(PostgresFleet, AClaimByAnOlderStateIsRefusedWithTheNewerOne) {
  const auto first = open();
  const auto second = open();
  StoreDriver(*first).set_up();
  ASSERT_TRUE(StoreDriver(*first).accept(message(1)));
  const auto put = [](Store& store, const EndpointState& state) {
    EXPECT_TRUE(wait_for<Store::Nothing>([&](auto done) { store.put_state(state, done); }));
  };
  const auto claim = [](Store& store, std::int64_t epoch, bool by_key) {
    const auto claimed = wait_for<Claimed>([&](auto done) {
      store.claim(kFirst, run::wall_time() + 1h, 9, {.by_key = by_key, .epoch = epoch}, {}, done);
    });
    EXPECT_TRUE(claimed) << claimed.error().sentence;
    return claimed ? *claimed : Claimed{};
  };
  put(*second, {.endpoint = kFirst, .open_until = run::wall_time() + 1h, .trips = 4, .epoch = 0});
  for (const bool by_key : {false, true}) {
    const Claimed refused = claim(*first, 0, by_key);
    EXPECT_TRUE(refused.deliveries.empty());
    EXPECT_TRUE(refused.next_due);
    ASSERT_TRUE(refused.newer_state);
    EXPECT_EQ(refused.newer_state->endpoint, kFirst);
    EXPECT_EQ(refused.newer_state->trips, 4U);
    EXPECT_EQ(refused.newer_state->epoch, 1);
    EXPECT_GT(refused.newer_state->open_until, run::wall_time() + 50min);
  }
  // Its own state is none that it has to adopt, and what it knows is none either.
  put(*first, {.endpoint = kFirst, .trips = 5, .epoch = 1});
  const Claimed claimed = claim(*first, 1, false);
  EXPECT_EQ(claimed.deliveries.size(), 1U);
  EXPECT_FALSE(claimed.newer_state);
  EXPECT_FALSE(claim(*second, 2, false).newer_state);
}

ProbeGrant probe(Store& store, ProbeRequest request) {
  const auto grant =
      wait_for<ProbeGrant>([&](auto done) { store.take_probe(std::move(request), done); });
  EXPECT_TRUE(grant) << grant.error().sentence;
  return grant ? *grant : ProbeGrant{};
}

TEST_F(PostgresFleet, OneDispatcherProbesAnEndpointUntilItsLeaseEnds) {
  const auto first = open();
  const auto second = open();
  StoreDriver(*first).set_up();
  const EndpointState tripped{.endpoint = kFirst, .open_until = run::wall_time() - 1s, .trips = 1};
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) { first->put_state(tripped, done); }));
  ProbeRequest request{.endpoint = kFirst, .epoch = 1, .lease = 1h, .host = "h"};
  request.of_host = request.of_all = {.rate_per_second = 1000, .burst = 10};
  EXPECT_FALSE(probe(*second, {.endpoint = kFirst, .epoch = 0, .lease = 1h}).granted);
  EXPECT_TRUE(probe(*first, request).granted);
  const ProbeGrant refused = probe(*second, request);
  EXPECT_FALSE(refused.granted);
  EXPECT_GT(refused.retry, run::wall_time() + 50min);
  // A lease that ends without a result: another one probes.
  sql("UPDATE endpoint_state SET probe_until = now_ms() + 100");
  EXPECT_TRUE(eventually([&] { return probe(*second, request).granted; }));
  // A result ends it, too; while the breaker is open there is no probe.
  EndpointState again{
      .endpoint = kFirst, .open_until = run::wall_time() + 1h, .trips = 2, .epoch = 1};
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) { second->put_state(again, done); }));
  request.epoch = 2;
  EXPECT_FALSE(probe(*first, request).granted);
  again.open_until = run::wall_time() - 1s;
  again.epoch = 2;
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) { second->put_state(again, done); }));
  request.epoch = 3;
  EXPECT_TRUE(probe(*first, request).granted);
}

TEST_F(PostgresFleet, AProbeThatIsReturnedIsFreeAtOnce) {
  const auto first = open();
  const auto second = open();
  StoreDriver(*first).set_up();
  const EndpointState tripped{.endpoint = kFirst, .open_until = run::wall_time() - 1s, .trips = 1};
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) { first->put_state(tripped, done); }));
  ProbeRequest request{.endpoint = kFirst, .epoch = 1, .lease = 1h, .host = "h"};
  request.of_host = request.of_all = {.rate_per_second = 1000, .burst = 10};
  const auto give_back = [&](Store& store, std::int64_t lease) {
    EXPECT_TRUE(
        wait_for<Store::Nothing>([&](auto done) { store.return_probe(kFirst, lease, done); }));
  };
  const ProbeGrant mine = probe(*first, request);
  ASSERT_TRUE(mine.granted);
  ASSERT_FALSE(probe(*second, request).granted);
  give_back(*first, mine.lease);
  request.lease = 2h;
  const ProbeGrant theirs = probe(*second, request);
  ASSERT_TRUE(theirs.granted);
  give_back(*first, mine.lease);  // It has ended: the lease of the other one holds.
  EXPECT_FALSE(probe(*first, request).granted);
}

TEST_F(PostgresFleet, ProbesOfTheFleetHaveARate) {
  const auto first = open();
  const auto second = open();
  StoreDriver driver(*first);
  driver.set_up();
  int of_host = 0;
  int of_all = 0;
  for (std::int64_t id = 10; id < 40; ++id) {
    ASSERT_TRUE(driver.put(StoreDriver::endpoint(Id{id})));
    Store& store = id % 2 == 0 ? *first : *second;
    ProbeRequest request{.endpoint = Id{id}, .lease = 1h};
    request.host = id < 25 ? "busy" : "host" + std::to_string(id);
    request.of_host = {.rate_per_second = 0.001, .burst = 3};
    request.of_all = {.rate_per_second = 0.001, .burst = 7};
    (id < 25 ? of_host : of_all) += probe(store, request).granted ? 1 : 0;
  }
  EXPECT_EQ(of_host, 3);
  EXPECT_EQ(of_all, 4);  // of 7
}

}  // namespace
}  // namespace damper::webhooks
