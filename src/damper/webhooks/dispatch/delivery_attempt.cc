#include "damper/webhooks/dispatch/delivery_attempt.h"

#include <utility>

#include "damper/run/clock.h"

namespace damper::webhooks {

void DeliveryAttempt::start(http::Pool& pool, http::Request request, Instant deadline) {
  request_ = std::move(request);
  clock_.arm(deadline);
  RoundTrip::start(pool, request_, kMostAnswer, Excess::cut);
}

std::span<const http::Field> DeliveryAttempt::fields(const http::Request& request,
                                                     Instant /*now*/) {
  return request.fields.view();
}

void DeliveryAttempt::on_timeout(Instant /*now*/) {
  cancel(true);
  on_round_trip(http::CloseReason::head_timeout);
}

void DeliveryAttempt::on_round_trip(http::CloseReason reason) {
  clock_.cancel();
  AttemptResult result;
  if (is_answered()) {
    result.status = response().status;
    result.answer = std::move(response().body);
    if (reason == http::CloseReason::body_too_large) result.answer += kCutMark;
    result.report = report_of_answer(result.status, response().fields.view(), run::wall_time());
  } else {
    result.report = report_of_failure(reason, false);
  }
  owner_.on_attempt(*this, std::move(result));
}

}  // namespace damper::webhooks
