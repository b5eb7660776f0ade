#include "damper/http/server/guard_loop.h"

#include <gtest/gtest.h>

#include <vector>

#include "damper/http/net/loop.h"
#include "damper/http/server/exchange_testing.h"
#include "damper/http/server/guard_testing.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

TEST(LoopGuard, WhoWaitsIsToldByTheLoopsTimer) {
  Loop loop;
  LoopGuard door(loop, guard_options(1));
  std::vector<ExchangePtr> work;
  const Handler handler =
      guarded([&](ExchangePtr exchange) { work.push_back(std::move(exchange)); }, door.guard());
  const auto a = fake_exchange("GET", "/", {}, {}, run::now());
  const auto b = fake_exchange("GET", "/", {{"x-request-deadline", "20"}}, {}, run::now());
  handler(a);
  handler(b);
  loop.run();  // Until nobody waits any more.
  EXPECT_EQ(a->status(), 0);
  EXPECT_EQ(b->status(), 504);
  EXPECT_GE(run::now(), b->arrived() + std::chrono::milliseconds(19));
  work[0]->respond({});
  EXPECT_EQ(a->status(), 200);
}

TEST(LoopGuard, ItMayEndWhileSomebodyWaits) {
  Loop loop;
  std::vector<ExchangePtr> work;
  const auto a = fake_exchange("GET", "/", {}, {}, run::now());
  const auto b = fake_exchange("GET", "/", {}, {}, run::now());
  {
    LoopGuard door(loop, guard_options(1));
    const Handler handler =
        guarded([&](ExchangePtr exchange) { work.push_back(std::move(exchange)); }, door.guard());
    handler(a);
    handler(b);
  }
  EXPECT_EQ(b->status(), 503);
  loop.run();  // Nothing is left to wait for.
}

}  // namespace
}  // namespace damper::http
