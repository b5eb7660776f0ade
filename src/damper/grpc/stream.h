#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "damper/grpc/guard.h"
#include "damper/grpc/status.h"
#include "damper/run/attempt.h"
#include "damper/run/blocking.h"
#include "damper/run/dependency.h"
#include "damper/run/result.h"

namespace damper::grpc {

// A Stream reads a server's messages; the first one was received already. It is cancelled if it is
// destroyed before its end.
template <class Message>
class Stream {
 public:
  using Reader = std::unique_ptr<::grpc::ClientReader<Message>>;

  Stream(std::unique_ptr<::grpc::ClientContext> context, Reader reader)
      : context_(std::move(context)), reader_(std::move(reader)) {
    Message message;
    if (reader_->Read(&message)) {
      first_ = std::move(message);
    } else {
      status_ = reader_->Finish();
    }
  }
  Stream(Stream&&) noexcept = default;
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (reader_ == nullptr || status_) return;
    context_->TryCancel();
    (void)reader_->Finish();
  }

  // Reads the next message; false at the end: finish() has the status.
  [[nodiscard]] bool read(Message& message) {
    if (first_) {
      message = *std::exchange(first_, std::nullopt);
      return true;
    }
    return !status_ && reader_->Read(&message);
  }
  // The final status. REQUIRES: read() returned false.
  [[nodiscard]] const ::grpc::Status& finish() {
    if (!status_) status_ = reader_->Finish();
    return *status_;
  }
  [[nodiscard]] bool has_begun() const noexcept { return first_.has_value(); }
  [[nodiscard]] ::grpc::ClientContext& context() noexcept { return *context_; }

 private:
  std::unique_ptr<::grpc::ClientContext> context_;
  Reader reader_;
  std::optional<Message> first_;
  std::optional<::grpc::Status> status_;
};

// The Message of a ClientReader<Message>.
template <class Reader>
struct ReadBy;
template <class Message>
struct ReadBy<::grpc::ClientReader<Message>> {
  using type = Message;
};

// Guards a server-streaming RPC until its first message: until then it may be retried and hedged,
// afterwards the caller reads it.
//
//   auto rows = damper::grpc::stream(table, {.idempotent = true},
//       [&](::grpc::ClientContext& context) { return stub->Scan(&context, request); });
//   for (Row row; rows && rows->read(row);) use(row);
//
// The deadline of the attempt is that of the whole stream: leave per_try_timeout out of the policy
// of long ones. options.stop cancels it until it is handed over, context().TryCancel() afterwards.
template <class Open>
[[nodiscard]] auto stream(Dependency& dependency, const Options& options, Open&& open) {
  using Reader = typename std::invoke_result_t<Open&, ::grpc::ClientContext&>::element_type;
  using Opened = Stream<typename ReadBy<Reader>::type>;
  const Owner owner(dependency, options);
  return damper::call(dependency, options, [&](const Attempt& attempt) -> Result<Opened> {
    auto context = std::make_unique<::grpc::ClientContext>();
    ::grpc::ClientContext& opened = *context;
    prepare(opened, attempt, owner);
    const CancelledByStop cancelled(opened, attempt);
    auto reader = std::invoke(open, opened);
    Opened stream(std::move(context), std::move(reader));
    if (stream.has_begun() || stream.finish().ok()) return Result<Opened>(std::move(stream));
    return failed(stream.finish(), report_of(stream.finish(), opened, attempt));
  });
}

}  // namespace damper::grpc
