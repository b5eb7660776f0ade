#pragma once

#include <grpcpp/support/status.h>

#include <optional>
#include <stdexcept>
#include <system_error>

#include "damper/base/expected.h"
#include "damper/decide/outcome.h"
#include "damper/run/result.h"

namespace damper::grpc {

// The codes of gRPC as std::error_code: Failure::error of a guarded call is one of these.
[[nodiscard]] const std::error_category& category() noexcept;

// What CallResult::value() throws when the last attempt ended with this status.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(const ::grpc::Status& status);
  [[nodiscard]] const ::grpc::Status& status() const noexcept { return status_; }

 private:
  ::grpc::Status status_;
};

// The failure of an attempt that ended with this status and report. REQUIRES: the status is not OK.
[[nodiscard]] Unexpected<Failure> failed(const ::grpc::Status& status,
                                         const decide::Report& report);

// The status with which the attempt ended; nothing if it was not a guarded gRPC call.
[[nodiscard]] std::optional<::grpc::Status> find_status(const Failure& failure);

}  // namespace damper::grpc
