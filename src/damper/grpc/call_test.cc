#include "damper/grpc/call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "damper/grpc/greeter_testing.h"
#include "damper/run/clock.h"
#include "damper/run/scope.h"

// Not under tsan: gRPC comes from the distribution, without instrumentation, so every
// synchronisation inside of it looks like a race. The threads here are gRPC's own.

namespace damper::grpc {
namespace {

using namespace std::chrono_literals;
using greeter::Greeting;
using ::grpc::ClientContext;
using ::grpc::ServerContext;
using ::grpc::Status;
using ::grpc::StatusCode;

auto greet(GreeterServer& server) {
  return [&server](ClientContext& context, Greeting& greeting) {
    return server.stub().Greet(&context, greeter::Name(), &greeting);
  };
}

// Answers with these codes, one after the other, then with OK.
auto codes(std::vector<StatusCode> codes, std::atomic<int>& served) {
  return [codes = std::move(codes), &served](ServerContext&, Greeting& greeting) {
    const auto i = static_cast<std::size_t>(served++);
    greeting.set_text("hello");
    return i < codes.size() ? Status(codes[i], "as the test says") : Status::OK;
  };
}

TEST(GrpcCall, UnavailableIsRetriedIfTheCallIsIdempotent) {
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet = codes({StatusCode::UNAVAILABLE, StatusCode::UNAVAILABLE}, served);
  Dependency dependency("test", quick_policy());
  const auto reply = call(dependency, {.idempotent = true}, greet(server));
  EXPECT_EQ(reply.verdict(), Verdict::success);
  EXPECT_EQ((*reply).text(), "hello");
  EXPECT_EQ(served, 3);

  served = 0;
  server.greet = codes({StatusCode::UNAVAILABLE}, served);
  EXPECT_EQ(call(dependency, {}, greet(server)).verdict(), Verdict::not_idempotent);
  EXPECT_EQ(served, 1);  // gRPC itself did not retry either.
}

TEST(GrpcCall, AFinalStatusIsTold) {
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet = codes({StatusCode::NOT_FOUND}, served);
  Dependency dependency("test", quick_policy());
  auto reply = call(dependency, {.idempotent = true}, greet(server));
  EXPECT_EQ(reply.verdict(), Verdict::permanent);
  ASSERT_NE(reply.failure(), nullptr);
  const std::optional<Status> status = find_status(*reply.failure());
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(status->error_message(), "as the test says");
  EXPECT_THROW((void)reply.value(), StatusError);
}

TEST(GrpcCall, AnOverloadIsNotArguedWith) {
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet = codes({StatusCode::RESOURCE_EXHAUSTED}, served);
  Dependency dependency("test", quick_policy());
  EXPECT_EQ(call(dependency, {.idempotent = true}, greet(server)).verdict(), Verdict::overload);
  EXPECT_EQ(served, 1);
}

// Refuses once, with this word on when to come back.
auto pushes_back(StatusCode code, std::string word, std::atomic<int>& served) {
  return [code, word = std::move(word), &served](ServerContext& context, Greeting&) {
    if (served++ > 0) return Status::OK;
    context.AddTrailingMetadata("grpc-retry-pushback-ms", word);
    return Status(code, "");
  };
}

TEST(GrpcCall, ThePushbackIsObeyed) {
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet = pushes_back(StatusCode::RESOURCE_EXHAUSTED, "40", served);
  Dependency dependency("test", quick_policy());
  const Instant before = run::now();
  EXPECT_TRUE(call(dependency, {.idempotent = true}, greet(server)));
  EXPECT_GE(run::now() - before, 40ms);
  EXPECT_EQ(served, 2);
}

TEST(GrpcCall, ANegativePushbackEndsTheCall) {
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet = pushes_back(StatusCode::UNAVAILABLE, "-1", served);
  Dependency dependency("test", quick_policy());
  EXPECT_EQ(call(dependency, {.idempotent = true}, greet(server)).verdict(), Verdict::pushed_back);
  EXPECT_EQ(served, 1);
}

// Trap D2: the deadline that the server sees is what is left, in every attempt.
TEST(GrpcCall, TheServersDeadlineIsWhatIsLeft) {
  GreeterServer server;
  std::vector<Duration> left;
  server.greet = [&](ServerContext& context, Greeting&) {
    left.push_back(context.deadline() - std::chrono::system_clock::now());
    std::this_thread::sleep_for(150ms);
    return Status(StatusCode::UNAVAILABLE, "");
  };
  Dependency dependency("test", quick_policy());
  (void)call(dependency, {.idempotent = true, .deadline = in(900ms)}, greet(server));
  ASSERT_EQ(left.size(), 3u);
  EXPECT_LE(left[0], 930ms);  // gRPC rounds grpc-timeout up, by a few percent.
  EXPECT_LE(left[1], left[0] - 100ms);
  EXPECT_LE(left[2], left[1] - 100ms);
  EXPECT_GT(left[2], 100ms);
}

TEST(GrpcCall, AnAttemptsOwnTimeoutIsATimeout) {
  engine::Policy policy = quick_policy();
  policy.call.per_try_timeout = 30ms;
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet = [&](ServerContext& context, Greeting&) {
    if (served++ == 0) {
      while (!context.IsCancelled()) std::this_thread::sleep_for(1ms);
    }
    return Status::OK;
  };
  Dependency dependency("test", policy);
  const auto reply = call(dependency, {.idempotent = true}, greet(server));
  EXPECT_EQ(reply.verdict(), Verdict::success);
  EXPECT_EQ(dependency.tally().retries_for(decide::Outcome::timeout), 1u);
}

TEST(GrpcCall, TheServerIsToldWhichAttemptItIsAndWhoRetries) {
  GreeterServer server;
  std::vector<std::string> seen;
  server.greet = [&](ServerContext& context, Greeting&) {
    std::string line;
    for (const char* key : {"grpc-previous-rpc-attempts", "damper-retry-owner", "damper-attempt"}) {
      line += GreeterServer::find_metadata(context, key).value_or("-") + " ";
    }
    seen.push_back(line);
    return Status(StatusCode::UNAVAILABLE, "");
  };
  Dependency dependency("billing", quick_policy());
  (void)call(dependency, {.idempotent = true}, greet(server));
  EXPECT_EQ(seen, (std::vector<std::string>{"- billing 1 ", "1 billing 2 ", "2 billing 3 "}));

  seen.clear();  // A call around it retries.
  Dependency checkout("checkout", quick_policy());
  (void)damper::call(checkout, {.idempotent = true}, [&](const Attempt&) {
    return call(dependency, {.idempotent = true}, greet(server)).failure()->report.outcome;
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"- checkout 1 ", "- checkout 2 ", "- checkout 3 "}));

  seen.clear();  // Somebody who is not known by name.
  (void)call(dependency, {.idempotent = true, .owned_above = true}, greet(server));
  EXPECT_EQ(seen, (std::vector<std::string>{"- damper 1 "}));

  seen.clear();  // Somebody above retries: what it said is passed on.
  const run::RequestContext request{
      .owned_above = {.retries = true, .unsent = true}, .retry_owner = "edge", .attempt = 4};
  const run::Scope inside(request);
  EXPECT_EQ(call(dependency, {.idempotent = true}, greet(server)).verdict(), Verdict::layered);
  EXPECT_EQ(seen, (std::vector<std::string>{"- edge 4 "}));
}

TEST(GrpcCall, TheLoserOfAHedgeIsCancelledAndItsServerSeesIt) {
  Dependency dependency("test", hedging_policy());
  warm(dependency);
  GreeterServer server;
  std::atomic<int> served{0};
  std::atomic<bool> cancelled{false};
  server.greet = [&](ServerContext& context, Greeting& greeting) {
    if (served++ == 0) {
      while (!context.IsCancelled()) std::this_thread::sleep_for(1ms);
      cancelled = true;
      return Status::CANCELLED;
    }
    greeting.set_text("hedge");
    return Status::OK;
  };
  const auto reply = call(dependency, {.safe = true, .deadline = in(5s)}, greet(server));
  EXPECT_EQ((*reply).text(), "hedge");
  EXPECT_EQ(dependency.tally().hedges, 1u);  // Whichever of the two the server saw first.
  for (int i = 0; i < 2'000 && !cancelled; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(cancelled);
}

TEST(GrpcCall, AStopCancelsTheRpc) {
  GreeterServer server;
  std::stop_source stop;
  server.greet = [&](ServerContext& context, Greeting&) {
    stop.request_stop();
    while (!context.IsCancelled()) std::this_thread::sleep_for(1ms);
    return Status::CANCELLED;
  };
  Dependency dependency("test", quick_policy());
  const auto reply =
      call(dependency, {.idempotent = true, .stop = stop.get_token()}, greet(server));
  EXPECT_FALSE(reply);
  EXPECT_EQ(reply.attempts(), 1u);
}

}  // namespace
}  // namespace damper::grpc
