#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/webhooks/dispatch/dispatcher_testing.h"

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;

// A store of a fleet with one endpoint, whose breaker is half-open; claims find what the test sets,
// or nothing.
class OvertakenStore : public Store {
 public:
  static constexpr Id kEndpoint{1};
  static constexpr std::int64_t kLease = 7;

  static EndpointState half_open(std::int64_t epoch) {
    return {.endpoint = kEndpoint, .open_until = run::wall_time() - 1s, .trips = 1, .epoch = epoch};
  }
  void load(Done<Everything> done) override {
    Everything all;
    all.applications = {"default"};
    all.endpoints = {{.id = kEndpoint,
                      .application = "default",
                      .created = run::wall_time(),
                      .config = {.url = "http://127.0.0.1:9/", .secrets = {{.key = kTestSecret}}}}};
    if (is_half_open) all.states = {half_open(1)};
    done(std::move(all));
  }
  void find_due(Done<std::vector<EndpointDue>> done) override {
    done(std::vector<EndpointDue>{{kEndpoint, run::wall_time()}});
  }
  [[nodiscard]] bool is_shared() const noexcept override { return true; }
  void take_probe(ProbeRequest /*request*/, Done<ProbeGrant> done) override {
    ++probes;
    done(ProbeGrant{.granted = true, .lease = kLease});
  }
  void return_probe(Id endpoint, std::int64_t lease, Done<Nothing> done) override {
    EXPECT_EQ(endpoint, kEndpoint);
    returned.push_back(lease);
    done(Nothing{});
  }
  void claim(Id /*endpoint*/, UnixTime /*now*/, std::size_t /*most*/, ClaimFilter /*filter*/,
             std::vector<Id> /*skip*/, Done<Claimed> done) override {
    ++claims;
    if (!on_claim) return done(Claimed{});
    std::exchange(on_claim, nullptr)(std::move(done));
  }
  void find_old(DeliveryPlace /*place*/, UnixTime /*before*/, std::size_t /*most*/,
                Done<OldDeliveries> done) override {
    done(OldDeliveries{});
  }

  void watch(std::function<void(StoreChange)> on_change) override { report = std::move(on_change); }

  std::function<void(StoreChange)> report;
  std::function<void(Done<Claimed>)> on_claim;  // the next one
  bool is_half_open = true;
  int claims = 0;
  int probes = 0;
  std::vector<std::int64_t> returned;

  // Not used.
  void put_application(std::string, UnixTime, Done<Nothing> done) override { fail(done); }
  void remove_application(std::string, Done<Nothing> done) override { fail(done); }
  void put_endpoint(Endpoint, Done<Nothing> done) override { fail(done); }
  void remove_endpoint(Id, Done<Nothing> done) override { fail(done); }
  void put_state(EndpointState, Done<Nothing> done) override { fail(done); }
  void put_setting(std::string, std::string, Done<Nothing> done) override { fail(done); }
  void accept(NewMessage, Done<Accepted> done) override { fail(done); }
  void settle(Settlement, Done<bool> done) override { fail(done); }
  void list_messages(MessageFilter, Page, Done<std::vector<Message>> done) override { fail(done); }
  void find_message(std::string, Id, Done<MessageStatus> done) override { fail(done); }
  void list_attempts(AttemptFilter, Page, Done<std::vector<Attempt>> done) override { fail(done); }
  void list_dead(Id, Page, Done<std::vector<DeadLetter>> done) override { fail(done); }
  void redrive(RedriveFilter, UnixTime, Done<Redriven> done) override { fail(done); }
  void count(Done<StoreCounts> done) override { fail(done); }
  void prune(Retention, Done<std::int64_t> done) override { fail(done); }

 private:
  template <class T>
  static void fail(const Done<T>& done) {
    ADD_FAILURE() << "an unexpected call of the store";
    done(unexpected(StoreError{}));
  }
};

TEST(DispatcherFleet, AProbeThatFindsNothingToSendIsReturned) {
  http::Loop loop;
  OvertakenStore store;
  Directory directory;
  Dispatcher dispatcher(loop, store, directory, test_options(), [](const DeliveryEvent&) {});
  dispatcher.start([](const std::optional<std::string>& error) { EXPECT_FALSE(error); });
  ASSERT_TRUE(turn_until(loop, [&] { return !store.returned.empty(); }));
  EXPECT_EQ(store.probes, 1);
  EXPECT_EQ(store.returned, std::vector<std::int64_t>{OvertakenStore::kLease});
  // The next delivery needs a probe of its own.
  const Id endpoint = OvertakenStore::kEndpoint;
  dispatcher.on_due({&endpoint, 1}, run::wall_time());
  ASSERT_TRUE(turn_until(loop, [&] { return store.returned.size() == 2; }));
  EXPECT_EQ(store.probes, 2);
}

TEST(DispatcherFleet, AStateThatAClaimFindsIsAdoptedBeforeAnythingIsSent) {
  http::Loop loop;
  OvertakenStore store;
  store.is_half_open = false;
  store.on_claim = [](const Store::Done<Claimed>& done) {
    Claimed claimed;
    claimed.newer_state = {.endpoint = OvertakenStore::kEndpoint,
                           .open_until = run::wall_time() + 1h,
                           .trips = 1,
                           .epoch = 3};
    claimed.next_due = run::wall_time();
    done(std::move(claimed));
  };
  Directory directory;
  Dispatcher dispatcher(loop, store, directory, test_options(), [](const DeliveryEvent&) {});
  dispatcher.start([](const std::optional<std::string>& error) { EXPECT_FALSE(error); });
  ASSERT_TRUE(turn_until(loop, [&] {
    return dispatcher.status(OvertakenStore::kEndpoint).breaker == admit::BreakerState::open;
  }));
  EXPECT_EQ(store.claims, 1);
}

// A breaker that opens at another dispatcher and becomes half-open during a claim of this one.
TEST(DispatcherFleet, WhatWasClaimedIsNotSentWithoutTheProbesLease) {
  http::Loop loop;
  OvertakenStore store;
  store.is_half_open = false;
  Store::Done<Claimed> claim;
  store.on_claim = [&](Store::Done<Claimed> done) { claim = std::move(done); };
  Directory directory;
  Dispatcher dispatcher(loop, store, directory, test_options(), [](const DeliveryEvent&) {});
  dispatcher.start([](const std::optional<std::string>& error) { EXPECT_FALSE(error); });
  ASSERT_TRUE(turn_until(loop, [&] { return claim != nullptr; }));
  StoreChange change;
  change.states = {OvertakenStore::half_open(2)};
  store.report(std::move(change));
  ASSERT_TRUE(turn_until(loop, [&] {
    return dispatcher.status(OvertakenStore::kEndpoint).breaker == admit::BreakerState::half_open;
  }));
  EXPECT_EQ(store.probes, 0);
  Claimed claimed;
  claimed.deliveries.push_back(
      {.endpoint = OvertakenStore::kEndpoint,
       .due = run::wall_time(),
       .since = run::wall_time(),
       .message = std::make_shared<const Message>(
           Message{.id = Id{1}, .application = "default", .type = "a", .payload = "{}"})});
  claim(std::move(claimed));
  ASSERT_TRUE(turn_until(loop, [&] { return store.probes == 1; }));
  EXPECT_EQ(dispatcher.totals().attempts, 0U);
}

TEST(DispatcherFleet, AHoldThatAnotherDispatcherMakesShorterEnds) {
  http::Loop loop;
  OvertakenStore store;
  Directory directory;
  Dispatcher dispatcher(loop, store, directory, test_options(), [](const DeliveryEvent&) {});
  dispatcher.start([](const std::optional<std::string>& error) { EXPECT_FALSE(error); });
  ASSERT_TRUE(turn_until(loop, [&] { return store.probes == 1; }));
  const auto report = [&](std::optional<Duration> length) {
    const HoldOrder order{.off = true, .reason = "INC-7", .length = length};
    StoreChange change;
    change.settings = {
        {hold_setting({}, Hold::deliveries), hold_text({}, order, run::wall_time())}};
    store.report(std::move(change));
  };
  const auto is_held = [&] { return dispatcher.holding({}, Hold::deliveries).off; };
  report(std::nullopt);
  ASSERT_TRUE(turn_until(loop, is_held));
  const Id endpoint = OvertakenStore::kEndpoint;
  dispatcher.on_due({&endpoint, 1}, run::wall_time());
  report(50ms);
  ASSERT_TRUE(turn_until(loop, [&] { return store.probes == 2; }));
  EXPECT_FALSE(is_held());
}

}  // namespace
}  // namespace damper::webhooks
