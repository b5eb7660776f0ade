#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <stop_token>
#include <string>

#include "damper/decide/outcome.h"
#include "damper/run/attempt.h"
#include "damper/run/blocking.h"
#include "damper/run/dependency.h"

namespace damper::grpc {

// Arguments for a channel whose calls are guarded here: gRPC's own retries are disabled, so that
// one layer retries. Add your own to them.
//   ::grpc::CreateCustomChannel(target, credentials, damper::grpc::channel_arguments());
[[nodiscard]] ::grpc::ChannelArguments channel_arguments();

// An Owner is the layer that retries, as it is sent to the server. Created before the call begins.
struct Owner {
  Owner(const Dependency& dependency, const Options& options);

  bool above = false;         // a layer above retries
  std::string name;           // "damper" if there is no valid name
  std::uint32_t attempt = 1;  // of the layer above
};

// Sets an attempt's deadline, which is sent as grpc-timeout, and the metadata of
// run::OutgoingFields. REQUIRES: inside of the attempt.
void prepare(::grpc::ClientContext& context, const Attempt& attempt, const Owner& owner);

// The report of an attempt's status and the server's pushback to the engine. REQUIRES: the RPC is
// over.
[[nodiscard]] decide::Report report_of(const ::grpc::Status& status,
                                       const ::grpc::ClientContext& context,
                                       const Attempt& attempt);

// While it lives, cancels the RPC of the context when the attempt's stop is requested.
class CancelledByStop {
 public:
  CancelledByStop(::grpc::ClientContext& context, const Attempt& attempt)
      : callback_(attempt.stop(), Cancel{context}) {}

 private:
  struct Cancel {
    ::grpc::ClientContext& context;
    void operator()() const noexcept { context.TryCancel(); }
  };
  std::stop_callback<Cancel> callback_;
};

}  // namespace damper::grpc
