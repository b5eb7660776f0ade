#ifndef DAMPER_GRPC_GUARD_H_
#define DAMPER_GRPC_GUARD_H_

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

// Arguments for a channel whose calls are guarded here: gRPC's own retries are off, so that one
// layer retries. Add yours to them.
//   ::grpc::CreateCustomChannel(target, credentials, damper::grpc::channel_arguments());
[[nodiscard]] ::grpc::ChannelArguments channel_arguments();

// An Owner is who retries, as it is told to the server. Taken before the call begins.
struct Owner {
  Owner(const Dependency& dependency, const Options& options);

  bool above = false;         // somebody above us does
  std::string name;           // "damper" where nobody has said one that can be sent
  std::uint32_t attempt = 1;  // of the one above
};

// Makes the context of an attempt: its deadline, which becomes grpc-timeout, and the metadata that
// tell the server which attempt it is and who retries. REQUIRES: inside of the attempt.
void prepare(::grpc::ClientContext& context, const Attempt& attempt, const Owner& owner);

// What the status of an attempt says about retrying, with the server's pushback. REQUIRES: the RPC
// is over.
[[nodiscard]] decide::Report report_of(const ::grpc::Status& status,
                                       const ::grpc::ClientContext& context,
                                       const Attempt& attempt);

// Cancels the RPC of the context when the attempt is asked to stop, while it lives.
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

#endif  // DAMPER_GRPC_GUARD_H_
