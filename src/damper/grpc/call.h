#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <type_traits>
#include <utility>

#include "damper/grpc/guard.h"
#include "damper/grpc/status.h"
#include "damper/run/attempt.h"
#include "damper/run/blocking.h"
#include "damper/run/dependency.h"
#include "damper/run/result.h"

namespace damper::grpc {

// The Reply of a function Status(ClientContext&, Reply&).
template <class Function>
struct ReplyOf : ReplyOf<decltype(&Function::operator())> {};
template <class Class, class R>
struct ReplyOf<::grpc::Status (Class::*)(::grpc::ClientContext&, R&)> {
  using type = R;
};
template <class Class, class R>
struct ReplyOf<::grpc::Status (Class::*)(::grpc::ClientContext&, R&) const> {
  using type = R;
};

// Guards a unary RPC of a generated stub: damper::call with gRPC's statuses, deadline and pushback.
//
//   auto reply = damper::grpc::call(billing, {.idempotent = true},
//       [&](::grpc::ClientContext& context, Invoice& invoice) {
//         return stub->Get(&context, request, &invoice);
//       });
//
// Each attempt has a context of its own, with the attempt's deadline as grpc-timeout, and
// grpc-previous-rpc-attempts, damper-retry-owner and damper-attempt as metadata; add your own
// metadata inside. UNAVAILABLE is retried if the call is idempotent (`.safe = true` for a read that
// may be hedged, too); RESOURCE_EXHAUSTED only with a grpc-retry-pushback-ms of the server. The
// loser of a hedge is cancelled at its server.
// Without a value, CallResult::value() throws a StatusError. Use it over channels made with
// channel_arguments(): otherwise gRPC retries below.
template <class Rpc, class Reply = typename ReplyOf<std::decay_t<Rpc>>::type>
[[nodiscard]] CallResult<Reply> call(Dependency& dependency, const Options& options, Rpc&& rpc) {
  const Owner owner(dependency, options);
  return damper::call(dependency, options, [&](const Attempt& attempt) -> Result<Reply> {
    ::grpc::ClientContext context;
    prepare(context, attempt, owner);
    Reply reply;
    const CancelledByStop cancelled(context, attempt);
    const ::grpc::Status status = std::invoke(rpc, context, reply);
    if (status.ok()) return Result<Reply>(std::move(reply));
    return failed(status, report_of(status, context, attempt));
  });
}

}  // namespace damper::grpc
