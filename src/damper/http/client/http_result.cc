#include "damper/http/client/http_result.h"

#include <string>

#include "damper/decide/classify_http.h"
#include "damper/decide/classify_transport.h"
#include "damper/decide/retry_after.h"

namespace damper::http {
namespace {

class CloseCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "damper.http"; }
  [[nodiscard]] std::string message(int value) const override {
    const auto at = static_cast<std::size_t>(value - 1);
    return std::string(at < kCloseReasonNames.size() ? kCloseReasonNames[at] : "unknown");
  }
};

}  // namespace

const std::error_category& close_category() noexcept {
  static const CloseCategory kCategory;
  return kCategory;
}

// One more than the enumerator: an error code of 0 is no error.
std::error_code make_error_code(CloseReason reason) noexcept {
  return {static_cast<int>(reason) + 1, close_category()};
}

Failure failure_of(CloseReason reason, bool answered) noexcept {
  Failure failure;
  failure.report.outcome = decide::classify(transport_event(reason, answered));
  failure.report.unknown = is_local(reason);
  failure.error = make_error_code(reason);
  return failure;
}

decide::Report report_of(const Response& response, UnixTime now) noexcept {
  return report_of(response.status, response.fields.view(), now);
}

decide::Report report_of(int status, std::span<const Field> fields, UnixTime now) noexcept {
  decide::Report report{.outcome = decide::classify_http(status)};
  if (report.outcome == decide::Outcome::success) return report;
  // Not a conflict of versions: an earlier attempt with our key is still at work. Its answer is
  // worth asking for, when the server says. It is no sign of its health, good or bad.
  if (status == 409 && find(fields, "damper-idempotency") == "under_way") {
    report.outcome = decide::Outcome::overload;
    report.unknown = true;
  }
  for (const Field& field : fields) {
    if (same_name(field.name, "retry-after")) {
      decide::read_retry_after(field.value, now, report);
    } else if (same_name(field.name, "ratelimit-reset") ||
               same_name(field.name, "x-ratelimit-reset")) {
      decide::read_rate_limit_reset(field.value, now, report);
    }
  }
  return report;
}

}  // namespace damper::http
