#include "damper/http/server/thread_gate.h"

#include "damper/base/check.h"
#include "damper/http/server/guard_refusal.h"
#include "damper/run/clock.h"

namespace damper::http {

std::optional<std::string> find_error(const ThreadGateOptions& options) {
  return BoundsCheck()
      .part("limit", admit::find_error(options.limit))
      .part("arrival", find_error(options.arrival))
      .field("needed", options.needed, options.kNeeded)
      .field("retry_after", options.retry_after, options.kRetryAfter)
      .require(options.overload_status == 503 || options.overload_status == 429,
               "overload_status is " + std::to_string(options.overload_status) +
                   "; it must be 503 or 429")
      .error();
}

ThreadGate::ThreadGate(const ThreadGateOptions& options)
    : options_((DAMPER_CHECK_VALID(find_error(options)), options)), limit_(options.limit) {}

ThreadGate::Ticket ThreadGate::try_enter(std::span<const Field> fields, Instant arrived) {
  const Instant now = run::now();
  return try_enter(fields, {arrived, run::wall_time(between(arrived, now))}, now, run::draw());
}

ThreadGate::Ticket::Ticket(ThreadGate& gate, std::span<const Field> fields, const ArrivalTime& time,
                           Instant now, double draw)
    : gate_(gate), inherited_(read_arrival(fields, time, gate.options_.arrival)), started_(now) {
  if (inherited_.deadline.passed(now)) {
    verdict_ = Verdict::deadline_passed;
  } else if (inherited_.deadline.remaining(now) < gate.options_.needed) {
    verdict_ = Verdict::deadline_too_close;
  } else if (!gate.limit_.try_acquire()) {
    verdict_ = Verdict::limited;
    retry_after_ = retry_after_seconds(gate.options_.retry_after, draw);
  } else {
    scope_.emplace(inherited_);
  }
  gate.tally_.count(verdict_ == Verdict::none ? Verdict::success : verdict_,
                    inherited_.criticality);
}

ThreadGate::Ticket::~Ticket() {
  if (!*this) return;
  const Instant now = run::now();
  const bool overran = inherited_.deadline.passed(now);
  if (overran) gate_.tally_.overruns.fetch_add(1, std::memory_order_relaxed);
  gate_.tally_.works.record(between(started_, now), now);
  if (abandoned_ && !overran) {
    gate_.limit_.release_ignored();
  } else {
    gate_.limit_.release(started_, now, overran);
  }
}

int ThreadGate::Ticket::status() const noexcept {
  return refusal_status(verdict_, gate_.options_.overload_status);
}

}  // namespace damper::http
