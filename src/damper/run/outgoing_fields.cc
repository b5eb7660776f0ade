#include "damper/run/outgoing_fields.h"

namespace damper::run {

std::span<const OutgoingFields::Field> OutgoingFields::write(const OutgoingContext& context) {
  size_ = 0;
  if (context.remaining != kForever) {
    deadline_ = schedule::format_request_deadline(context.remaining);
    add(schedule::kRequestDeadlineHeader, deadline_);
    if (context.grpc_timeout) {
      grpc_timeout_ = schedule::format_grpc_timeout(context.remaining);
      add(schedule::kGrpcTimeoutHeader, grpc_timeout_);
    }
    if (context.envoy_timeout) {
      add(schedule::kEnvoyTimeoutHeader, deadline_ == "0" ? "1" : std::string_view(deadline_));
    }
  }
  if (context.grpc_previous > 0) {
    previous_ = std::to_string(context.grpc_previous);
    add(decide::kGrpcPreviousAttemptsHeader, previous_);
  }
  if (!context.owner.empty()) add(decide::kRetryOwnerHeader, context.owner);
  if (context.attempt > 0) {
    const bool owned_above = context.owner_attempt != 0;
    attempt_ = decide::format_attempt(
        {.owned_above = owned_above, .attempt = owned_above ? context.owner_attempt : 1},
        context.attempt);
    add(decide::kAttemptHeader, attempt_);
  }
  if (!context.criticality.empty()) add(kCriticalityHeader, context.criticality);
  return {fields_.data(), size_};
}

}  // namespace damper::run
