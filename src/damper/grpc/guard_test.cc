#include "damper/grpc/guard.h"

#include <grpc/impl/codegen/grpc_types.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>

#include "damper/run/clock.h"
#include "damper/run/scope.h"

// Not under tsan: gRPC comes from the distribution, without instrumentation.

namespace damper::grpc {
namespace {

using namespace std::chrono_literals;

TEST(GrpcGuard, TheChannelsOwnRetriesAreOff) {
  const ::grpc::ChannelArguments owner = channel_arguments();
  const grpc_channel_args arguments = owner.c_channel_args();
  bool found = false;
  for (std::size_t i = 0; i < arguments.num_args; ++i) {
    if (std::string(arguments.args[i].key) != GRPC_ARG_ENABLE_RETRIES) continue;
    EXPECT_EQ(arguments.args[i].value.integer, 0);
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST(GrpcGuard, WhoRetriesIsTakenFromAboveIfSomebodyDoes) {
  Dependency dependency("billing");
  EXPECT_EQ(Owner(dependency, {}).name, "billing");
  EXPECT_FALSE(Owner(dependency, {}).above);
  EXPECT_EQ(Owner(dependency, {.owned_above = true}).name, "damper");  // Nobody has said who.
  const run::RequestContext request{.owned_above = {.retries = true}, .retry_owner = "edge"};
  const run::Scope inside(request);
  EXPECT_EQ(Owner(dependency, {}).name, "edge");
  EXPECT_TRUE(Owner(dependency, {}).above);
}

TEST(GrpcGuard, WhoRetriesIsACallAroundItIfThereIsOne) {
  Dependency outer("checkout");
  Dependency dependency("billing");
  (void)damper::call(outer, {.idempotent = true}, [&](const Attempt&) {
    EXPECT_EQ(Owner(dependency, {}).name, "checkout");
    EXPECT_TRUE(Owner(dependency, {}).above);
    return decide::Outcome::success;
  });
}

TEST(GrpcGuard, ANameThatCannotBeAHeaderIsReplaced) {
  Dependency dependency("not a name");
  EXPECT_EQ(Owner(dependency, {}).name, "damper");
}

TEST(GrpcGuard, AStatusIsClassified) {
  const std::stop_token stop;
  const engine::Attempt sent{.number = 1, .sent = run::now(), .deadline = run::now() + 1h};
  const engine::Attempt late{.number = 1, .sent = run::now(), .deadline = run::now()};
  const ::grpc::ClientContext context;
  const auto outcome = [&](::grpc::StatusCode code, const engine::Attempt& attempt) {
    return report_of(::grpc::Status(code, ""), context, Attempt(attempt, stop)).outcome;
  };
  using ::grpc::StatusCode;
  EXPECT_EQ(outcome(StatusCode::UNAVAILABLE, sent), decide::Outcome::transient);
  EXPECT_EQ(outcome(StatusCode::RESOURCE_EXHAUSTED, sent), decide::Outcome::overload);
  EXPECT_EQ(outcome(StatusCode::DEADLINE_EXCEEDED, sent), decide::Outcome::overload);
  EXPECT_EQ(outcome(StatusCode::DEADLINE_EXCEEDED, late), decide::Outcome::timeout);
}

}  // namespace
}  // namespace damper::grpc
