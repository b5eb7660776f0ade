#include "damper/webhooks/dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/webhooks/dispatch/dispatcher_testing.h"

namespace damper::webhooks {
namespace {

using admit::BreakerState;
using std::chrono::hours, std::chrono::milliseconds, std::chrono::seconds;
using Kind = DeliveryEvent::Kind;

// Milliseconds instead of hours.
[[nodiscard]] DispatcherOptions fast() {
  DispatcherOptions options = test_options();
  const std::vector<Duration> steps(5, milliseconds(20));
  options.policy.retries = *schedule::ListedDelays::from(steps, Percent(50));
  options.policy.breaker.open_base = milliseconds(20);
  options.policy.breaker.open_cap = milliseconds(40);
  options.policy.breaker.ramp = Duration{0};
  options.host_probes = {.rate_per_second = 1000, .burst = 10};
  options.all_probes = options.host_probes;
  return options;
}

class DispatcherTest : public testing::Test {
 protected:
  http::Loop loop;
  TestFolder folder;
  std::string file = folder.file("webhooks.db");
};

TEST_F(DispatcherTest, DeliversSignedMessagesOnce) {
  TestReceiver receiver(loop);
  TestDispatcher test(loop, file);
  test.add_endpoint(receiver.url());
  for (int i = 0; i < 100; ++i) test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 100; }));
  EXPECT_TRUE(turn_until(loop, [&] { return test.count().waiting == 0; }));
  EXPECT_EQ(receiver.requests, 100);
  EXPECT_EQ(receiver.received.size(), 100U);
  EXPECT_EQ(receiver.invalid, 0);
  EXPECT_EQ(test.count().attempts, 100);
}

TEST_F(DispatcherTest, RetriesUntilItIsAccepted) {
  int failures = 3;
  TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, failures-- > 0 ? 500 : 204);
  });
  TestDispatcher test(loop, file, fast());
  test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
  EXPECT_EQ(receiver.requests, 4);
  EXPECT_EQ(receiver.received.size(), 1U);  // one id
  EXPECT_EQ(test.events[Kind::first_attempt], 1);
  EXPECT_EQ(test.events[Kind::retry_attempt], 3);
}

TEST_F(DispatcherTest, ADeliveryWhoseScheduleEndsIsADeadLetter) {
  TestReceiver receiver(
      loop, [](const http::ExchangePtr& exchange) { TestReceiver::respond(exchange, 400); });
  TestDispatcher test(loop, file, fast());
  const Id endpoint = test.add_endpoint(receiver.url());
  const Id message = test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
  ASSERT_TRUE(turn_until(loop, [&] { return !test.dead(endpoint).empty(); }));
  EXPECT_EQ(receiver.requests, 6);
  EXPECT_EQ(test.dead(endpoint)[0].message, message);
  EXPECT_EQ(test.dead(endpoint)[0].reason, "attempts_spent");
  EXPECT_EQ(test.count().waiting, 0);
}

TEST_F(DispatcherTest, AnEndpointThatIsGoneIsDisabled) {
  TestReceiver receiver(
      loop, [](const http::ExchangePtr& exchange) { TestReceiver::respond(exchange, 410); });
  TestDispatcher test(loop, file);
  const Id endpoint = test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.events[Kind::endpoint_disabled] == 1; }));
  EXPECT_TRUE(test.directory.find(endpoint)->config.disabled);
  EXPECT_TRUE(test.directory.match("default", "test.event", "").empty());
  ASSERT_TRUE(turn_until(loop, [&] { return test.dead(endpoint).size() == 1; }));
  EXPECT_EQ(test.dead(endpoint)[0].reason, "gone");
}

TEST_F(DispatcherTest, AReceiverControlsItsDeliveriesInAnyCase) {
  const char* control = "Abort-Message";
  TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, 500, {{"Webhook-Delivery", control}});
  });
  TestDispatcher test(loop, file);
  const Id endpoint = test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dead(endpoint).size() == 1; }));
  EXPECT_EQ(test.dead(endpoint)[0].reason, "aborted");
  EXPECT_FALSE(test.directory.find(endpoint)->config.disabled);
  control = "DISABLE";
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dead(endpoint).size() == 2; }));
  EXPECT_EQ(test.dead(endpoint)[0].reason, "gone");
  EXPECT_TRUE(test.directory.find(endpoint)->config.disabled);
}

TEST_F(DispatcherTest, TrapW1_ARetryTimeOfTheServerHoldsTheWholeEndpoint) {
  TestReceiver receiver(loop, [](const http::ExchangePtr& exchange) {
    TestReceiver::respond(exchange, 429, {{"Retry-After", "3600"}});
  });
  TestDispatcher test(loop, file, fast());
  const Id endpoint = test.add_endpoint(receiver.url(), [](auto& c) { c.concurrency = 1; });
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().failed == 1; }));
  for (int i = 0; i < 20; ++i) test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 21; }));
  EXPECT_EQ(receiver.requests, 1);
  EXPECT_TRUE(test.dispatcher->status(endpoint).blocked_until);
  EXPECT_EQ(test.dispatcher->status(endpoint).last_error, "status 429");
}

TEST_F(DispatcherTest, TrapW4_AnAddressOfTheOwnNetworkIsADeadLetterAndNeverAsked) {
  TestReceiver receiver(loop);
  DispatcherOptions options = fast();
  options.guard.allowed.clear();
  TestDispatcher test(loop, file, options);
  const Id endpoint = test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().dead == 1; }));
  ASSERT_TRUE(turn_until(loop, [&] { return !test.dead(endpoint).empty(); }));
  EXPECT_EQ(receiver.requests, 0);
  EXPECT_EQ(test.dead(endpoint)[0].reason, "address_refused");
  EXPECT_EQ(test.dispatcher->status(endpoint).last_error, "address_refused");
}

TEST_F(DispatcherTest, TrapW3_ADeadEndpointWithABacklogCostsTheOthersNothing) {
  TestReceiver healthy(loop);
  DispatcherOptions options = fast();
  options.policy.breaker.open_base = hours(1);
  options.policy.breaker.open_cap = hours(1);
  TestDispatcher test(loop, file, options);
  std::uint16_t closed_port = 1;
  const Id dead = test.add_endpoint("http://127.0.0.1:" + std::to_string(closed_port) + "/");
  for (int i = 0; i < 2000; ++i) test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.events[Kind::endpoint_failing] == 1; }));
  ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 2000; }));
  const std::uint64_t attempts = test.dispatcher->totals().attempts;
  test.add_endpoint(healthy.url(), [](auto& c) { c.types = {"other.*"}; });
  for (int i = 0; i < 100; ++i) test.send("other.event");
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 100; }));
  // Nothing but the breaker's own few attempts went to the dead one.
  EXPECT_EQ(test.dispatcher->status(dead).breaker, BreakerState::open);
  EXPECT_LT(attempts, 40U);
  EXPECT_LE(test.dispatcher->totals().attempts - 100 - test.dispatcher->status(dead).failed, 0U);
}

TEST_F(DispatcherTest, TrapW3_EndpointsThatNeverAnswerGetHalfOfTheSlots) {
  TestReceiver healthy(loop);
  TestReceiver* at = nullptr;
  TestReceiver hole(loop, [&](const http::ExchangePtr& exchange) { at->kept.push_back(exchange); });
  at = &hole;
  DispatcherOptions options = fast();
  options.max_in_flight = 8;
  TestDispatcher test(loop, file, options);
  test.add_endpoint(healthy.url(), [](auto& c) { c.types = {"other.*"}; });
  test.send("other.event");
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
  for (int i = 0; i < 10; ++i) {
    test.add_endpoint(hole.url("/" + std::to_string(i)), [](auto& c) { c.types = {"hole.*"}; });
  }
  for (int i = 0; i < 10; ++i) test.send("hole.event");
  ASSERT_TRUE(turn_until(loop, [&] { return hole.requests == 4; }));
  for (int i = 0; i < 100; ++i) test.send("other.event");
  ASSERT_TRUE(turn_until(loop, [&] { return healthy.requests == 101; }));
  EXPECT_EQ(hole.requests, 4);
  hole.kept.clear();
}

TEST_F(DispatcherTest, DeliveriesOfAKeyAreSentOneAfterTheOther) {
  std::vector<std::string> order;
  TestReceiver* at = nullptr;
  TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
    const std::string id(exchange->request().fields.find(kIdHeader).value_or(""));
    order.push_back(id);
    const bool first = at->received[id] == 1;
    TestReceiver::respond(exchange, first && order.size() % 3 == 1 ? 500 : 200);
  });
  at = &receiver;
  TestDispatcher test(loop, file, fast());
  test.add_endpoint(receiver.url(), [](auto& c) { c.ordering = Ordering::by_key_block; });
  std::vector<std::string> sent;
  for (int i = 0; i < 12; ++i) sent.push_back(id_text(kMessagePrefix, test.send("a.b", "k")));
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 12; }));
  order.erase(std::unique(order.begin(), order.end()), order.end());
  EXPECT_EQ(order, sent);
}

TEST_F(DispatcherTest, AHoldOfRetriesHoldsNoFirstAttemptOfAKey) {
  TestReceiver receiver(
      loop, [](const http::ExchangePtr& exchange) { TestReceiver::respond(exchange, 200); });
  TestDispatcher test(loop, file, fast());
  test.add_endpoint(receiver.url(), [](auto& c) { c.ordering = Ordering::by_key_block; });
  (void)test.dispatcher->hold({}, Hold::retries, {.off = true});
  for (int i = 0; i < 6; ++i) test.send("a.b", "k");
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 6; }));
}

TEST_F(DispatcherTest, ARestartDeliversWhatWaitsAndKeepsTheBreaker) {
  std::optional<Id> endpoint;
  {
    TestDispatcher test(loop, file);
    endpoint = test.add_endpoint("http://127.0.0.1:1/");
    for (int i = 0; i < 30; ++i) test.send();
    ASSERT_TRUE(turn_until(loop, [&] { return test.events[Kind::endpoint_failing] == 1; }));
    ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 30; }));
  }
  TestDispatcher test(loop, file);
  EXPECT_EQ(test.dispatcher->status(*endpoint).breaker, BreakerState::open);
  EXPECT_EQ(test.count().waiting, 30);
  // Its owner repairs the URL: what was known of the old one does not count any more.
  TestReceiver receiver(loop);
  Endpoint changed = *test.directory.find(*endpoint);
  changed.config.url = receiver.url();
  test.directory.put(changed);
  test.dispatcher->on_changed(*endpoint);
  ASSERT_TRUE(turn_until(loop, [&] { return receiver.received.size() == 30; }));
}

TEST_F(DispatcherTest, AHoldReachesWhatWaits) {
  int status = 500;
  TestReceiver receiver(
      loop, [&](const http::ExchangePtr& exchange) { TestReceiver::respond(exchange, status); });
  TestDispatcher test(loop, file, fast());
  test.add_endpoint(receiver.url());
  (void)test.dispatcher->hold({}, Hold::deliveries, {.off = true, .reason = "an incident"});
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 1; }));
  EXPECT_EQ(receiver.requests, 0);
  EXPECT_EQ(test.dispatcher->holding({}, Hold::deliveries).reason, "an incident");
  (void)test.dispatcher->hold({}, Hold::retries, {.off = true});
  (void)test.dispatcher->hold({}, Hold::deliveries, {});
  ASSERT_TRUE(turn_until(loop, [&] { return receiver.requests == 1; }));
  // Its retry is due after 30 ms at most, and is held.
  for (int i = 0; i < 200; ++i) (void)test.count();
  EXPECT_EQ(receiver.requests, 1);
  EXPECT_EQ(test.count().waiting, 1);
}

TEST_F(DispatcherTest, RetriesThatAreHeldAreNeitherClaimedNorWritten) {
  int status = 500;
  TestReceiver receiver(
      loop, [&](const http::ExchangePtr& exchange) { TestReceiver::respond(exchange, status); });
  TestDispatcher test(loop, file, fast());
  const Id endpoint = test.add_endpoint(receiver.url());
  (void)test.dispatcher->hold({}, Hold::retries, {.off = true});
  const Id held = test.send();
  const auto waiting = [&](Id message) {
    std::optional<WaitingDelivery> found;
    bool done = false;
    test.store->find_message("default", message, [&](const auto& result) {
      loop.post([&, result] {
        if (result && !result->waiting.empty()) found = result->waiting[0];
        done = true;
      });
    });
    EXPECT_TRUE(turn_until(loop, [&] { return done; }));
    return found;
  };
  ASSERT_TRUE(turn_until(loop, [&] {
    const auto one = waiting(held);
    return one && one->attempts == 1;
  }));
  const UnixTime due = waiting(held)->due;
  ASSERT_TRUE(turn_until(loop, [&] { return run::wall_time() > due + milliseconds(100); }));
  // First attempts pass it by, also if they come one after the other.
  status = 200;
  for (int i = 1; i <= 20; ++i) {
    test.send();
    ASSERT_TRUE(turn_until(
        loop, [&] { return test.dispatcher->totals().delivered == static_cast<unsigned>(i); }));
  }
  EXPECT_EQ(receiver.received[id_text(kMessagePrefix, held)], 1);
  EXPECT_EQ(waiting(held)->due, due) << "it was not written";
  const auto is_idle = [&] { return !test.dispatcher->status(endpoint).next_due; };
  ASSERT_TRUE(turn_until(loop, is_idle));
  const Instant later = add(run::now(), milliseconds(200));
  ASSERT_TRUE(turn_until(loop, [&] {
    EXPECT_TRUE(is_idle()) << "it is claimed again and again";
    return run::now() > later;
  }));
  (void)test.dispatcher->hold({}, Hold::retries, {});
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 21; }));
}

TEST_F(DispatcherTest, AClientErrorEndsADeliveryWhereItIsAsked) {
  int status = 422;
  TestReceiver receiver(
      loop, [&](const http::ExchangePtr& exchange) { TestReceiver::respond(exchange, status); });
  TestDispatcher test(loop, file);
  const Id ends = test.add_endpoint(receiver.url(), [](auto& c) { c.client_errors_end = true; });
  const Id retries = test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().failed == 2; }));
  ASSERT_TRUE(turn_until(loop, [&] { return test.dead(ends).size() == 1; }));
  EXPECT_EQ(test.dead(ends)[0].reason, "permanent");
  EXPECT_EQ(test.dead(retries).size(), 0U);
  status = 408;
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().failed == 4; }));
  ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 3; }))
      << "408 is no fault of the message";
}

TEST_F(DispatcherTest, AFailingHeadIsSkippedToTheDeadLettersWhereItIsAsked) {
  TestReceiver receiver(loop, [](const http::ExchangePtr& exchange) {
    static int count = 0;
    TestReceiver::respond(exchange, ++count == 1 ? 500 : 200);
  });
  TestDispatcher test(loop, file);
  const Id endpoint =
      test.add_endpoint(receiver.url(), [](auto& c) { c.ordering = Ordering::by_key_skip; });
  const Id first = test.send("a", "key");
  test.send("a", "key");
  ASSERT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
  const auto dead = test.dead(endpoint);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].message, first);
  EXPECT_EQ(dead[0].reason, "attempts_spent");
  ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 0; }));
}

TEST_F(DispatcherTest, AnEndpointsScheduleIsItsPolicys) {
  const auto defaults = std::make_shared<const engine::DeliveryPolicy>();
  EndpointConfig config{.url = "https://example.com"};
  EXPECT_EQ(policy_of(config, defaults), defaults);
  config.schedule = RetrySchedule::decorrelated;
  config.backoff_base = std::chrono::seconds(2);
  config.max_age = std::chrono::hours(1);
  const auto policy = policy_of(config, defaults);
  ASSERT_TRUE(policy->backoff);
  EXPECT_EQ(policy->backoff->jitter, schedule::Jitter::decorrelated);
  EXPECT_EQ(policy->backoff->base, std::chrono::seconds(2));
  EXPECT_EQ(policy->backoff->cap, kBackoffCap);
  EXPECT_EQ(policy->max_attempts, kBackoffAttempts);
  EXPECT_EQ(policy->max_age, std::chrono::hours(1));
  config.schedule = RetrySchedule::listed;
  EXPECT_FALSE(policy_of(config, policy)->backoff);
}

TEST_F(DispatcherTest, AHoldOfOneEndpointHoldsNoOther) {
  TestReceiver held(loop);
  TestReceiver free(loop);
  TestDispatcher test(loop, file);
  const Id one = test.add_endpoint(held.url());
  test.add_endpoint(free.url());
  const HoldScope scope{.application = "default", .endpoint = one};
  ASSERT_TRUE(test.dispatcher->hold(scope, Hold::deliveries, {.off = true, .reason = "x"}));
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return free.requests == 1; }));
  EXPECT_EQ(held.requests, 0);
  EXPECT_EQ(test.dispatcher->status(one).held, "deliveries");
  EXPECT_EQ(test.dispatcher->status(one).held_scope, "endpoint");
  ASSERT_TRUE(test.dispatcher->hold(scope, Hold::deliveries, {}));
  ASSERT_TRUE(turn_until(loop, [&] { return held.requests == 1; }));
  EXPECT_EQ(test.dispatcher->status(one).held, "");
  EXPECT_EQ(test.events[DeliveryEvent::Kind::switch_flipped], 2);
}

TEST_F(DispatcherTest, AHoldThatEndsDeliversWhatHasWaited) {
  TestReceiver receiver(loop);
  TestDispatcher test(loop, file);
  test.add_endpoint(receiver.url());
  ASSERT_TRUE(
      test.dispatcher->hold({.application = "default"}, Hold::deliveries,
                            {.off = true, .reason = "x", .length = std::chrono::milliseconds(50)}));
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return receiver.requests == 1; }));
}

TEST_F(DispatcherTest, AStoredHoldSurvivesARestart) {
  TestReceiver receiver(loop);
  {
    TestDispatcher test(loop, file);
    test.add_endpoint(receiver.url());
    bool stored = false;
    const HoldOrder order{.off = true, .reason = "an incident"};
    test.store->put_setting(hold_setting({}, Hold::deliveries),
                            hold_text({}, order, run::wall_time()),
                            [&](const auto&) { loop.post([&stored] { stored = true; }); });
    ASSERT_TRUE(turn_until(loop, [&] { return stored; }));
  }
  TestDispatcher test(loop, file);
  EXPECT_EQ(test.dispatcher->holding({}, Hold::deliveries).reason, "an incident");
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.count().waiting == 1; }));
  EXPECT_EQ(receiver.requests, 0);
  ASSERT_TRUE(test.dispatcher->hold({}, Hold::deliveries, {}));
  ASSERT_TRUE(turn_until(loop, [&] { return receiver.requests == 1; }));
}

TEST_F(DispatcherTest, ADrainEndsWhenResultsAreSettled) {
  TestReceiver* at = nullptr;
  TestReceiver receiver(loop,
                        [&](const http::ExchangePtr& exchange) { at->kept.push_back(exchange); });
  at = &receiver;
  TestDispatcher test(loop, file);
  test.add_endpoint(receiver.url(), [](auto& c) { c.concurrency = 1; });
  for (int i = 0; i < 3; ++i) test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return receiver.kept.size() == 1; }));
  bool drained = false;
  test.dispatcher->drain([&] { drained = true; });
  loop.poll();
  EXPECT_FALSE(drained);
  TestReceiver::respond(receiver.kept[0], 200);
  ASSERT_TRUE(turn_until(loop, [&] { return drained; }));
  EXPECT_EQ(test.count().waiting, 2);
  EXPECT_EQ(receiver.requests, 1);
}

TEST_F(DispatcherTest, TheBeginningOfALongAnswerIsKept) {
  std::size_t size = DeliveryAttempt::kMostAnswer;
  TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
    exchange->respond(http::Response::plain(200, std::string(size, 'x')));
  });
  TestDispatcher test(loop, file);
  const Id endpoint = test.add_endpoint(receiver.url());
  const std::string kept(DeliveryAttempt::kMostAnswer, 'x');
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return test.attempts(endpoint).size() == 1; }));
  EXPECT_EQ(test.attempts(endpoint)[0].answer, kept);
  for (const std::size_t longer : {kept.size() + 1, std::size_t{1'000'000}}) {
    size = longer;
    test.send();
    const std::size_t before = test.attempts(endpoint).size();
    ASSERT_TRUE(turn_until(loop, [&] { return test.attempts(endpoint).size() > before; }));
    EXPECT_EQ(test.attempts(endpoint)[0].answer, kept + "... (truncated)");
    EXPECT_EQ(test.attempts(endpoint)[0].status, 200);
  }
  EXPECT_EQ(test.dispatcher->totals().delivered, 3U) << "a long answer of a success is a success";
}

TEST_F(DispatcherTest, ARemovedEndpointsResultsChangeNothing) {
  TestReceiver* at = nullptr;
  TestReceiver receiver(loop,
                        [&](const http::ExchangePtr& exchange) { at->kept.push_back(exchange); });
  at = &receiver;
  TestDispatcher test(loop, file);
  const Id endpoint = test.add_endpoint(receiver.url());
  test.send();
  ASSERT_TRUE(turn_until(loop, [&] { return receiver.kept.size() == 1; }));
  bool removed = false;
  test.store->remove_endpoint(endpoint, [&](const auto&) { loop.post([&] { removed = true; }); });
  ASSERT_TRUE(turn_until(loop, [&] { return removed; }));
  test.directory.remove(endpoint);
  test.dispatcher->on_changed(endpoint);
  TestReceiver::respond(receiver.kept[0], 200);
  ASSERT_TRUE(turn_until(loop, [&] { return test.events[Kind::lost] == 1; }));
}

}  // namespace
}  // namespace damper::webhooks
