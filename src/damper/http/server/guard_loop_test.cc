#include "damper/http/server/guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "damper/http/idempotency/idempotency_memory.h"
#include "damper/http/idempotency/idempotent.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/exchange_testing.h"
#include "damper/http/server/guard_testing.h"
#include "damper/http/server/server_testing.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

TEST(LoopGuard, WhoWaitsIsToldByTheLoopsTimer) {
  Loop loop;
  LoopGuard door(loop, patient_guard_options(1));
  std::vector<ExchangePtr> work;
  const Handler handler =
      guarded([&](ExchangePtr exchange) { work.push_back(std::move(exchange)); }, door.guard());
  const auto a = fake_exchange("GET", "/", {{"x-request-deadline", "40"}}, {}, run::now());
  const auto b = fake_exchange("GET", "/", {{"x-request-deadline", "20"}}, {}, run::now());
  handler(a);
  handler(b);
  int at_the_first = -1;
  work[0]->on_cancel([&] { at_the_first = b->status(); });
  loop.run();  // Until nobody waits any more, and nothing runs before its deadline.
  EXPECT_EQ(at_the_first, 504);
  EXPECT_EQ(a->status(), 504);
  EXPECT_EQ(b->status(), 504);
  EXPECT_GE(run::now(), a->arrived() + std::chrono::milliseconds(40));
}

TEST(LoopGuard, ItMayEndWhileSomebodyWaits) {
  Loop loop;
  std::vector<ExchangePtr> work;
  const auto a = fake_exchange("GET", "/", {}, {}, run::now());
  const auto b = fake_exchange("GET", "/", {}, {}, run::now());
  {
    LoopGuard door(loop, patient_guard_options(1));
    const Handler handler =
        guarded([&](ExchangePtr exchange) { work.push_back(std::move(exchange)); }, door.guard());
    handler(a);
    handler(b);
  }
  EXPECT_EQ(b->status(), 503);
  loop.run();  // Nothing is left to wait for.
}

// A handler that hands its work to a thread, which forgets it; behind all that can be before it.
TEST(LoopGuard, WhereverAnExchangeIsLetGoOfItsEndIsOnTheLoop) {
  MemoryStore store;
  std::unique_ptr<LoopGuard> door;
  std::mutex mutex;
  std::vector<ExchangePtr> work;
  Loop* loop = nullptr;
  int calls = 0;  // without a lock: on the loop's thread alone
  const auto keep = [&](ExchangePtr exchange) {
    EXPECT_TRUE(loop->is_here());
    ++calls;
    const std::lock_guard lock(mutex);
    work.push_back(std::move(exchange));
  };
  TestServer server(
      [&](Loop& on, ServerMetrics& counts) {
        loop = &on;
        door = std::make_unique<LoopGuard>(on, patient_guard_options(2));
        return TestServer::own(
            new HandlerService(on, guarded(idempotent(keep, store), door->guard()), {}, &counts));
      },
      {});
  constexpr int kRequests = 40;
  std::atomic<bool> over = false;
  std::thread worker([&] {
    while (!over) {
      server.run([] {});  // What called the handler has let go.
      const std::lock_guard lock(mutex);
      work.clear();
    }
  });
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < kRequests; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port));
    clients.back()->send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nIdempotency-Key: " +
                         std::to_string(i / 2) + "\r\n\r\n");
  }
  for (auto& client : clients) {
    const std::string answer = client->read_to("\r\n\r\n");
    const bool known = answer.starts_with("HTTP/1.1 500") || answer.starts_with("HTTP/1.1 409");
    EXPECT_TRUE(known) << answer;
  }
  over = true;
  worker.join();
  server.run([&] {
    EXPECT_EQ(calls, kRequests / 2);
    EXPECT_EQ(door->guard().admission().in_flight(), 0);
    server.server.reset();
    door.reset();
  });
}

}  // namespace
}  // namespace damper::http
