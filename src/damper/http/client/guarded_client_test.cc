// GuardedClient, and with it GuardedCall, against servers on real sockets.
#include "damper/http/client/guarded_client.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "damper/http/client/client_testing.h"
#include "damper/http/client/http_result.h"
#include "damper/run/clock.h"
#include "damper/run/scope.h"

namespace damper::http {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Exchange = TestServer::Exchange;

engine::Policy policy() {
  engine::Policy policy;
  policy.call.backoff.base = milliseconds(1);
  policy.call.backoff.cap = milliseconds(2);
  return policy;
}

// One request to its end.
HttpResult call(Loop& loop, GuardedClient& client, Request request,
                const RequestOptions& options = {}) {
  const Watchdog watchdog(loop);
  std::optional<HttpResult> got;
  client.request(std::move(request), options, [&](HttpResult result) {
    got.emplace(std::move(result));
    loop.stop();
  });
  loop.run();
  return got ? *std::move(got) : HttpResult(Verdict::none, std::nullopt, 0, std::nullopt);
}

std::string field(const Exchange& exchange, std::string_view name) {
  return std::string(exchange.request.fields.find(name).value_or("-"));
}

// Fails the first `failures` requests, by status.
TestServer::Handler failing(int& failures, int status) {
  return [&failures, status](Exchange& exchange) {
    exchange.respond(failures-- > 0 ? status : 200, "body");
  };
}

TEST(GuardedClient, ARetryGoesToAnotherReplica) {
  for (int round = 0; round < 20; ++round) {
    Loop loop;
    std::vector<int> asked;  // which server, in order
    TestServer first(loop, [&](Exchange& exchange) {
      asked.push_back(0);
      exchange.respond(asked.size() < 3 ? 503 : 200);
    });
    TestServer second(loop, [&](Exchange& exchange) {
      asked.push_back(1);
      exchange.respond(asked.size() < 3 ? 503 : 200);
    });
    Dependency dependency("billing", policy());
    GuardedClient client(loop, dependency, {.endpoints = {first.url(), second.url()}});
    const HttpResult result = call(loop, client, GuardedClient::make("GET", "/"));
    ASSERT_TRUE(result) << name(result.verdict());
    EXPECT_EQ(result.attempts(), 3U);
    ASSERT_EQ(asked.size(), 3U);
    EXPECT_NE(asked[0], asked[1]);
    EXPECT_NE(asked[1], asked[2]);  // All had been asked: not again the one that was asked last.
  }
}

TEST(GuardedClient, TrapH4_ARetryGoesToTheBusierReplicaRatherThanToTheSameOne) {
  Loop loop;
  int asked_first = 0;
  TestServer first(loop, [&](Exchange& exchange) {
    ++asked_first;
    exchange.respond(503);
  });
  TestServer second(loop, [](Exchange& exchange) { exchange.respond(200); });
  Dependency dependency("billing", policy());
  GuardedClient client(loop, dependency, {.endpoints = {first.url(), second.url()}});
  balance::Replicas& replicas = client.replicas();
  std::vector<balance::Replicas::Lease> busy;
  for (int i = 0; i < 5; ++i)
    busy.push_back(replicas.pick(balance::ReplicaSet(0b01), loop.now(), 0));
  EXPECT_TRUE(call(loop, client, GuardedClient::make("GET", "/")));
  EXPECT_EQ(asked_first, 1);
  for (balance::Replicas::Lease& lease : busy) {
    replicas.settle(lease, decide::Outcome::cancelled, loop.now(), 0);
  }
}

TEST(GuardedClient, CoAwaitGivesTheAnswer) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) {
    exchange.respond(200, exchange.request.method + exchange.request.body);
  });
  Dependency dependency("billing", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  std::string answers;
  play(loop, [&]() -> awaitable<void> {
    HttpResult get = co_await client.get("/", in(seconds(5)));
    HttpResult post = co_await client.post("/", "x", in(seconds(5)));
    HttpResult put = co_await client.put("/", "y", in(seconds(5)));
    HttpResult del = co_await client.del("/", in(seconds(5)));
    answers = get->body + " " + post->body + " " + put->body + " " + del->body;
  });
  EXPECT_EQ(answers, "GET POSTx PUTy DELETE");
}

TEST(GuardedClient, AFinalAnswerCanBeRead) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) { exchange.respond(404, "no such thing"); });
  Dependency dependency("billing", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  const HttpResult result = call(loop, client, GuardedClient::make("GET", "/"));
  EXPECT_EQ(result.verdict(), Verdict::permanent);
  EXPECT_EQ(result.failure()->status, 404);
  ASSERT_NE(result.answer(), nullptr);
  EXPECT_EQ(result.answer()->body, "no such thing");
  EXPECT_EQ(server.requests, 1);
}

TEST(GuardedClient, APostIsRepeatedOnlyWithAKeyOrOnTheCallersWord) {
  Loop loop;
  int failures = 100;
  TestServer server(loop, failing(failures, 503));
  Dependency dependency("billing", policy());
  GuardedClient plain(loop, dependency, {.endpoints = {server.url()}});
  EXPECT_EQ(call(loop, plain, GuardedClient::make("POST", "/", "x")).verdict(),
            Verdict::not_idempotent);
  EXPECT_EQ(server.requests, 1);
  failures = 1;
  EXPECT_TRUE(call(loop, plain, GuardedClient::make("POST", "/", "x"), {.idempotent = true}));
  EXPECT_EQ(server.requests, 3);
  failures = 1;
  GuardedClient keyed(loop, dependency,
                      {.endpoints = {server.url()}, .make_idempotency_key = true});
  EXPECT_TRUE(call(loop, keyed, GuardedClient::make("POST", "/", "x")));
  ASSERT_EQ(server.requests, 5);
  const std::string key = field(server.exchanges.back(), "idempotency-key");
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(field(*std::prev(server.exchanges.end(), 2), "idempotency-key"), key);  // The same.
  EXPECT_TRUE(call(loop, keyed, GuardedClient::make("POST", "/", "x")));
  EXPECT_NE(field(server.exchanges.back(), "idempotency-key"), key);  // Another call's.
}

TEST(GuardedClient, WhatWasNeverProcessedIsRetriedThoughItIsAPost) {
  Loop loop;
  TestServer server(loop, {.plain = Protocol::h2},
                    [](Exchange& exchange) { exchange.respond(200, exchange.request.body); });
  Dependency dependency("billing", policy());
  const std::string dead = "http://127.0.0.1:" + std::to_string(closed_port(loop));
  GuardedClient client(
      loop, dependency,
      {.endpoints = {dead, server.url()}, .client = {.pool = {.plain = Protocol::h2}}});
  for (int i = 0; i < 3; ++i) {  // One of them, at least, asks the dead one first.
    const HttpResult result = call(loop, client, GuardedClient::make("POST", "/", "order"));
    EXPECT_TRUE(result) << name(result.verdict());
  }
  EXPECT_EQ(server.requests, 3);
}

TEST(GuardedClient, TrapD2_EachAttemptSaysWhatRemainsOfItsTimeAndWhoRetries) {
  Loop loop;
  int failures = 2;
  TestServer server(loop, [&](Exchange& exchange) {
    if (failures-- > 0) return exchange.respond_in(milliseconds(10), 503);
    exchange.respond(200);
  });
  Dependency dependency("billing", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  Request request = GuardedClient::make("GET", "/");
  request.fields.add("x-request-deadline", "999999");  // Somebody else's.
  ASSERT_TRUE(call(loop, client, request, {.deadline = in(milliseconds(800))}));
  ASSERT_EQ(server.exchanges.size(), 3U);
  int before = 801;
  int attempt = 0;
  for (const Exchange& exchange : server.exchanges) {
    const int remaining = std::stoi(field(exchange, "x-request-deadline"));
    EXPECT_LT(remaining, before - (attempt > 0 ? 9 : 0));  // The ten milliseconds are gone.
    EXPECT_GT(remaining, 300);
    before = remaining;
    EXPECT_EQ(field(exchange, "damper-attempt"), std::to_string(++attempt));
    EXPECT_EQ(field(exchange, "damper-retry-owner"), "billing");
  }
}

TEST(GuardedClient, InsideOfARequestTheOwnerAboveIsPassedOnAndNobodyRetriesHere) {
  Loop loop;
  int failures = 100;
  TestServer server(loop, failing(failures, 503));
  Dependency dependency("billing", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  const run::RequestContext above{.deadline = schedule::Deadline(in(milliseconds(500))),
                                  .owned_above = {.retries = true, .unsent = true},
                                  .retry_owner = "edge",
                                  .attempt = 2,
                                  .criticality = admit::Criticality::sheddable};
  const run::Scope scope(above);
  EXPECT_EQ(call(loop, client, GuardedClient::make("GET", "/")).verdict(), Verdict::layered);
  ASSERT_EQ(server.exchanges.size(), 1U);
  EXPECT_EQ(field(server.exchanges.back(), "damper-retry-owner"), "edge");
  EXPECT_EQ(field(server.exchanges.back(), "damper-attempt"), "2");
  EXPECT_EQ(field(server.exchanges.back(), run::kCriticalityHeader), "sheddable");
  EXPECT_LE(std::stoi(field(server.exchanges.back(), "x-request-deadline")), 500);
}

TEST(GuardedClient, RetryAfterIsHonoured) {
  Loop loop;
  int failures = 1;
  TestServer server(loop, [&](Exchange& exchange) {
    if (failures-- > 0) return exchange.respond(429, "", FieldList{{"retry-after", "1"}});
    exchange.respond(200);
  });
  Dependency dependency("billing", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  const Instant start = run::now();
  ASSERT_TRUE(call(loop, client, GuardedClient::make("GET", "/"), {.deadline = in(seconds(4))}));
  EXPECT_GE(run::now() - start, seconds(1));
  failures = 1;  // Longer than the deadline: it fails now, not then.
  EXPECT_EQ(call(loop, client, GuardedClient::make("GET", "/"), {.deadline = in(milliseconds(900))})
                .verdict(),
            Verdict::deadline_too_close);
}

TEST(GuardedClient, AnAttemptThatIsLateIsCancelledOnTheWireAndAnotherOneTried) {
  Loop loop;
  int slow = 1;
  TestServer server(loop, [&](Exchange& exchange) {
    if (slow-- <= 0) exchange.respond(200);
  });
  engine::Policy impatient = policy();
  impatient.call.per_try_timeout = milliseconds(20);
  Dependency dependency("billing", impatient);
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  const HttpResult result = call(loop, client, GuardedClient::make("GET", "/"));
  EXPECT_TRUE(result);
  EXPECT_EQ(result.attempts(), 2U);
  EXPECT_EQ(server.cancelled, 1);
}

TEST(GuardedClient, TrapH4_AHedgeGoesToAnotherReplicaAndItsLoserIsCancelled) {
  Loop loop;
  int stalls = 0;
  const auto handler = [&](Exchange& exchange) {
    if (exchange.request.target == "/stall" && stalls++ == 0) return;  // The first one hangs.
    exchange.respond(200);
  };
  TestServer first(loop, handler);
  TestServer second(loop, handler);
  engine::Policy hedging = policy();
  hedging.call.hedge.max_hedges = 1;
  hedging.call.hedge.min_samples = 10;
  hedging.call.hedge.floor = milliseconds(5);
  hedging.call.hedge.ratio = Percent(100);
  hedging.budget.percent = Percent(100);
  Dependency dependency("billing", hedging);
  GuardedClient client(loop, dependency, {.endpoints = {first.url(), second.url()}});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(call(loop, client, GuardedClient::make("GET", "/")));
  run_for(loop, milliseconds(300));  // The live quantile is looked up anew.
  const HttpResult result = call(loop, client, GuardedClient::make("GET", "/stall"));
  ASSERT_TRUE(result) << name(result.verdict());
  EXPECT_EQ(result.attempts(), 2U);
  if (first.cancelled + second.cancelled == 0) run_for(loop, milliseconds(20));
  EXPECT_EQ(first.cancelled + second.cancelled, 1);
  int stalled_on_first = 0;
  int stalled_on_second = 0;
  for (const Exchange& e : first.exchanges) stalled_on_first += e.request.target == "/stall";
  for (const Exchange& e : second.exchanges) stalled_on_second += e.request.target == "/stall";
  EXPECT_EQ(stalled_on_first, 1);
  EXPECT_EQ(stalled_on_second, 1);
}

TEST(GuardedClient, TrapH6_OnlyReadsAreHedged) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) {
    if (exchange.request.target != "/hangs") exchange.respond(200);
  });
  engine::Policy hedging = policy();
  hedging.call.timeout = milliseconds(100);
  hedging.call.hedge = {
      .max_hedges = 1, .floor = milliseconds(5), .min_samples = 10, .ratio = Percent(100)};
  hedging.budget.percent = Percent(100);
  Dependency dependency("billing", hedging);
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(call(loop, client, GuardedClient::make("GET", "/")));
  run_for(loop, milliseconds(300));  // The live quantile is looked up anew.
  const auto attempts = [&](const char* method, const RequestOptions& options = {}) {
    return call(loop, client, GuardedClient::make(method, "/hangs", ""), options).attempts();
  };
  for (const char* write : {"PUT", "DELETE", "POST"})
    EXPECT_EQ(attempts(write, {.idempotent = true}), 1U) << write;
  EXPECT_EQ(attempts("GET", {.safe = false}), 1U);
  EXPECT_EQ(attempts("GET"), 2U);
  EXPECT_EQ(attempts("POST", {.safe = true}), 2U);
}

TEST(GuardedClient, AnUpdateReadsAgainAfterAConflict) {
  Loop loop;
  int version = 1;
  std::string value = "a";
  int conflicts = 1;
  const auto etag = [&] { return "\"" + std::to_string(version) + "\""; };
  TestServer server(loop, [&](Exchange& exchange) {
    if (exchange.request.method == "GET") {
      return exchange.respond(200, value,
                              FieldList{{"etag", etag()}, {"content-type", "text/plain"}});
    }
    if (conflicts-- > 0) {  // Somebody else writes in between.
      ++version;
      value = "b";
    }
    if (field(exchange, "if-match") != etag()) return exchange.respond(412);
    EXPECT_EQ(field(exchange, "content-type"), "text/plain");
    ++version;
    value = exchange.request.body;
    exchange.respond(204);
  });
  Dependency dependency("config", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  const Watchdog watchdog(loop);
  std::optional<HttpResult> got;
  client.update(
      "/value", [](const Response& read) { return read.body + "!"; }, {},
      [&](HttpResult result) {
        got.emplace(std::move(result));
        loop.stop();
      });
  loop.run();
  ASSERT_TRUE(got && *got);
  EXPECT_EQ(value, "b!");
  EXPECT_EQ(got->attempts(), 2U);
  EXPECT_EQ(server.requests, 4);
}

TEST(GuardedClient, WhatHasNoETagCannotBeUpdated) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) {
    exchange.respond(200, "a", FieldList{{"etag", "W/\"1\""}});
  });
  Dependency dependency("config", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  const Watchdog watchdog(loop);
  Verdict verdict = Verdict::none;
  client.update(
      "/value", [](const Response& read) { return read.body; }, {},
      [&](const HttpResult& result) {
        verdict = result.verdict();
        loop.stop();
      });
  loop.run();
  EXPECT_EQ(verdict, Verdict::permanent);
  EXPECT_EQ(server.requests, 1);
}

TEST(GuardedClient, TrapK1_AKillSwitchEndsACallThatWaits) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) { exchange.respond(503); });
  engine::Policy patient = policy();
  patient.call.backoff.base = seconds(100);
  patient.call.backoff.cap = seconds(100);
  patient.call.backoff.jitter = schedule::Jitter::equal;
  patient.call.timeout = seconds(1000);
  Dependency dependency("billing", patient);
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  std::thread operator_of_switches;
  server.on_exchange_over = [&] {
    operator_of_switches = std::thread([&] {
      while (dependency.tally().attempts == 0) std::this_thread::yield();
      dependency.flip(admit::Switch::retries, {.off = true}, run::now());
    });
  };
  EXPECT_EQ(call(loop, client, GuardedClient::make("GET", "/")).verdict(), Verdict::switched_off);
  operator_of_switches.join();
}

TEST(GuardedClient, CallsUnderWayEndWithIt) {
  Loop loop;
  TestServer server(loop, [](Exchange&) {});
  Dependency dependency("billing", policy());
  Verdict verdict = Verdict::none;
  {
    GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
    client.get("/", in(seconds(5)), [&](const HttpResult& result) { verdict = result.verdict(); });
  }
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(verdict, Verdict::cancelled);
}

TEST(GuardedClient, AReplicaThatIsDownCostsFewAttempts) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) { exchange.respond(200); });
  Dependency dependency("billing", policy());
  const std::string dead = "http://127.0.0.1:" + std::to_string(closed_port(loop));
  GuardedClient client(loop, dependency, {.endpoints = {dead, server.url()}});
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(call(loop, client, GuardedClient::make("GET", "/")));
  EXPECT_EQ(server.requests, 60);
  EXPECT_LE(ClientMetrics::of(client.metrics().failed_dials, CloseReason::connect_refused), 5U);
}

TEST(GuardedClient, ARefusedStreamIsRetriedThoughItIsAPost) {
  Loop loop;
  // It takes one stream at a time, and says so too late for the second one.
  TestServer server(loop, {.plain = Protocol::h2, .limits = {.max_streams = 1}},
                    [](Exchange& exchange) { exchange.respond_in(milliseconds(1), 200); });
  engine::Policy eager = policy();
  eager.call.max_attempts = 5;
  Dependency dependency("billing", eager);
  GuardedClient client(loop, dependency,
                       {.endpoints = {server.url()},
                        .client = {.pool = {.max_connections = 1, .plain = Protocol::h2}}});
  const Watchdog watchdog(loop);
  int worked = 0;
  std::uint32_t attempts = 0;
  int ended = 0;
  for (int i = 0; i < 2; ++i) {
    client.post("/", "order", in(seconds(5)), [&](const HttpResult& result) {
      worked += result ? 1 : 0;
      attempts += result.attempts();
      if (++ended == 2) loop.stop();
    });
  }
  loop.run();
  EXPECT_EQ(worked, 2);
  EXPECT_GE(attempts, 3U);        // One was refused.
  EXPECT_EQ(server.requests, 2);  // And not processed.
}

TEST(GuardedClient, WhatIsNoTargetIsNeverSent) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) { exchange.respond(200); });
  Dependency dependency("billing", policy());
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  EXPECT_EQ(call(loop, client, GuardedClient::make("GET", "/a b")).verdict(), Verdict::permanent);
  EXPECT_EQ(server.connections, 0);
}

TEST(GuardedClient, WhoHearsAnAnswerMayDestroyTheClient) {
  Loop loop;
  Dependency dependency("billing", policy());
  for (const bool h2 : {false, true}) {
    TestServer here(loop, {.plain = h2 ? Protocol::h2 : Protocol::h1},
                    [](Exchange& exchange) { exchange.respond(200, "body"); });
    GuardedClientOptions options{.endpoints = {here.url()}};
    options.client.pool.plain = h2 ? Protocol::h2 : Protocol::h1;
    const Watchdog watchdog(loop);
    auto client = std::make_unique<GuardedClient>(loop, dependency, options);
    client->get("/", in(seconds(5)), [&](const HttpResult& result) {
      EXPECT_TRUE(result);
      client.reset();
      loop.stop();
    });
    loop.run();
    EXPECT_EQ(client, nullptr);
  }
}

TEST(GuardedClient, AFlipEndsEveryCallThatWaitsAlsoThoseThatBeginMeanwhile) {
  Loop loop;
  TestServer server(loop, [](Exchange& exchange) { exchange.respond(503); });
  engine::Policy patient = policy();
  patient.call.backoff.base = seconds(100);
  patient.call.backoff.cap = seconds(100);
  patient.call.backoff.jitter = schedule::Jitter::equal;
  patient.call.timeout = seconds(1000);
  Dependency dependency("billing", patient);
  GuardedClient client(loop, dependency, {.endpoints = {server.url()}});
  const Watchdog watchdog(loop);
  constexpr int kCalls = 50;
  int over = 0;
  int waiting = 0;
  const std::function<void(bool)> begin = [&](bool again) {
    client.get("/", kNever, [&, again](const HttpResult& result) {
      EXPECT_FALSE(result);
      if (again) begin(false);
      if (++over == 2 * kCalls) loop.stop();
    });
  };
  server.on_exchange_over = [&] {
    if (++waiting != kCalls) return;
    loop.post([&] { dependency.flip(admit::Switch::retries, {.off = true}, run::now()); });
  };
  for (int i = 0; i < kCalls; ++i) begin(true);
  loop.run();
  EXPECT_EQ(over, 2 * kCalls);
  EXPECT_EQ(client.calls(), 0U);
}

}  // namespace
}  // namespace damper::http
