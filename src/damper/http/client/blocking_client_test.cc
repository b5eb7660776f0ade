#include "damper/http/client/blocking_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "damper/http/client/client_testing.h"
#include "damper/run/clock.h"
#include "damper/run/scope.h"

namespace damper::http {
namespace {

using namespace std::chrono_literals;

// A server with a thread of its own.
class ServerThread {
 public:
  explicit ServerThread(TestServer::Handler handler)
      : server_(loop_, std::move(handler)), url_(server_.url()), thread_([this] { loop_.run(); }) {}
  ~ServerThread() {
    loop_.stop();
    thread_.join();
  }
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  Loop loop_;
  TestServer server_;
  const std::string url_;
  std::thread thread_;
};

TEST(BlockingClient, ManyThreadsAskAndEachHasItsOwnAnswer) {
  const ServerThread server([](TestServer::Exchange& exchange) {
    exchange.respond(200, exchange.request.target + exchange.request.body);
  });
  Dependency dependency("test");
  BlockingClient client(dependency, {.endpoints = {server.url()}});
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 25; ++i) {
          const std::string body = std::to_string(thread) + "/" + std::to_string(i);
          const HttpResult answer = client.put("/", body, in(5s));
          if (answer && answer.answer()->body == "/" + body) ++right;
        }
      });
    }
  }
  EXPECT_EQ(right, 100);
}

TEST(BlockingClient, InheritsTheDeadlineAndWhoRetriesFromItsThread) {
  std::atomic<int> requests{0};
  const ServerThread server([&](TestServer::Exchange& exchange) {
    ++requests;
    exchange.respond(503);
  });
  Dependency dependency("test");
  BlockingClient client(dependency, {.endpoints = {server.url()}});
  {
    const run::Scope inside(schedule::Deadline(run::now() + 5s), {.retries = true, .unsent = true});
    EXPECT_EQ(client.get("/", kNever).verdict(), Verdict::layered);
    EXPECT_EQ(requests, 1);
  }
  const run::Scope late(schedule::Deadline(run::now() - 1s), {});
  EXPECT_EQ(client.get("/", kNever).verdict(), Verdict::deadline_passed);
  EXPECT_EQ(requests, 1);
}

}  // namespace
}  // namespace damper::http
