// What an endpoint that does not work costs the others: counted, not timed.
#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <vector>

#include "damper/webhooks/dispatch/dispatcher_testing.h"

namespace damper::webhooks {
namespace {

// The connections of SQLite that are opened while it lives, and the steps of its virtual machine
// that their statements have executed.
class SqliteSteps {
 public:
  SqliteSteps() { (void)sqlite3_auto_extension(entry()); }
  SqliteSteps(const SqliteSteps&) = delete;
  SqliteSteps& operator=(const SqliteSteps&) = delete;
  ~SqliteSteps() {
    (void)sqlite3_cancel_auto_extension(entry());
    opened().clear();
  }

  // Since the last call. The store is idle, and still open.
  [[nodiscard]] static std::int64_t take() {
    std::int64_t steps = 0;
    for (sqlite3* const file : opened()) {
      for (sqlite3_stmt* each = sqlite3_next_stmt(file, nullptr); each != nullptr;
           each = sqlite3_next_stmt(file, each)) {
        steps += sqlite3_stmt_status(each, SQLITE_STMTSTATUS_VM_STEP, 1);
      }
    }
    return steps;
  }
  // The file that prepare_file() has opened is closed: call it when the store is open.
  static void forget_closed(std::size_t keep) {
    auto& all = opened();
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(keep));
  }

 private:
  static std::vector<sqlite3*>& opened() {
    static std::vector<sqlite3*> files;
    return files;
  }
  static int on_open(sqlite3* file, const char** /*error*/, const sqlite3_api_routines* /*api*/) {
    opened().push_back(file);
    return SQLITE_OK;
  }
  using Entry = void (*)();
  static Entry entry() { return reinterpret_cast<Entry>(&SqliteSteps::on_open); }
};

struct Work {
  std::int64_t steps = 0;    // of the store, for the deliveries of the healthy endpoints
  int received = 0;          // by them
  int in_flight = 0;         // of them at once, while they do not answer
  int dead_attempts = 0;     // to the dead one meanwhile
  std::int64_t waiting = 0;  // of all others
};

constexpr int kMessages = 60;

// Two healthy endpoints beside one that is dead with `waiting` deliveries, one that never answers
// and one that has not answered yet.
Work measure(int waiting) {
  const TestFolder folder;
  http::Loop loop;
  SqliteSteps steps;
  bool answers = true;
  TestReceiver healthy(loop);
  std::vector<http::ExchangePtr> kept;
  TestReceiver busy(loop, [&](const http::ExchangePtr& exchange) {
    if (!answers) return kept.push_back(exchange);
    TestReceiver::respond(exchange, 200);
  });
  TestReceiver dead(loop, [](const auto& exchange) { TestReceiver::respond(exchange, 503); });
  std::vector<http::ExchangePtr> silent;
  TestReceiver hole(loop, [&](const auto& exchange) { silent.push_back(exchange); });

  DispatcherOptions options = test_options();
  options.max_in_flight = 48;
  options.policy.breaker.open_base = std::chrono::hours(1);
  options.policy.breaker.open_cap = std::chrono::hours(2);
  options.policy.timeout = std::chrono::minutes(5);
  TestDispatcher test(loop, folder.file("w.db"), options);
  SqliteSteps::forget_closed(4);  // writer, claims, lists, checkpoints

  const auto of_type = [](const char* type) {
    return [type](EndpointConfig& config) { config.types = {type}; };
  };
  test.add_endpoint(dead.url(), of_type("dead.one"));
  test.add_endpoint(hole.url(), of_type("hole.one"));
  test.add_endpoint(hole.url("/slow"), of_type("slow.one"));
  test.add_endpoint(healthy.url(), of_type("good.one"));
  test.add_endpoint(busy.url(), of_type("good.two"));

  // They show that they are healthy; the others have their work.
  for (int i = 0; i < 40; ++i) {
    (void)test.send("good.one");
    (void)test.send("good.two");
  }
  for (int i = 0; i < waiting; ++i) (void)test.send("dead.one");
  for (int i = 0; i < 50; ++i) {
    (void)test.send("hole.one");
    (void)test.send("slow.one");
  }
  const auto delivered = [&] { return test.dispatcher->totals().delivered; };
  const auto settled = [&] { return test.count().waiting; };
  EXPECT_TRUE(turn_until(loop, [&] {
    return delivered() == 80 && dead.requests >= 8 && silent.size() == 8 &&
           test.dispatcher->totals().in_flight == 8;
  }));
  EXPECT_TRUE(turn_until(loop, [&] { return settled() == waiting + 100; }));

  Work work;
  const int dead_before = dead.requests;
  (void)SqliteSteps::take();
  for (int i = 0; i < kMessages; ++i) (void)test.send("good.one");
  EXPECT_TRUE(turn_until(loop, [&] { return delivered() == 80 + kMessages; }));
  EXPECT_TRUE(turn_until(loop, [&] { return healthy.requests == 40 + kMessages; }));
  // The settlements and their claims, but not the count.
  (void)test.dispatcher->hold({}, Hold::deliveries, {.off = true, .reason = "counted"});
  bool idle = false;
  test.store->put_application("default", run::wall_time(),
                              [&](const auto&) { loop.post([&idle] { idle = true; }); });
  EXPECT_TRUE(turn_until(loop, [&] { return idle; }));
  work.steps = SqliteSteps::take();
  (void)test.dispatcher->hold({}, Hold::deliveries, {});
  work.received = healthy.requests - 40;

  // One that is slow to answer gets its whole concurrency.
  answers = false;
  for (int i = 0; i < kMessages; ++i) (void)test.send("good.two");
  EXPECT_TRUE(turn_until(loop, [&] { return kept.size() >= 16; }));
  EXPECT_TRUE(turn_until(loop, [&] { return settled() == waiting + 100 + kMessages; }));
  work.in_flight = static_cast<int>(kept.size());
  work.dead_attempts = dead.requests - dead_before;
  work.waiting = settled();
  return work;
}

// Trap W3.
TEST(Isolation, WhatWaitsForADeadEndpointCostsTheOthersNothing) {
  const Work few = measure(100);
  const int many_waiting = DAMPER_INSTRUMENTED != 0 ? 1'000 : 10'000;
  const Work many = measure(many_waiting);
  EXPECT_EQ(few.waiting, 100 + 100 + kMessages);
  EXPECT_EQ(many.waiting, many_waiting + 100 + kMessages);
  EXPECT_EQ(few.received, kMessages);
  EXPECT_EQ(many.received, kMessages);
  EXPECT_EQ(few.in_flight, 16);
  EXPECT_EQ(many.in_flight, 16);
  EXPECT_EQ(few.dead_attempts + many.dead_attempts, 0);
  // How many deliveries share a claim depends on the threads: a factor, not a number.
  EXPECT_GT(few.steps, 1'000);
  EXPECT_LT(many.steps, 2 * few.steps);
  EXPECT_LT(few.steps, 2 * many.steps);
}

}  // namespace
}  // namespace damper::webhooks
