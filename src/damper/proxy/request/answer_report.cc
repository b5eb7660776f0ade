#include "damper/proxy/request/answer_report.h"

#include <charconv>

#include "damper/decide/classify_http.h"
#include "damper/decide/retry_after.h"
#include "damper/http/client/failure.h"
#include "damper/proxy/request/forward_fields.h"

namespace damper::proxy {
namespace {

using decide::Outcome;

constexpr int kUnknown = 2;  // for a status that is no number

int grpc_code(std::string_view text) noexcept {
  int code = kUnknown;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  return error == std::errc{} && end == text.data() + text.size() ? code : kUnknown;
}

void read_grpc(std::string_view status, std::span<const http::Field> fields,
               const policy::RetryOn& retry_on, decide::Report& report) {
  const int code = grpc_code(status);
  report.outcome = retry_on.outcome_of_grpc(code);
  if (report.outcome == Outcome::success) return;
  report.retry_on_excluded = retry_on.excludes_grpc(code);
  if (const auto pushback = http::find(fields, "grpc-retry-pushback-ms")) {
    decide::read_grpc_pushback(*pushback, report);
  }
}

}  // namespace

decide::Report report_of_head(const http::Head& answer, const policy::RetryOn& retry_on,
                              UnixTime now) {
  decide::Report report{.outcome = decide::classify_http(answer.status)};
  if (report.outcome != Outcome::success) {
    report = http::report_of(answer.status, answer.fields, now);
    report.retry_on_excluded = retry_on.excludes_http(answer.status);
    return report;
  }
  if (answer.status != 200) return report;
  if (const auto status = http::find(answer.fields, "grpc-status");
      status && is_grpc(answer.fields)) {
    read_grpc(*status, answer.fields, retry_on, report);
  }
  return report;
}

decide::Report report_of_trailers(const decide::Report& head, std::span<const http::Field> trailers,
                                  const policy::RetryOn& retry_on) {
  decide::Report report = head;
  if (report.outcome != Outcome::success || trailers.empty()) return report;
  if (const auto status = http::find(trailers, "grpc-status")) {
    read_grpc(*status, trailers, retry_on, report);
  }
  return report;
}

}  // namespace damper::proxy
