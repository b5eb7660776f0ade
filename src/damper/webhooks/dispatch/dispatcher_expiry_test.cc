// The age of deliveries.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "damper/webhooks/dispatch/dispatcher.h"
#include "damper/webhooks/dispatch/dispatcher_testing.h"

namespace damper::webhooks {
namespace {

using std::chrono::hours, std::chrono::milliseconds;
using Kind = DeliveryEvent::Kind;

[[nodiscard]] DispatcherOptions ten_seconds() {
  DispatcherOptions options = test_options();
  const std::vector<Duration> steps(5, milliseconds(20));
  options.policy.retries = *schedule::ListedDelays::from(steps, Percent(50));
  options.policy.max_age = std::chrono::seconds(10);
  return options;
}

class DispatcherExpiry : public testing::Test {
 protected:
  Id send_old(TestDispatcher& test, Id endpoint) {
    return test.send_to({endpoint}, "test.event", {}, hours(2));
  }
  static HoldScope scope_of(Id endpoint) {
    return {.application = "default", .endpoint = endpoint};
  }

  http::Loop loop;
  TestFolder folder;
  std::string file = folder.file("webhooks.db");
};

// (5)
TEST_F(DispatcherExpiry, AnOldDeliveryOfAnEndpointThatIsNotSentToIsADeadLetter) {
  TestReceiver receiver(loop, [](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, 429, {{"Retry-After", "3600"}});
  });
  TestDispatcher test(loop, file, ten_seconds());
  const Id waits = test.add_endpoint(receiver.url());
  const Id disabled = test.add_endpoint(receiver.url(), [](auto& c) { c.disabled = true; });
  const Id patient = test.add_endpoint(receiver.url(), [](auto& c) {
    c.disabled = true;
    c.max_age = hours(3);
  });
  test.send_to({waits});
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }))
      << "its retry would be too late";
  // More than the rows of one pass; those of the patient one are between them.
  for (int i = 0; i < 150; ++i) {
    for (const Id endpoint : {waits, disabled, patient}) send_old(test, endpoint);
  }
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 301; }));
  EXPECT_EQ(test.count().dead, 301);
  EXPECT_EQ(test.count().waiting, 150) << "their endpoint has a longer max_age";
  EXPECT_EQ(test.events[Kind::dead], 301);
  EXPECT_EQ(test.dead(disabled)[0].reason, "deadline_passed");
  EXPECT_EQ(test.dead(disabled)[0].attempts, 0U);
  EXPECT_EQ(receiver.requests, 1);
}

TEST_F(DispatcherExpiry, AnOldDeliveryIsNotSent) {
  TestReceiver receiver(loop);
  TestDispatcher test(loop, file, ten_seconds());
  const Id endpoint = test.add_endpoint(receiver.url());
  send_old(test, endpoint);
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
  EXPECT_EQ(receiver.requests, 0);
}

TEST_F(DispatcherExpiry, WhatASwitchHoldsDoesNotExpireAndIsSentAfterIt) {
  TestReceiver receiver(loop);
  Id endpoint{};
  {
    TestDispatcher test(loop, file, ten_seconds());
    endpoint = test.add_endpoint(receiver.url());
    ASSERT_TRUE(test.dispatcher->hold(scope_of(endpoint), Hold::deliveries, {.off = true}));
    const Id other = test.add_endpoint(receiver.url());
    send_old(test, endpoint);
    send_old(test, endpoint);
    // After a pass, which the death of the other one shows.
    send_old(test, other);
    ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
    const Instant later = add(run::now(), milliseconds(1200));  // another pass
    ASSERT_TRUE(turn_until(loop, [&] { return run::now() > later; }));
    EXPECT_EQ(test.dead(endpoint).size(), 0U);
    EXPECT_EQ(test.count().waiting, 2);
    // It ends, and the dispatcher with it: the end is in the store.
    bool stored = false;
    test.store->put_setting(hold_setting(scope_of(endpoint), Hold::deliveries),
                            hold_text(scope_of(endpoint), {}, run::wall_time()),
                            [&](const auto&) { loop.post([&stored] { stored = true; }); });
    ASSERT_TRUE(turn_until(loop, [&] { return stored; }));
  }
  TestDispatcher test(loop, file, ten_seconds());
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 2; }));
  EXPECT_EQ(test.dead(endpoint).size(), 0U);
}

TEST_F(DispatcherExpiry, TheAgeOfARedrivenLetterCountsFromItsRedrive) {
  int failures = 3;
  TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, failures-- > 0 ? 500 : 204);
  });
  TestDispatcher test(loop, file, ten_seconds());
  const Id endpoint = test.add_endpoint(receiver.url());
  send_old(test, endpoint);
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
  const UnixTime now = run::wall_time();
  test.store->redrive({.endpoint = endpoint}, now, [&](const auto& redriven) {
    EXPECT_EQ(redriven->count, 1);
    loop.post([&] { test.dispatcher->on_due({&endpoint, 1}, now); });
  });
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
  EXPECT_EQ(receiver.requests, 4);
}

}  // namespace
}  // namespace damper::webhooks
