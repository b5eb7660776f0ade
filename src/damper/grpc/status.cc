#include "damper/grpc/status.h"

#include <array>
#include <exception>
#include <string>
#include <string_view>

namespace damper::grpc {
namespace {

constexpr std::array<std::string_view, 17> kNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

std::string name_of(int code) {
  if (code < 0 || code >= static_cast<int>(kNames.size())) return "code " + std::to_string(code);
  return std::string(kNames[static_cast<std::size_t>(code)]);
}

class Category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "grpc"; }
  [[nodiscard]] std::string message(int code) const override { return name_of(code); }
};

}  // namespace

const std::error_category& category() noexcept {
  static const Category kCategory;
  return kCategory;
}

StatusError::StatusError(const ::grpc::Status& status)
    : std::runtime_error("grpc: " + name_of(status.error_code()) + ": " + status.error_message()),
      status_(status) {}

Unexpected<Failure> failed(const ::grpc::Status& status, const decide::Report& report) {
  Unexpected<Failure> failure = damper::failed(report);
  failure.error.error = std::error_code(status.error_code(), category());
  failure.error.exception = std::make_exception_ptr(StatusError(status));
  return failure;
}

std::optional<::grpc::Status> find_status(const Failure& failure) {
  if (!failure.exception) return std::nullopt;
  try {
    std::rethrow_exception(failure.exception);
  } catch (const StatusError& error) {
    return error.status();
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace damper::grpc
