#include "damper/grpc/guard.h"

#include <grpc/impl/codegen/grpc_types.h>
#include <grpc/support/time.h>

#include <string>

#include "damper/base/instant.h"
#include "damper/decide/classify_grpc.h"
#include "damper/decide/retry_after.h"
#include "damper/run/clock.h"
#include "damper/run/outgoing_fields.h"
#include "damper/run/scope.h"

namespace damper::grpc {
namespace {

constexpr const char* kPushback = "grpc-retry-pushback-ms";

// On gRPC's own clock: wall time may jump.
gpr_timespec deadline_of(const Attempt& attempt) {
  const Duration left = between(run::now(), attempt.deadline());
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

}  // namespace

::grpc::ChannelArguments channel_arguments() {
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return arguments;
}

Owner::Owner(const Dependency& dependency, const Options& options)
    : above(options.owned_above || run::Scope::owned_above()),
      name(run::owner_name(above ? run::Scope::retry_owner() : dependency.name())),
      attempt(run::Scope::retry_attempt()) {}

void prepare(::grpc::ClientContext& context, const Attempt& attempt, const Owner& owner) {
  if (attempt.deadline() != kNever) context.set_deadline(deadline_of(attempt));
  run::OutgoingContext outgoing{.grpc_previous = attempt.number() - 1};
  if (owner.above || run::Scope::owned_above()) {
    outgoing.owner = owner.name;
    outgoing.owner_attempt = owner.above ? owner.attempt : 0;
    outgoing.attempt = attempt.number();
  }
  run::OutgoingFields fields;
  for (const run::OutgoingFields::Field& field : fields.write(outgoing)) {
    context.AddMetadata(std::string(field.name), std::string(field.value));
  }
}

decide::Report report_of(const ::grpc::Status& status, const ::grpc::ClientContext& context,
                         const Attempt& attempt) {
  decide::Report report{.outcome = decide::classify_grpc(status.error_code())};
  if (status.error_code() == ::grpc::StatusCode::DEADLINE_EXCEEDED &&
      run::now() >= attempt.deadline()) {
    report.outcome = decide::Outcome::timeout;  // Our own deadline, not the server's status.
  }
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto found = trailers.find(kPushback); found != trailers.end()) {
    decide::read_grpc_pushback({found->second.data(), found->second.size()}, report);
  }
  return report;
}

}  // namespace damper::grpc
