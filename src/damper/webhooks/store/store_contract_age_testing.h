#pragma once

// The behaviour of every Store for the age of deliveries, and for claims of first attempts.

#include "damper/webhooks/store/store_contract_cases_testing.h"

namespace damper::webhooks {
namespace {

TEST_F(StoreContract, OldDeliveriesAreFoundInOrderOfTheirMessages) {
  const auto id_at = [](std::int64_t ms) { return number(first_id(at(ms))); };
  const auto old_message = [&](std::int64_t ms) {
    Message old = message(id_at(ms), ms == 2000 ? "key" : "");
    old.created = at(ms);
    return old;
  };
  for (const std::int64_t ms : {1000, 2000, 3000}) {
    ASSERT_TRUE(driver_.accept(old_message(ms), {kFirst, kSecond}));
  }
  // "message/endpoint", the message by its time.
  const auto find = [&](DeliveryPlace place, std::int64_t before, std::size_t most) {
    auto old = wait_for<OldDeliveries>(
        [&](auto done) { store_->find_old(place, at(before), most, done); });
    EXPECT_TRUE(old);
    return old ? *std::move(old) : OldDeliveries{};
  };
  const auto text = [&](const OldDeliveries& old) {
    std::string found;
    for (const Delivery& one : old.deliveries) {
      found += std::to_string(one.message->created.time_since_epoch().count()) + "/" +
               std::to_string(number(one.endpoint)) + " ";
    }
    return found;
  };
  EXPECT_EQ(text(find({}, 3000, 10)), "1000/1 1000/2 2000/1 2000/2 ");
  EXPECT_FALSE(find({}, 3000, 10).next);
  OldDeliveries page = find({}, 9000, 4);
  EXPECT_EQ(text(page), "1000/1 1000/2 2000/1 2000/2 ");
  ASSERT_TRUE(page.next);
  EXPECT_EQ(text(find(*page.next, 9000, 4)), "3000/1 3000/2 ");
  // They can be settled as they are; and not if they were claimed meanwhile.
  ASSERT_TRUE(driver_.settle(page.deliveries.at(2), Fate::dead));
  EXPECT_EQ(driver_.count().dead, 1);
  EXPECT_FALSE(driver_.settle(page.deliveries.at(2), Fate::dead));
  // The age of a redriven one counts from its redrive, also after a retry.
  ASSERT_EQ(driver_.redrive({.endpoint = kFirst}, at(8000)).count, 1);
  EXPECT_EQ(text(find({}, 8000, 10)), "1000/1 1000/2 2000/2 3000/1 3000/2 ");
  const auto claimed = driver_.claim(at(8000));
  ASSERT_EQ(claimed.deliveries.size(), 3U);
  EXPECT_EQ(claimed.deliveries[0].since, at(1000));
  EXPECT_EQ(claimed.deliveries[2].since, at(8000));
  ASSERT_TRUE(driver_.settle(claimed.deliveries[2], Fate::again, at(9000)));
  EXPECT_EQ(text(find({}, 9000, 10)), "1000/1 1000/2 2000/1 2000/2 3000/1 3000/2 ");
  EXPECT_EQ(find({}, 9000, 10).deliveries.at(2).since, at(8000));
}

TEST_F(StoreContract, OnlyFirstAttemptsAreClaimedWhereThatIsAsked) {
  for (const std::int64_t id : {1, 2, 3}) ASSERT_TRUE(driver_.accept(message(id)));
  const auto all = driver_.claim(at(1000));
  ASSERT_TRUE(driver_.settle(all.deliveries.at(0), Fate::again, at(1500)));
  ASSERT_TRUE(driver_.settle(all.deliveries.at(2), Fate::again, at(3000)));
  const auto firsts = [&](bool by_key, std::int64_t from) {
    auto claimed = wait_for<Claimed>([&](auto done) {
      store_->claim(kFirst, at(2000), 10, {.by_key = by_key, .firsts_from = at(from)}, {}, done);
    });
    EXPECT_TRUE(claimed);
    EXPECT_FALSE(claimed->next_due) << "what is left are retries";
    return StoreDriver::ids(*claimed);
  };
  for (const bool by_key : {false, true}) {
    EXPECT_EQ(firsts(by_key, 0), "2");
    EXPECT_EQ(firsts(by_key, 1000), "2");
    EXPECT_EQ(firsts(by_key, 1001), "");
  }
  EXPECT_EQ(driver_.ids(driver_.claim(at(2000))), "2 1");
}

}  // namespace
}  // namespace damper::webhooks
