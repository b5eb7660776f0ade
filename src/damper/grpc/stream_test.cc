#include "damper/grpc/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "damper/grpc/greeter_testing.h"
#include "damper/run/clock.h"

// Not under tsan: gRPC comes from the distribution, without instrumentation.

namespace damper::grpc {
namespace {

using namespace std::chrono_literals;
using greeter::Greeting;
using ::grpc::ClientContext;
using ::grpc::ServerContext;
using ::grpc::Status;
using ::grpc::StatusCode;

auto open(GreeterServer& server) {
  return [&server](ClientContext& context) {
    return server.stub().GreetOften(&context, greeter::Name());
  };
}

Greeting greeting(const std::string& text) {
  Greeting greeting;
  greeting.set_text(text);
  return greeting;
}

std::string all(Stream<Greeting>& stream) {
  std::string text;
  for (Greeting next; stream.read(next);) text += next.text();
  return text;
}

TEST(GrpcStream, IsRetriedUntilItsFirstMessage) {
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet_often = [&](ServerContext&, GreeterServer::Writer& writer) {
    if (served++ == 0) return Status(StatusCode::UNAVAILABLE, "");
    for (const char* text : {"a", "b", "c"}) writer.Write(greeting(text));
    return Status::OK;
  };
  Dependency dependency("test", quick_policy());
  auto stream = grpc::stream(dependency, {.idempotent = true}, open(server));
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream.attempts(), 2u);
  EXPECT_EQ(all(*stream), "abc");
  EXPECT_TRUE(stream->finish().ok());
}

TEST(GrpcStream, IsNotRetriedAfterIt) {
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet_often = [&](ServerContext&, GreeterServer::Writer& writer) {
    ++served;
    writer.Write(greeting("a"));
    return Status(StatusCode::UNAVAILABLE, "half");
  };
  Dependency dependency("test", quick_policy());
  auto stream = grpc::stream(dependency, {.idempotent = true}, open(server));
  ASSERT_TRUE(stream);
  EXPECT_EQ(all(*stream), "a");
  EXPECT_EQ(stream->finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(served, 1);
}

TEST(GrpcStream, WithoutAMessageItsStatusDecides) {
  GreeterServer server;
  Status status = Status::OK;
  server.greet_often = [&](ServerContext&, GreeterServer::Writer&) { return status; };
  Dependency dependency("test", quick_policy());
  auto empty = grpc::stream(dependency, {}, open(server));
  ASSERT_TRUE(empty);
  EXPECT_EQ(all(*empty), "");
  EXPECT_TRUE(empty->finish().ok());
  status = Status(StatusCode::NOT_FOUND, "");
  EXPECT_EQ(grpc::stream(dependency, {}, open(server)).verdict(), Verdict::permanent);
}

TEST(GrpcStream, OneThatIsLetGoIsCancelled) {
  GreeterServer server;
  std::atomic<bool> cancelled{false};
  server.greet_often = [&](ServerContext& context, GreeterServer::Writer& writer) {
    writer.Write(greeting("a"));
    while (!context.IsCancelled()) std::this_thread::sleep_for(1ms);
    cancelled = true;
    return Status::CANCELLED;
  };
  Dependency dependency("test", quick_policy());
  {
    const auto stream = grpc::stream(dependency, {.deadline = in(10s)}, open(server));
    EXPECT_TRUE(stream);
  }
  for (int i = 0; i < 2'000 && !cancelled; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(cancelled);
}

TEST(GrpcStream, IsHedgedUntilItsFirstMessage) {
  Dependency dependency("test", hedging_policy());
  warm(dependency);
  GreeterServer server;
  std::atomic<int> served{0};
  server.greet_often = [&](ServerContext& context, GreeterServer::Writer& writer) {
    if (served++ == 0) {
      while (!context.IsCancelled()) std::this_thread::sleep_for(1ms);
      return Status::CANCELLED;
    }
    writer.Write(greeting("hedge"));
    return Status::OK;
  };
  auto stream = grpc::stream(dependency, {.safe = true, .deadline = in(5s)}, open(server));
  ASSERT_TRUE(stream);
  EXPECT_EQ(all(*stream), "hedge");
  EXPECT_EQ(dependency.tally().hedges, 1u);  // Whichever of the two the server saw first.
}

}  // namespace
}  // namespace damper::grpc
