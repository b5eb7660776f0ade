#pragma once

// The behaviour of every Store. A test of each one includes this file, and has what opens it:
// open_contract_store().

#include "damper/webhooks/store/store_contract_testing.h"

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;

class StoreContract : public testing::Test {
 protected:
  static constexpr Id kFirst = StoreDriver::kFirst;
  static constexpr Id kSecond = StoreDriver::kSecond;
  static constexpr UnixTime kNow = at(5000);

  void SetUp() override { driver_.set_up(); }
  static Message message(std::int64_t id, std::string key = {}) {
    return StoreDriver::message(id, std::move(key));
  }
  // Message ids of what can be claimed by ordering key.
  std::string by_key(UnixTime now = kNow, std::vector<Id> skip = {}) {
    return StoreDriver::ids(driver_.claim(now, 100, true, std::move(skip)));
  }
  Delivery claim_one(std::int64_t id, UnixTime now = kNow) {
    for (Delivery& delivery : driver_.claim(now).deliveries) {
      if (number(delivery.message->id) == id) return std::move(delivery);
    }
    ADD_FAILURE() << "message " << id << " cannot be claimed";
    return {};
  }
  void bury(std::int64_t first, std::int64_t last) {
    for (std::int64_t id = first; id <= last; ++id) {
      ASSERT_TRUE(driver_.accept(message(id)));
      Settlement dead = StoreDriver::settlement(claim_one(id), Fate::dead);
      dead.attempt.time = at(id * 1000);
      ASSERT_TRUE(driver_.settle(std::move(dead)));
    }
  }

  TestFolder folder_;
  std::unique_ptr<Store> store_ = open_contract_store(folder_);
  StoreDriver driver_{*store_};
};

TEST_F(StoreContract, ConfigurationAndStateAreLoaded) {
  Endpoint changed = StoreDriver::endpoint(kFirst);
  changed.version = 1;
  changed.config.disabled = true;
  changed.config.ordering = Ordering::by_key_block;
  ASSERT_TRUE(driver_.put(changed));
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) {
    store_->put_state({kSecond, at(7), at(8), 3, at(6)}, done);
  }));
  const Store::Everything all = driver_.load();
  EXPECT_EQ(all.applications, std::vector<std::string>{"shop"});
  ASSERT_EQ(all.endpoints.size(), 2U);
  EXPECT_EQ(all.endpoints[0].config, changed.config);
  EXPECT_EQ(all.endpoints[1].id, kSecond);
  EXPECT_EQ(all.endpoints[1].application, "shop");
  EXPECT_EQ(all.endpoints[1].created, at(2));
  ASSERT_EQ(all.states.size(), 1U);
  EXPECT_EQ(all.states[0].endpoint, kSecond);
  EXPECT_EQ(all.states[0].failing_since, at(6));
  EXPECT_EQ(all.states[0].blocked_until, at(7));
  EXPECT_EQ(all.states[0].open_until, at(8));
  EXPECT_EQ(all.states[0].trips, 3U);
  const EndpointState closed{.endpoint = kSecond, .epoch = all.states[0].epoch};
  ASSERT_TRUE(wait_for<Store::Nothing>([&](auto done) { store_->put_state(closed, done); }));
  EXPECT_EQ(driver_.load().states.at(0).failing_since, std::nullopt);
}

TEST_F(StoreContract, ARedriveSelectsByTypeAndReasonAndCanDelete) {
  bury(1, 3);
  Message other = message(4);
  other.type = "order.lost";
  ASSERT_TRUE(driver_.accept(other));
  Settlement gone = StoreDriver::settlement(claim_one(4), Fate::dead);
  gone.reason = "pushed_back";
  ASSERT_TRUE(driver_.settle(std::move(gone)));
  const auto count = [&](RedriveFilter filter) {
    filter.endpoint = kFirst;
    filter.dry_run = true;
    return driver_.redrive(filter, kNow).count;
  };
  EXPECT_EQ(count({}), 4);
  EXPECT_EQ(count({.type = "order.lost"}), 1);
  EXPECT_EQ(count({.type = "order.paid"}), 3);
  EXPECT_EQ(count({.reason = "pushed_back"}), 1);
  EXPECT_EQ(count({.type = "order.paid", .reason = "pushed_back"}), 0);
  const Redriven deleted =
      driver_.redrive({.endpoint = kFirst, .type = "order.paid", .discard = true, .most = 2}, kNow);
  EXPECT_EQ(deleted.count, 2);
  EXPECT_EQ(deleted.remaining, 1);
  EXPECT_EQ(driver_.count().dead, 2);
  EXPECT_EQ(driver_.count().waiting, 0);
  EXPECT_EQ(driver_.redrive({.endpoint = kFirst, .reason = "pushed_back"}, kNow).count, 1);
  EXPECT_EQ(driver_.count().waiting, 1);
}

TEST_F(StoreContract, ASettingIsReplacedAndRemoved) {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const auto put = [&](const char* name, const char* text) {
    return static_cast<bool>(wait_for<Store::Nothing>(
        [&](auto done) { store_->put_setting(name, text, std::move(done)); }));
  };
  ASSERT_TRUE(put("b", "1"));
  ASSERT_TRUE(put("a", "2"));
  ASSERT_TRUE(put("b", "3"));
  EXPECT_EQ(driver_.load().settings, (Settings{{"a", "2"}, {"b", "3"}}));
  ASSERT_TRUE(put("a", ""));
  ASSERT_TRUE(put("none", ""));
  EXPECT_EQ(driver_.load().settings, (Settings{{"b", "3"}}));
}

TEST_F(StoreContract, WhatDoesNotExistIsNotFound) {
  Endpoint orphan = StoreDriver::endpoint(Id{9});
  orphan.application = "none";
  Message stray = message(1);
  stray.application = "none";
  const auto kind = [](const auto& result) {
    return result ? std::nullopt : std::optional(result.error().kind);
  };
  EXPECT_EQ(kind(driver_.put(orphan)), StoreError::Kind::not_found);
  EXPECT_EQ(kind(driver_.accept(stray)), StoreError::Kind::not_found);
  EXPECT_EQ(kind(driver_.remove(Id{9})), StoreError::Kind::not_found);
  EXPECT_EQ(kind(driver_.remove("none")), StoreError::Kind::not_found);
  EXPECT_EQ(kind(driver_.find(1)), StoreError::Kind::not_found);
  EXPECT_EQ(driver_.claim(kNow, 10, false, {}, Id{9}).deliveries.size(), 0U);
}

TEST_F(StoreContract, ADeliveredMessageIsLoggedAndKept) {
  Message sent = message(1, "key");
  sent.channel = "eu";
  sent.idempotency_key = "once";
  sent.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  ASSERT_TRUE(driver_.accept(sent));
  const Claimed claimed = driver_.claim(kNow);
  ASSERT_EQ(claimed.deliveries.size(), 1U);
  const Delivery& delivery = claimed.deliveries[0];
  EXPECT_EQ(delivery.endpoint, kFirst);
  EXPECT_EQ(delivery.due, at(1000));
  EXPECT_EQ(delivery.attempts, 0U);
  const Message& read = *delivery.message;
  EXPECT_EQ(std::tie(read.id, read.application, read.type, read.channel, read.ordering_key,
                     read.idempotency_key, read.payload, read.created, read.traceparent),
            std::tie(sent.id, sent.application, sent.type, sent.channel, sent.ordering_key,
                     sent.idempotency_key, sent.payload, sent.created, sent.traceparent));
  Settlement settlement = StoreDriver::settlement(delivery, Fate::delivered);
  settlement.attempt.duration = 12345ns;
  settlement.attempt.error = "reset";
  settlement.attempt.answer = std::string("\0\xff", 2);
  EXPECT_TRUE(*driver_.settle(settlement));

  EXPECT_EQ(StoreDriver::ids(driver_.claim(kNow)), "");
  EXPECT_TRUE(driver_.find_due().empty());
  EXPECT_TRUE(driver_.find(1)->waiting.empty());
  const auto attempts = driver_.attempts({.message = Id{1}});
  ASSERT_EQ(attempts.size(), 1U);
  const Attempt& attempt = attempts[0];
  EXPECT_EQ(attempt.endpoint, kFirst);
  EXPECT_EQ(attempt.attempt, 1U);
  EXPECT_EQ(attempt.time, at(2000));
  EXPECT_EQ(attempt.duration, 12345ns);
  EXPECT_EQ(attempt.status, 204);
  EXPECT_EQ(attempt.outcome, "success");
  EXPECT_EQ(attempt.error, "reset");
  EXPECT_EQ(attempt.answer, std::string("\0\xff", 2));
}

TEST_F(StoreContract, AFailedDeliveryIsDueAgainLater) {
  ASSERT_TRUE(driver_.accept(message(1), {kFirst, kSecond}));
  Settlement again = StoreDriver::settlement(claim_one(1), Fate::again, at(9000));
  again.previous_delay = 77ms;
  ASSERT_TRUE(*driver_.settle(again));
  Claimed claimed = driver_.claim(at(8999));
  EXPECT_EQ(StoreDriver::ids(claimed), "");
  EXPECT_EQ(claimed.next_due, at(9000));
  claimed = driver_.claim(at(9000));
  ASSERT_EQ(StoreDriver::ids(claimed), "1");
  EXPECT_EQ(claimed.deliveries[0].attempts, 1U);
  EXPECT_EQ(claimed.deliveries[0].previous_delay, 77ms);
  EXPECT_EQ(claimed.next_due, std::nullopt);
  const auto due = driver_.find_due();
  ASSERT_EQ(due.size(), 2U);
  EXPECT_EQ(due[0].due, at(9000));
  EXPECT_EQ(due[1].due, at(1000));
}

TEST_F(StoreContract, ADeadDeliveryIsADeadLetter) {
  ASSERT_TRUE(driver_.accept(message(1), {kFirst, kSecond}));
  ASSERT_TRUE(driver_.settle(claim_one(1), Fate::dead));
  const auto status = driver_.find(1);
  ASSERT_TRUE(status);
  ASSERT_EQ(status->waiting.size(), 1U);
  EXPECT_EQ(status->waiting[0].endpoint, kSecond);
  ASSERT_EQ(status->dead.size(), 1U);
  EXPECT_EQ(status->dead[0].endpoint, kFirst);
  EXPECT_EQ(status->dead[0].message, Id{1});
  EXPECT_EQ(status->dead[0].time, at(2000));
  EXPECT_EQ(status->dead[0].attempts, 1U);
  EXPECT_EQ(status->dead[0].reason, "attempts_spent");
  const StoreCounts counts = driver_.count();
  EXPECT_EQ(counts.messages, 1);
  EXPECT_EQ(counts.waiting, 1);
  EXPECT_EQ(counts.dead, 1);
  EXPECT_EQ(counts.attempts, 1);
}

TEST_F(StoreContract, AHeldDeliveryIsNotLogged) {
  ASSERT_TRUE(driver_.accept(message(1)));
  Settlement held = StoreDriver::settlement(claim_one(1), Fate::again, at(9000));
  held.log_attempt = false;
  held.attempts = 0;
  ASSERT_TRUE(*driver_.settle(held));
  EXPECT_EQ(driver_.count().attempts, 0);
  EXPECT_EQ(driver_.claim(at(9000)).deliveries.at(0).attempts, 0U);
}

// Invariant (3).
TEST_F(StoreContract, ALostClaimChangesNothing) {
  ASSERT_TRUE(driver_.accept(message(1)));
  const Delivery delivery = claim_one(1);
  ASSERT_TRUE(driver_.settle(delivery, Fate::again, at(9000)));
  for (const Fate fate : {Fate::delivered, Fate::again, Fate::dead}) {
    EXPECT_FALSE(driver_.settle(delivery, fate, at(10'000)));
  }
  EXPECT_EQ(StoreDriver::ids(driver_.claim(at(9000))), "1");
  EXPECT_EQ(driver_.count().attempts, 1);
  EXPECT_EQ(driver_.count().dead, 0);
}

TEST_F(StoreContract, TheOldestDueAreClaimedWithoutThoseInFlight) {
  for (const std::int64_t id : {4, 2, 1, 3}) ASSERT_TRUE(driver_.accept(message(id)));
  ASSERT_TRUE(driver_.settle(claim_one(1), Fate::again, at(2000)));
  EXPECT_EQ(StoreDriver::ids(driver_.claim(kNow)), "2 3 4 1");
  Claimed claimed = driver_.claim(kNow, 2, false, {Id{2}, Id{9}});
  EXPECT_EQ(StoreDriver::ids(claimed), "3 4");
  EXPECT_EQ(claimed.next_due, at(2000));
  claimed = driver_.claim(at(1999), 9, false, {Id{2}, Id{3}});
  EXPECT_EQ(StoreDriver::ids(claimed), "4");
  EXPECT_EQ(claimed.next_due, at(2000));
  // What is in flight is not due.
  EXPECT_EQ(driver_.claim(kNow, 9, false, {Id{1}, Id{2}, Id{3}, Id{4}}).next_due, std::nullopt);
  EXPECT_EQ(driver_.claim(kNow, 0).next_due, at(1000));
}

TEST_F(StoreContract, ByKeyTheOldestOfEachKeyIsClaimed) {
  for (const auto& [id, key] :
       {std::pair(1, "a"), {2, "a"}, {3, ""}, {4, "b"}, {5, ""}, {6, "b"}}) {
    ASSERT_TRUE(driver_.accept(message(id, key)));
  }
  EXPECT_EQ(by_key(), "1 3 4 5");
  EXPECT_EQ(by_key(kNow, {Id{1}, Id{4}}), "3 5");
  EXPECT_EQ(StoreDriver::ids(driver_.claim(kNow)), "1 2 3 4 5 6");
  // One that fails blocks the next one, though it is due later.
  ASSERT_TRUE(driver_.settle(claim_one(1), Fate::again, at(9000)));
  EXPECT_EQ(by_key(), "3 4 5");
  EXPECT_EQ(driver_.claim(kNow, 9, true, {Id{3}, Id{4}, Id{5}}).next_due, at(9000));
  ASSERT_TRUE(driver_.settle(claim_one(1, at(9000)), Fate::dead));
  EXPECT_EQ(by_key(), "2 3 4 5");
  ASSERT_TRUE(driver_.settle(claim_one(2), Fate::delivered));
  ASSERT_TRUE(driver_.settle(claim_one(4), Fate::delivered));
  EXPECT_EQ(by_key(), "3 5 6");
  // Keys are of an endpoint.
  ASSERT_TRUE(driver_.accept(message(7, "b"), {kSecond}));
  EXPECT_EQ(StoreDriver::ids(driver_.claim(kNow, 9, true, {}, kSecond)), "7");
}

TEST_F(StoreContract, AnOlderMessageThatArrivesLaterIsTheFirstOfItsKey) {
  ASSERT_TRUE(driver_.accept(message(5, "a")));
  const Delivery fifth = claim_one(5);
  ASSERT_TRUE(driver_.accept(message(3, "a")));
  ASSERT_TRUE(driver_.accept(message(4, "a")));
  EXPECT_EQ(by_key(), "3");
  EXPECT_EQ(by_key(kNow, {Id{5}}), "");  // Its key has one in flight.
  ASSERT_TRUE(driver_.settle(fifth, Fate::again, at(2000)));
  EXPECT_EQ(by_key(kNow, {Id{9}}), "3");
  ASSERT_TRUE(driver_.settle(claim_one(3), Fate::delivered));
  EXPECT_EQ(by_key(), "4");
}

TEST_F(StoreContract, ARedrivenMessageIsTheFirstOfItsKey) {
  ASSERT_TRUE(driver_.accept(message(1, "a")));
  ASSERT_TRUE(driver_.accept(message(2, "a")));
  ASSERT_TRUE(driver_.settle(claim_one(1), Fate::dead));
  EXPECT_EQ(by_key(), "2");
  EXPECT_EQ(driver_.redrive({.endpoint = kFirst}, kNow).count, 1);
  EXPECT_EQ(by_key(kNow, {Id{2}}), "");
  EXPECT_EQ(by_key(), "1");
}

TEST_F(StoreContract, TheFirstDueOfAnEndpointIsThatOfItsOrdering) {
  Message old = message(2, "a");
  old.created = at(500);
  ASSERT_TRUE(driver_.accept(message(1, "a")));
  ASSERT_TRUE(driver_.accept(old));
  EXPECT_EQ(driver_.find_due().at(0).due, at(500));
  Endpoint ordered = StoreDriver::endpoint(kFirst);
  ordered.version = 1;
  ordered.config.ordering = Ordering::by_key_block;
  ASSERT_TRUE(driver_.put(ordered));
  EXPECT_EQ(driver_.find_due().at(0).due, at(1000));
}

TEST_F(StoreContract, AnIdempotencyKeyIsOfOneMessage) {
  Message first = message(1);
  first.idempotency_key = "k";
  Message repeated = first;
  repeated.id = Id{2};
  Message other = repeated;
  other.payload += "!";
  Message of_type = repeated;
  of_type.type = "order.refunded";
  EXPECT_FALSE(driver_.accept(first)->repeated);
  const auto accepted = driver_.accept(repeated);
  ASSERT_TRUE(accepted);
  EXPECT_TRUE(accepted->repeated);
  EXPECT_EQ(accepted->message, Id{1});
  for (const Message& conflicting : {other, of_type}) {
    const auto refused = driver_.accept(conflicting);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, StoreError::Kind::conflict);
  }
  EXPECT_EQ(driver_.count().messages, 1);
  EXPECT_EQ(driver_.count().waiting, 1);
  // Keys are of an application.
  ASSERT_TRUE(
      wait_for<Store::Nothing>([&](auto done) { store_->put_application("other", at(1), done); }));
  other.application = "other";
  EXPECT_FALSE(driver_.accept(other, {})->repeated);
}

TEST_F(StoreContract, AnIdThatExistsIsRefused) {
  ASSERT_TRUE(driver_.accept(message(1)));
  Message second = message(1);
  second.payload = "other";
  const auto refused = driver_.accept(second, {kSecond});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::exists);
  EXPECT_EQ(driver_.find(1)->message.payload, "payload 1");
  EXPECT_EQ(driver_.count().waiting, 1);
}

TEST_F(StoreContract, AWriteThatFailsByItselfFailsAlone) {
  std::vector<std::future<StoreResult<Accepted>>> results;
  for (const std::int64_t id : {1, 2, 3, 1, 4}) {
    auto promise = std::make_shared<std::promise<StoreResult<Accepted>>>();
    results.push_back(promise->get_future());
    Message each = message(id);
    if (id == 2 || id == 3) each.idempotency_key = "k";  // two in one batch
    store_->accept({each, {kFirst}}, [promise](auto result) { promise->set_value(result); });
  }
  std::string outcomes;
  for (auto& result : results) {
    const auto accepted = result.get();
    outcomes += accepted ? '+' : accepted.error().kind == StoreError::Kind::conflict ? 'c' : 'e';
  }
  EXPECT_EQ(outcomes, "++ce+");
  EXPECT_EQ(StoreDriver::ids(driver_.claim(kNow)), "1 2 4");
}

TEST_F(StoreContract, OnlyEndpointsOfTheApplicationGetAMessage) {
  ASSERT_TRUE(
      wait_for<Store::Nothing>([&](auto done) { store_->put_application("other", at(1), done); }));
  Message foreign = message(1);
  foreign.application = "other";
  ASSERT_TRUE(driver_.accept(foreign, {kFirst, Id{99}}));
  EXPECT_EQ(driver_.count().waiting, 0);
  EXPECT_FALSE(driver_.find(1));
  EXPECT_TRUE(driver_.find(1, "other"));
  EXPECT_EQ(driver_.messages({.application = "shop"}), "");
  Endpoint stolen = StoreDriver::endpoint(kFirst);
  stolen.application = "other";
  EXPECT_FALSE(driver_.put(stolen));
}

TEST_F(StoreContract, ARemovedEndpointTakesItsDeliveriesAndDeadLetters) {
  bury(1, 2);
  ASSERT_TRUE(driver_.accept(message(3), {kFirst, kSecond}));
  const Delivery delivery = claim_one(3);
  ASSERT_TRUE(driver_.remove(kFirst));
  EXPECT_FALSE(driver_.settle(delivery, Fate::delivered));
  EXPECT_FALSE(driver_.settle(delivery, Fate::dead));
  EXPECT_EQ(driver_.count().dead, 0);
  EXPECT_EQ(driver_.count().waiting, 1);
  EXPECT_EQ(driver_.load().endpoints.size(), 1U);
  EXPECT_EQ(driver_.find_due().size(), 1U);
  EXPECT_EQ(driver_.count().messages, 3);
}

TEST_F(StoreContract, ARemovedApplicationTakesEverything) {
  bury(1, 1);
  ASSERT_TRUE(driver_.accept(message(2), {kFirst, kSecond}));
  const Delivery delivery = claim_one(2);
  ASSERT_TRUE(driver_.remove("shop"));
  EXPECT_FALSE(driver_.settle(delivery, Fate::dead));
  const StoreCounts counts = driver_.count();
  EXPECT_EQ(counts.messages + counts.waiting + counts.dead, 0);
  const Store::Everything all = driver_.load();
  EXPECT_TRUE(all.applications.empty());
  EXPECT_TRUE(all.endpoints.empty());
}

TEST_F(StoreContract, ARedriveSpreadsDeadLettersByItsRate) {
  bury(1, 5);
  EXPECT_EQ(driver_.redrive({.endpoint = kFirst, .dry_run = true}, kNow).count, 5);
  EXPECT_EQ(driver_.redrive({.endpoint = kSecond, .dry_run = true}, kNow).count, 0);
  EXPECT_EQ(driver_.count().dead, 5);
  Redriven redriven = driver_.redrive({.endpoint = kFirst, .rate_per_second = 10, .most = 2}, kNow);
  EXPECT_EQ(redriven.count, 2);
  EXPECT_EQ(redriven.remaining, 3);
  redriven = driver_.redrive(
      {.endpoint = kFirst, .from = at(4000), .until = at(4999), .rate_per_second = 10},
      kNow + 200ms);
  EXPECT_EQ(redriven.count, 1);
  EXPECT_EQ(redriven.remaining, 0);
  EXPECT_EQ(driver_.redrive({.endpoint = kFirst, .message = Id{5}}, at(9000)).count, 1);
  EXPECT_EQ(driver_.dead().size(), 1U);
  std::string due;
  for (const Delivery& delivery : driver_.claim(at(9000)).deliveries) {
    due += std::to_string(number(delivery.message->id)) + "@" +
           std::to_string(delivery.due.time_since_epoch().count()) + " ";
    EXPECT_EQ(delivery.attempts, 0U);
  }
  EXPECT_EQ(due, "1@5000 2@5100 4@5200 5@9000 ");
}

TEST_F(StoreContract, ListsArePagedNewestFirst) {
  bury(1, 3);
  Message refund = message(4);
  refund.type = "order.refunded";
  ASSERT_TRUE(driver_.accept(refund, {kSecond}));
  ASSERT_TRUE(driver_.accept(message(5)));
  EXPECT_EQ(driver_.messages({.application = "shop"}), "5 4 3 2 1");
  EXPECT_EQ(driver_.messages({.application = "shop"}, {.limit = 2}), "5 4");
  EXPECT_EQ(driver_.messages({.application = "shop"}, {.limit = 2, .before = 4}), "3 2");
  EXPECT_EQ(
      driver_.messages({.application = "shop", .type = "order.paid"}, {.limit = 2, .before = 5}),
      "3 2");
  EXPECT_EQ(driver_.messages({.application = "shop", .endpoint = kSecond}), "4");
  EXPECT_EQ(driver_.messages({.application = "shop", .endpoint = kFirst}), "5 3 2 1");
  EXPECT_EQ(driver_.messages({.application = "shop", .type = "order.paid", .endpoint = kSecond}),
            "");
  const auto letters = driver_.dead(kFirst, {.limit = 2, .before = 3});
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0].message, Id{2});
  EXPECT_EQ(letters[1].message, Id{1});
  const auto attempts = driver_.attempts({.endpoint = kFirst}, {.limit = 2});
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].message, Id{3});
  const auto rest =
      driver_.attempts({.endpoint = kFirst}, {.limit = 9, .before = attempts[1].number});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].message, Id{1});
  EXPECT_EQ(driver_.attempts({.message = Id{2}}).size(), 1U);
  EXPECT_TRUE(driver_.attempts({.endpoint = kSecond}).empty());
}

TEST_F(StoreContract, RetentionRemovesWhatNobodyWaitsFor) {
  bury(1, 2);  // dead at 1000 and 2000
  ASSERT_TRUE(driver_.accept(message(3)));
  ASSERT_TRUE(driver_.accept(message(4)));
  ASSERT_TRUE(driver_.settle(claim_one(4), Fate::delivered));
  Message young = message(5);
  young.created = at(3000);
  ASSERT_TRUE(driver_.accept(young, {}));
  const Retention retention{
      .messages_before = at(3000), .dead_before = at(2000), .most_attempts = 1, .batch = 2};
  EXPECT_EQ(driver_.prune(retention), 1 + 2 + 2);  // a dead letter, two attempts, 1 and 4
  EXPECT_EQ(driver_.messages({.application = "shop"}), "5 3 2");
  EXPECT_EQ(driver_.count().attempts, 1);
  EXPECT_EQ(driver_.dead().at(0).message, Id{2});
  EXPECT_EQ(driver_.prune(retention), 0);
}

TEST_F(StoreContract, RetentionPassesByManyThatWait) {
  for (std::int64_t id = 1; id <= 25; ++id) {
    ASSERT_TRUE(driver_.accept(message(id), id == 25 ? std::vector<Id>{} : std::vector{kFirst}));
  }
  const Retention retention{.messages_before = at(3000), .dead_before = {}, .batch = 1};
  std::int64_t rows = 0;
  for (int call = 0; call < 6; ++call) rows += driver_.prune(retention);
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(driver_.count().messages, 24);
}

}  // namespace
}  // namespace damper::webhooks
