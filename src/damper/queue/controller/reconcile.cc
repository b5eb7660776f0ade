#include "damper/queue/controller/reconcile.h"

#include <exception>

#include "damper/base/check.h"
#include "damper/decide/outcome.h"

namespace damper {
namespace {

using decide::Outcome;
using queue::Finish;

std::string text_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::string text_of(const Failure& failure) {
  if (failure.exception) return text_of(failure.exception);
  if (failure.error) return failure.error.message();
  if (failure.status != 0) return "HTTP " + std::to_string(failure.status);
  return std::string(decide::name(failure.report.outcome));
}

// The outcome for a call that made no attempt.
Outcome outcome_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::permanent: return Outcome::permanent;
    case Verdict::conflict: return Outcome::conflict;
    case Verdict::deadline_too_close:
    case Verdict::deadline_passed: return Outcome::timeout;
    case Verdict::overload:
    case Verdict::breaker_open:
    case Verdict::throttled:
    case Verdict::limited:
    case Verdict::rate_limited:
    case Verdict::shed: return Outcome::overload;
    case Verdict::cancelled: return Outcome::cancelled;
    default: return Outcome::transient;
  }
}

}  // namespace

Reconcile::Reconcile(const Unexpected<Failure>& failed)
    : finish_{.how = Finish::How::failed,
              .report = failed.error.report,
              .why = text_of(failed.error)} {}

Reconcile done() { return Reconcile(Finish{}); }

Reconcile requeue_after(Duration after) {
  return Reconcile(Finish{.how = Finish::How::requeue, .after = after});
}

Reconcile terminal(std::string why) {
  return Reconcile(Finish{.how = Finish::How::terminal, .why = std::move(why)});
}

namespace queue {

Reconcile failed_call(Verdict verdict, const Failure* failure) {
  DAMPER_CHECK(verdict != Verdict::success && verdict != Verdict::none);
  Finish finish{.how = Finish::How::failed, .why = std::string(name(verdict))};
  if (failure != nullptr) {
    finish.report = failure->report;
    finish.why += ": " + text_of(*failure);
  }
  if (failure == nullptr || verdict == Verdict::cancelled) {
    finish.report.outcome = outcome_of(verdict);
  }
  return Reconcile(std::move(finish));
}

Reconcile failed_by_exception() {
  Unexpected<Failure> failure = damper::failed_by_exception();
  if (failure.error.report.unknown && !failure.error.error) {
    failure.error.report.outcome = Outcome::transient;  // If it is a bug, it is parked at last.
  }
  return failure;
}

}  // namespace queue
}  // namespace damper
