#include "damper/webhooks/dispatch/delivery_report.h"

#include "damper/decide/classify_delivery.h"
#include "damper/decide/retry_after.h"
#include "damper/http/client/http_result.h"

namespace damper::webhooks {

using decide::Outcome;

DeliveryReport report_of_answer(int status, std::span<const http::Field> fields, UnixTime now) {
  DeliveryReport result{.report = {.outcome = decide::classify_delivery(status)}};
  if (decide::is_gone(status)) result.end = DeliveryEnd::gone;
  for (const http::Field& field : fields) {
    if (http::same_name(field.name, "retry-after")) {
      decide::read_retry_after(field.value, now, result.report);
    } else if (http::same_name(field.name, kDeliveryControl)) {
      if (http::same_name(field.value, "disable")) {
        result.end = DeliveryEnd::gone;
      } else if (http::same_name(field.value, "abort-message") && result.end == DeliveryEnd::none) {
        result.end = DeliveryEnd::aborted;
      }
    }
  }
  result.report.do_not_retry = result.end != DeliveryEnd::none;
  return result;
}

DeliveryReport report_of_failure(http::CloseReason reason, bool answered) {
  DeliveryReport result{.report = http::failure_of(reason, answered).report,
                        .error = std::string(name(reason))};
  if (reason == http::CloseReason::address_refused) {
    result.end = DeliveryEnd::address_refused;
    result.report.do_not_retry = true;
  }
  result.proxy_failed = reason == http::CloseReason::proxy_failed;
  if (reason == http::CloseReason::too_many || reason == http::CloseReason::out_of_descriptors ||
      result.proxy_failed) {
    result.report.outcome = Outcome::cancelled;
  }
  return result;
}

}  // namespace damper::webhooks
