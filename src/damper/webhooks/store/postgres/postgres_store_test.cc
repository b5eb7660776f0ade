#include "damper/webhooks/store/postgres/postgres_store.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "damper/run/clock.h"
#include "damper/webhooks/store/postgres/postgres_fleet_testing.h"

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;

TEST_F(PostgresFleet, TablesAreCreatedOnceByManyAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Store>> stores(4);
  for (auto& store : stores) threads.emplace_back([&] { store = open(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& store : stores) ASSERT_NE(store, nullptr);
  const auto connection = store::PostgresCluster::get().connect();
  const auto versions =
      connection->query({{"v",
                          "SELECT count(*) FROM pg_class WHERE relname = 'schema_version'"
                          " AND relnamespace = $1::text::regnamespace"},
                         store::PgParameters().add_text(schema_)});
  ASSERT_TRUE(versions) << versions.error().sentence;
  EXPECT_EQ(versions->number(0, 0), 1);
}

TEST_F(PostgresFleet, ANewerVersionIsRefused) {
  open().reset();
  sql("INSERT INTO schema_version VALUES (99)");
  const auto refused = PostgresStore::open(postgres_options(schema_));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("version 99"), std::string::npos) << refused.error();
}

TEST_F(PostgresFleet, ADatabaseThatIsNotThereIsOneSentence) {
  PostgresStoreOptions options;
  options.url = "postgres://me:secret@127.0.0.1:1/none";
  const auto refused = PostgresStore::open(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("postgres://me@127.0.0.1:1/none"), std::string::npos);
  EXPECT_EQ(refused.error().find("secret"), std::string::npos);
}

// Invariant (1) of PostgresClaims.
TEST_F(PostgresFleet, TwoClaimersNeverGetTheSameDelivery) {
  const auto first = open();
  const auto second = open();
  StoreDriver a(*first);
  StoreDriver b(*second);
  a.set_up();
  constexpr int kCount = 100;
  accept_many(a, kCount);
  const auto take = [&](StoreDriver& driver, std::vector<Id>& mine) {
    for (int round = 0; round < 200; ++round) {
      const Claimed claimed = claim(driver, 7, mine);
      for (const Delivery& delivery : claimed.deliveries) mine.push_back(delivery.message->id);
      if (claimed.deliveries.empty() && !claimed.next_due) return;
    }
  };
  std::vector<Id> of_a;
  std::vector<Id> of_b;
  std::thread other([&] { take(b, of_b); });
  take(a, of_a);
  other.join();
  std::set<Id> all(of_a.begin(), of_a.end());
  all.insert(of_b.begin(), of_b.end());
  EXPECT_EQ(of_a.size() + of_b.size(), std::size_t{kCount});
  EXPECT_EQ(all.size(), std::size_t{kCount});
}

// A dispatcher that stalls for longer than its lease.
TEST_F(PostgresFleet, TrapW2_AStalledOwnersSettlementChangesNothing) {
  const auto stalled = open_with(50ms, 1h);
  const auto other = open();
  StoreDriver a(*stalled);
  StoreDriver b(*other);
  a.set_up();
  ASSERT_TRUE(a.accept(message(1)));
  const Delivery lost = claim(a).deliveries.at(0);
  Claimed taken;
  ASSERT_TRUE(eventually([&] { return !(taken = claim(b)).deliveries.empty(); }));
  EXPECT_NE(taken.deliveries[0].claim, lost.claim);
  for (const Fate fate : {Fate::delivered, Fate::again, Fate::dead}) {
    EXPECT_FALSE(a.settle(lost, fate, run::wall_time()));
  }
  EXPECT_EQ(b.count().attempts, 0);
  EXPECT_EQ(b.count().waiting, 1);
  EXPECT_TRUE(b.settle(taken.deliveries[0], Fate::delivered));
  EXPECT_EQ(b.count().waiting, 0);
}

// Else it would bring back the URL or a revoked secret of the version that it knows.
TEST_F(PostgresFleet, AChangeOfAnOlderVersionOfAnEndpointIsRefused) {
  const auto first = open();
  const auto second = open();
  StoreDriver a(*first);
  StoreDriver b(*second);
  a.set_up();
  Endpoint known = b.load().endpoints.at(0);
  EXPECT_EQ(known.version, 1);
  Endpoint stale = known;
  known.config.url = "https://example.com/new";
  ASSERT_TRUE(a.put(known));
  const auto refused = b.put(stale);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::conflict);
  EXPECT_EQ(b.load().endpoints.at(0).config.url, "https://example.com/new");
  EXPECT_EQ(b.load().endpoints.at(0).version, 2);
}

TEST_F(PostgresFleet, ClaimsOfALivingDispatcherAreItsOwnHoweverLongTheyTake) {
  const auto first = open_with(400ms, 50ms);
  const auto second = open();
  StoreDriver a(*first);
  StoreDriver b(*second);
  a.set_up();
  ASSERT_TRUE(a.accept(message(1)));
  const Delivery mine = claim(a).deliveries.at(0);
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(200ms);
    EXPECT_TRUE(claim(b).deliveries.empty());
  }
  EXPECT_TRUE(a.settle(mine, Fate::delivered));
}

TEST_F(PostgresFleet, AStoreThatIsClosedLeavesItsClaimsAtOnce) {
  auto first = open();
  const auto second = open();
  StoreDriver b(*second);
  {
    StoreDriver a(*first);
    a.set_up();
    ASSERT_TRUE(a.accept(message(1)));
    ASSERT_EQ(StoreDriver::ids(claim(a)), "1");
  }
  EXPECT_TRUE(claim(b).deliveries.empty());
  first.reset();
  EXPECT_EQ(StoreDriver::ids(claim(b)), "1");
}

// Of one key, inserted by two dispatchers at once, one is the first.
TEST_F(PostgresFleet, AnOrderingKeyHasOneFirstMessageInTheFleet) {
  const auto first = open();
  const auto second = open();
  StoreDriver a(*first);
  StoreDriver b(*second);
  a.set_up();
  for (int round = 0; round < 8; ++round) {
    const std::string key = "key" + std::to_string(round);
    std::thread other([&] { EXPECT_TRUE(b.accept(message(100 + round, key))); });
    EXPECT_TRUE(a.accept(message(200 + round, key)));
    other.join();
  }
  const Claimed claimed = a.claim(run::wall_time(), 100, true);
  ASSERT_EQ(claimed.deliveries.size(), 8U);
  for (const Delivery& delivery : claimed.deliveries) EXPECT_LT(delivery.message->id, Id{200});
  // Another dispatcher has the first of a key in flight: the next one waits.
  EXPECT_TRUE(b.claim(run::wall_time(), 100, true).deliveries.empty());
}

TEST_F(PostgresFleet, OthersGetToKnowChangesAndDeliveries) {
  const auto first = open();
  const auto second = open();
  StoreDriver a(*first);
  a.set_up();
  Changes seen(*second);
  Endpoint changed = StoreDriver::endpoint(kFirst);
  changed.config.disabled = true;
  changed.version = 1;
  ASSERT_TRUE(a.put(changed));
  EXPECT_TRUE(eventually([&] {
    return seen.any([](const StoreChange& change) {
      return change.endpoints.size() == 1 && change.endpoints[0].config.disabled;
    });
  }));
  ASSERT_TRUE(a.accept(message(1)));
  EXPECT_TRUE(eventually([&] {
    return seen.any([&](const StoreChange& change) {
      return change.due.size() == 1 && change.due[0].endpoint == kFirst;
    });
  }));
  const EndpointState open_state{.endpoint = kFirst, .open_until = run::wall_time(), .trips = 2};
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) { first->put_state(open_state, done); }));
  EXPECT_TRUE(eventually([&] {
    return seen.any([](const StoreChange& change) {
      return change.states.size() == 1 && change.states[0].trips == 2 &&
             change.states[0].epoch == 1;
    });
  }));
  ASSERT_TRUE(a.remove(kFirst));
  EXPECT_TRUE(eventually([&] {
    return seen.any([&](const StoreChange& change) {
      return change.removed_endpoints == std::vector<Id>{kFirst};
    });
  }));
  ASSERT_TRUE(a.remove("shop"));
  EXPECT_TRUE(eventually([&] {
    return seen.any([](const StoreChange& change) {
      return change.removed_applications == std::vector<std::string>{"shop"};
    });
  }));
}

// Invariant (5) of Store, at the moment when the other dispatcher has not been notified yet.
TEST_F(PostgresFleet, AMessageIsAcceptedByTheConfigurationThatIsInForce) {
  PostgresStoreOptions options = postgres_options(schema_);
  options.times.debounce = 1h;  // No notification arrives before the end of the test.
  const auto first = open_postgres(options);
  StoreDriver a(*first);
  a.set_up();
  options.times.renewal = 1h;
  const auto second = open_postgres(options);
  Changes seen(*second);
  const auto accept = [&](Message sent, std::optional<std::int64_t> configuration) {
    const auto result = wait_for<Accepted>([&](auto done) {
      second->accept({std::move(sent), {kFirst}, configuration}, done);
    });
    if (result) return std::string(result->repeated ? "repeated" : "accepted");
    return std::string(result.error().kind == StoreError::Kind::stale ? "stale" : "other");
  };
  Message keyed = message(1);
  keyed.idempotency_key = "k";
  EXPECT_EQ(accept(keyed, seen.version()), "accepted");

  constexpr Id kThird{3};
  const std::int64_t before = seen.version();
  ASSERT_TRUE(a.put(StoreDriver::endpoint(kThird)));
  EXPECT_EQ(accept(message(2), before), "stale");
  // The caller has the change when it gets the error, and finds the endpoints again.
  EXPECT_TRUE(seen.any([](const StoreChange& change) {
    return change.endpoints.size() == 1 && change.endpoints[0].id == kThird;
  }));
  EXPECT_GT(seen.version(), before);
  EXPECT_EQ(accept(message(2), seen.version()), "accepted");
  EXPECT_EQ(accept(keyed, before), "repeated");
  EXPECT_EQ(accept(message(3), std::nullopt), "accepted");  // Its endpoints were named.

  // The own changes are known.
  ASSERT_TRUE(StoreDriver(*second).put(StoreDriver::endpoint(Id{4})));
  EXPECT_EQ(accept(message(4), seen.version()), "accepted");

  ASSERT_TRUE(a.remove(kThird));
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) { second->refresh(done); }));
  EXPECT_TRUE(seen.any([&](const StoreChange& change) {
    return change.removed_endpoints == std::vector<Id>{kThird};
  }));
  EXPECT_EQ(accept(message(5), seen.version()), "accepted");
}

// The messages that nobody else knows of: their dispatcher died after their commit.
TEST_F(PostgresFleet, WhatADeadDispatcherLeavesIsFound) {
  auto dead = open_with(2s, 1h);
  const auto living = open_with(9s, 100ms);
  StoreDriver a(*dead);
  a.set_up();
  Changes seen(*living);
  ASSERT_TRUE(a.accept(message(1)));
  ASSERT_EQ(StoreDriver::ids(claim(a)), "1");
  StoreDriver b(*living);
  EXPECT_TRUE(eventually([&] {
    return seen.any([&](const StoreChange& change) { return !change.due.empty(); }) &&
           StoreDriver::ids(claim(b)) == "1";
  }));
}

// A host whose clock is an hour off: what it accepts is due for the others at once.
TEST_F(PostgresFleet, DueIsByTheDatabasesClock) {
  const auto store = open();
  StoreDriver driver(*store);
  driver.set_up();
  ASSERT_TRUE(driver.accept(message(1)));
  EXPECT_EQ(StoreDriver::ids(driver.claim(at(0))), "1");
  EXPECT_TRUE(driver.settle(claim(driver).deliveries.at(0), Fate::again, run::wall_time() + 1h));
  const Claimed later = driver.claim(run::wall_time() + 2h);
  EXPECT_TRUE(later.deliveries.empty());
  ASSERT_TRUE(later.next_due);
  EXPECT_NEAR(static_cast<double>((*later.next_due - run::wall_time()).count()), 3'600'000, 60'000);
}

// A store that accepts while its connections are lost: each message that was accepted is there, and
// each that was refused is not. A server that is away for longer than PostgresTransaction::kDoubt
// may have committed one that was refused.
class Accepting {
 public:
  Accepting(Store& store, int count) : store_(store), left_(count) {}

  void run(const std::function<void()>& fault) {
    StoreDriver driver(store_);
    std::thread sender([&] {
      for (std::int64_t id = 1; id <= left_; ++id) {
        Message message = StoreDriver::message(id);
        message.created = run::wall_time();
        const Instant start = run::now();
        (driver.accept(std::move(message)) ? accepted_ : refused_).insert(Id{id});
        slowest_ = std::max(slowest_, run::now() - start);
      }
      over_ = true;
    });
    fault();
    sender.join();
    for (const Id id : accepted_) EXPECT_TRUE(driver.find(number(id))) << number(id);
    std::size_t doubtful = 0;
    for (const Id id : refused_) doubtful += driver.find(number(id)) ? 1U : 0U;
    EXPECT_LE(doubtful, slowest_ < PostgresTransaction::kDoubt ? 0U : 1U);
    EXPECT_EQ(driver.count().waiting, std::ssize(accepted_) + static_cast<std::int64_t>(doubtful));
    EXPECT_GT(accepted_.size(), 0U);
  }
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  Store& store_;
  const std::int64_t left_;
  std::set<Id> accepted_;
  std::set<Id> refused_;
  Duration slowest_{0};
  std::atomic<bool> over_ = false;
};

TEST_F(PostgresFleet, AcceptsSurviveTerminatedConnections) {
  const auto store = open();
  StoreDriver(*store).set_up();
  Accepting accepting(*store, 80);
  accepting.run([&] {
    for (int i = 0; i < 100 && !accepting.is_over(); ++i) {
      sql("SELECT pg_terminate_backend(pid, 100) FROM pg_stat_activity"
          " WHERE application_name = 'damper webhooks' AND pid <> pg_backend_pid()");
      std::this_thread::sleep_for(3ms);
    }
  });
}

TEST_F(PostgresFleet, AcceptsSurviveACrashOfTheServer) {
  const auto store = open();
  StoreDriver driver(*store);
  driver.set_up();
  Accepting accepting(*store, 60);
  accepting.run([&] {
    std::this_thread::sleep_for(50ms);
    store::PostgresCluster::get().stop(SIGQUIT);
    store::PostgresCluster::get().start();
    // Every connection is opened again.
    EXPECT_TRUE(eventually([&] {
      return static_cast<bool>(wait_for<StoreCounts>([&](auto done) { store->count(done); }));
    }));
  });
}

TEST_F(PostgresFleet, ABatchThatIsRefusedIsWrittenOneByOne) {
  const auto store = open();
  StoreDriver driver(*store);
  driver.set_up();
  std::vector<std::future<StoreResult<Accepted>>> results;
  for (const std::int64_t id : {1, 2, 3, 4}) {
    auto promise = std::make_shared<std::promise<StoreResult<Accepted>>>();
    results.push_back(promise->get_future());
    Message each = message(id);
    if (id == 2) each.type = "\xff is not UTF-8";
    store->accept({each, {kFirst}}, [promise](auto result) { promise->set_value(result); });
  }
  std::string outcomes;
  for (auto& result : results) outcomes += result.get() ? '+' : '-';
  EXPECT_EQ(outcomes, "+-++");
}

// Claims do not move rows: no index is written.
TEST_F(PostgresFleet, AClaimIsAHotUpdate) {
  const auto store = open();
  StoreDriver driver(*store);
  driver.set_up();
  accept_many(driver, 20);
  ASSERT_EQ(claim(driver).deliveries.size(), 20U);
  const auto connection = store::PostgresCluster::get().connect();
  std::int64_t updates = 0;
  std::int64_t hot = 0;
  EXPECT_TRUE(eventually([&] {
    const auto found =
        connection->query({{"hot",
                            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
                            " WHERE schemaname = $1 AND relname = 'delivery'"},
                           store::PgParameters().add_text(schema_)});
    updates = found->number(0, 0);
    hot = found->number(0, 1);
    (void)claim(driver, 0);  // The server reports when a session does something.
    return updates >= 20;
  }));
  EXPECT_EQ(hot, updates);
}

// Also by a plan that was made while the tables were empty.
TEST_F(PostgresFleet, AnAcceptReadsNoOtherMessages) {
  auto store = open();
  StoreDriver driver(*store);
  driver.set_up();
  constexpr std::int64_t kCount = 200;
  for (std::int64_t id = 1; id <= kCount; ++id) ASSERT_TRUE(driver.accept(message(id)));
  store.reset();  // The server counts what a session has done when it ends.
  const auto connection = store::PostgresCluster::get().connect();
  std::int64_t inserted = 0;
  std::int64_t read = 0;
  EXPECT_TRUE(eventually([&] {
    const auto found = connection->query({{"reads",
                                           "SELECT n_tup_ins, idx_tup_fetch + seq_tup_read"
                                           " FROM pg_stat_user_tables WHERE schemaname = $1"
                                           " AND relname = 'message'"},
                                          store::PgParameters().add_text(schema_)});
    inserted = found->number(0, 0);
    read = found->number(0, 1);
    return inserted == kCount;
  }));
  EXPECT_LE(read, 2 * kCount);
}

}  // namespace
}  // namespace damper::webhooks
