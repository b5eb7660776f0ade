#include "damper/http/idempotency/idempotent.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/http/idempotency/idempotency_memory.h"
#include "damper/http/idempotency/idempotency_store_testing.h"
#include "damper/http/server/exchange_testing.h"

namespace damper::http {
namespace {

// A handler behind the middleware that keeps what it is given; time is set by the test.
struct Bench {
  explicit Bench(IdempotentOptions options = {}, const MemoryStoreOptions& limits = {})
      : store(limits) {
    options.now = [this] { return wall(now); };
    handler = idempotent(
        [this](ExchangePtr exchange) {
          ++runs;
          work.push_back(std::move(exchange));
        },
        store, std::move(options));
  }
  std::shared_ptr<FakeExchange> send(FieldList fields, std::string body = "1",
                                     std::string method = "POST") {
    auto exchange = fake_exchange(std::move(method), "/orders", std::move(fields), std::move(body));
    handler(exchange);
    return exchange;
  }
  std::shared_ptr<FakeExchange> send_key(const std::string& key, std::string body = "1") {
    return send({{"Idempotency-Key", key}}, std::move(body));
  }
  void finish(int status, std::string body = "done") {
    const ExchangePtr first = work.front();
    work.erase(work.begin());
    Response response;
    response.status = status;
    response.fields.add("location", "/orders/7");
    response.body = std::move(body);
    first->respond(std::move(response));
  }

  MemoryStore store;
  std::int64_t now = 0;
  int runs = 0;
  std::vector<ExchangePtr> work;
  Handler handler;
};

TEST(Idempotent, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(IdempotentOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.longest_key = 0}), "longest_key is 0; it must be from 1 to 1024");
  EXPECT_EQ(find_error({.longest_answer = std::size_t{2} << 30}),
            "longest_answer is 2147483648; it must be from 0 to 1073741824");
  EXPECT_EQ(find_error({.retry_after = std::chrono::seconds(0)}),
            "retry_after is 0s; it must be from 1s to 1h");
}

TEST(Idempotent, TheSecondTimeGetsTheFirstAnswer) {
  Bench bench;
  const auto first = bench.send_key("k");
  bench.finish(201);
  EXPECT_EQ(first->status(), 201);
  EXPECT_EQ(first->field("idempotency-replayed"), "");
  const auto again = bench.send_key("k");
  EXPECT_EQ(again->status(), 201);
  EXPECT_EQ(again->answer->body, "done");
  EXPECT_EQ(again->field("location"), "/orders/7");
  EXPECT_EQ(again->field("idempotency-replayed"), "true");
  EXPECT_EQ(bench.runs, 1);
}

TEST(Idempotent, WhileTheFirstIsUnderWayItIs409) {
  Bench bench;
  const auto first = bench.send_key("k");
  const auto second = bench.send_key("k");
  EXPECT_EQ(second->status(), 409);
  EXPECT_EQ(second->field("retry-after"), "1");
  EXPECT_EQ(second->field("damper-idempotency"), "under_way");
  EXPECT_EQ(bench.runs, 1);
}

TEST(Idempotent, TheSameKeyWithAnotherRequestIs422) {
  Bench bench;
  const auto first = bench.send_key("k", "1");
  EXPECT_EQ(bench.send_key("k", "2")->status(), 422);
  bench.finish(200);
  EXPECT_EQ(bench.send_key("k", "2")->status(), 422);
  EXPECT_EQ(bench.send({{"Idempotency-Key", "k"}}, "1", "PATCH")->status(), 422);
  EXPECT_EQ(bench.runs, 1);
}

TEST(Idempotent, AKeyIsOneOfAFewVisibleCharacters) {
  Bench bench;
  EXPECT_EQ(bench.send_key("")->status(), 400);
  EXPECT_EQ(bench.send_key("a b")->status(), 400);
  EXPECT_EQ(bench.send_key(std::string(256, 'k'))->status(), 400);
  EXPECT_EQ(bench.send_key("caf\xc3\xa9")->status(), 400);
  EXPECT_EQ(bench.send({{"Idempotency-Key", "a"}, {"idempotency-key", "b"}})->status(), 400);
  EXPECT_EQ(bench.runs, 0);
  EXPECT_EQ(bench.send_key(std::string(255, 'k'))->status(), 0);
  EXPECT_EQ(bench.runs, 1);
}

TEST(Idempotent, WithoutAKeyOrWithAnotherMethodItPassesThrough) {
  Bench bench;
  (void)bench.send({});
  (void)bench.send({});
  (void)bench.send({{"idempotency-key", "k"}}, "", "GET");
  (void)bench.send({{"idempotency-key", "k"}}, "", "GET");
  EXPECT_EQ(bench.runs, 4);
  Bench strict({.required = true});
  EXPECT_EQ(strict.send({})->status(), 400);
  (void)strict.send({}, "", "GET");
  EXPECT_EQ(strict.runs, 1);
}

TEST(Idempotent, WhatWasNotDoneMayBeTriedAgainAndAllElseIsKept) {
  for (const int status : {408, 425, 429, 503}) {
    Bench bench;
    (void)bench.send_key("k");
    bench.finish(status);
    (void)bench.send_key("k");
    EXPECT_EQ(bench.runs, 2) << status;
  }
  for (const int status : {200, 302, 400, 404, 409, 500, 502, 504}) {
    Bench bench;
    (void)bench.send_key("k");
    bench.finish(status);
    EXPECT_EQ(bench.send_key("k")->status(), status);
    EXPECT_EQ(bench.runs, 1) << status;
  }
}

TEST(Idempotent, OneClientCannotReadAnothersAnswers) {
  Bench bench({.principal = [](const Request& request) {
    return std::string(request.fields.find("authorization").value_or(""));
  }});
  (void)bench.send({{"idempotency-key", "1"}, {"authorization", "a"}});
  bench.finish(200);
  EXPECT_EQ(bench.send({{"idempotency-key", "1"}, {"authorization", "b"}})->status(), 0);
  EXPECT_EQ(bench.send({{"idempotency-key", "a1"}})->status(), 0);  // "" + "a1" is not "a" + "1".
  EXPECT_EQ(bench.runs, 3);
}

TEST(Idempotent, TheWorkGoesOnWhenItsCallerGoesAway) {
  Bench bench;
  const auto first = bench.send_key("k");
  bool told = false;
  bench.work[0]->on_cancel([&] { told = true; });
  first->go_away();
  EXPECT_FALSE(told);
  EXPECT_FALSE(bench.work[0]->is_over());
  EXPECT_EQ(bench.send_key("k")->status(), 409);
  bench.finish(201);
  EXPECT_EQ(bench.send_key("k")->status(), 201);
  EXPECT_EQ(bench.runs, 1);
}

TEST(Idempotent, WhoNeverAnswersOrThrowsHasBegunSo500IsKept) {
  Bench bench;
  const auto first = bench.send_key("k");
  bench.work.clear();
  EXPECT_EQ(first->status(), 500);
  EXPECT_EQ(bench.send_key("k")->status(), 500);
  EXPECT_EQ(bench.runs, 1);
  const Handler thrower =
      idempotent([](const ExchangePtr&) { throw std::runtime_error("broken"); }, bench.store);
  const auto thrown = fake_exchange("POST", "/", {{"idempotency-key", "t"}});
  thrower(thrown);
  EXPECT_EQ(thrown->status(), 500);
}

TEST(Idempotent, AnAnswerThatIsTooLongIsSentOnceAndTheKeyIsStillSpent) {
  Bench bench({.longest_answer = 10});
  const auto first = bench.send_key("k");
  bench.finish(200, std::string(11, 'x'));
  EXPECT_EQ(first->status(), 200);
  EXPECT_EQ(bench.send_key("k")->status(), 409);
  EXPECT_EQ(bench.runs, 1);
}

TEST(Idempotent, WithoutRoomNothingRuns) {
  Bench bench({}, {.most_entries = 1});
  (void)bench.send_key("a");
  const auto refused = bench.send_key("b");
  EXPECT_EQ(refused->status(), 503);
  EXPECT_EQ(refused->field("retry-after"), "1");
  EXPECT_EQ(bench.runs, 1);
}

// A store whose every first was begun before.
class RecoveringStore final : public IdempotencyStore {
 public:
  Claim claim(std::string_view, const Fingerprint&, UnixTime) override {
    return {.state = KeyState::first, .token = 1, .recovered = true};
  }
  bool complete(std::string_view, std::uint64_t, const Response&, UnixTime) override {
    return false;
  }
  void release(std::string_view, std::uint64_t) override {}
};

TEST(Idempotent, AHandlerIsToldWhenSomebodyBeganAndDied) {
  RecoveringStore recovering;
  std::string seen;
  const auto keep = [&](const ExchangePtr& exchange) {
    seen = exchange->request().fields.find("damper-idempotency-recovered").value_or("no");
    exchange->respond({});
  };
  const auto first = fake_exchange("POST", "/", {{"idempotency-key", "k"}});
  idempotent(keep, recovering)(first);
  EXPECT_EQ(seen, "true");
  EXPECT_EQ(first->status(), 200);  // The store lost it; the caller has it.
  MemoryStore fresh;
  idempotent(keep, fresh)(fake_exchange(
      "POST", "/", {{"idempotency-key", "k"}, {"damper-idempotency-recovered", "true"}}));
  EXPECT_EQ(seen, "no");  // A caller cannot say so.
}

// Duplicates, other requests, callers that leave, slow and failing work, time that passes, in any
// order: each key's effect happens once for as long as its answer is kept.
TEST(Idempotent, EachEffectHappensExactlyOnceInEveryInterleaving) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto upto = [&](int most) { return static_cast<int>(random.draw() * (most + 1)); };
    Bench bench({}, {.retention = std::chrono::hours(1)});
    std::vector<std::shared_ptr<FakeExchange>> open;
    std::array<int, 4> done{};  // effects, by key
    for (int step = 0; step < 300; ++step) {
      bench.now += upto(50);
      const int key = upto(3);
      if (upto(2) > 0) {
        const bool other = upto(5) == 0;
        const auto sent =
            bench.send_key(std::to_string(key), other ? "other" : std::to_string(key));
        if (sent->status() == 201) {
          EXPECT_EQ(sent->answer->body, "effect " + std::to_string(key)) << "seed " << seed;
        }
        open.push_back(sent);
        if (other && !bench.work.empty() && bench.work.back()->request().body == "other") {
          bench.work.back()->respond({.status = 503, .fields = {}, .body = {}, .trailers = {}});
          bench.work.pop_back();  // It came first and did nothing.
        }
      } else if (!bench.work.empty() && upto(1) == 0) {
        const std::string body = bench.work.front()->request().body;
        if (upto(3) == 0) {
          bench.finish(503);  // Nothing was done.
        } else {
          ++done[static_cast<std::size_t>(std::stoi(body))];
          bench.finish(201, "effect " + body);
        }
      } else if (!open.empty()) {
        open[static_cast<std::size_t>(upto(static_cast<int>(open.size()) - 1))]->go_away();
      }
    }
    for (const int effects : done) ASSERT_LE(effects, 1) << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::http
