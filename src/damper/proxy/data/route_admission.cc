#include "damper/proxy/data/route_admission.h"

#include <utility>

#include "damper/run/clock.h"

namespace damper::proxy {

using http::Admission;

RouteAdmission::RouteAdmission(http::Loop& loop, const http::AdmissionOptions& options,
                               std::shared_ptr<SharedAdmission> shared, std::size_t number)
    : Timer(loop),
      TurnEnd(loop),
      shared_(std::move(shared)),
      number_(number),
      admission_(options, {.limit = shared_->limit(), .line = shared_->line()}) {
  shared_->join(number_, loop, *this);
}
RouteAdmission::RouteAdmission(http::Loop& loop, const http::AdmissionOptions& options)
    : RouteAdmission(loop, options, std::make_shared<SharedAdmission>(options, 1), 0) {}

RouteAdmission::~RouteAdmission() {
  shared_->leave(number_);
  for (; slots_ > 0; --slots_) shared_->hand_on(number_);
}

void RouteAdmission::reload(const http::AdmissionOptions& options) { admission_.reload(options); }

RouteAdmission::Answer RouteAdmission::enter(Request& request, admit::Criticality criticality,
                                             Instant deadline, Instant now) {
  static_cast<Admission::Item&>(request) = Admission::Item(criticality, deadline);
  Answer answer{.answer = admission_.offer(request, now, run::draw(), refusals_)};
  if (answer.answer == Admission::Answer::refused) {
    for (const Admission::Refusal& refused : refusals_) {
      if (refused.item != &request) continue;
      answer.verdict = refused.verdict;
      answer.retry_after = refused.retry_after;
    }
    std::erase_if(refusals_, [&](const auto& refused) { return refused.item == &request; });
  }
  if (answer.answer == Admission::Answer::waits) {
    update_claim();
    arm(admission_.wake());
  }
  if (!refusals_.empty()) ask_turn_end();  // Requests displaced by this one.
  return answer;
}

void RouteAdmission::leave(Request& request, bool abandoned, Instant now) {
  if (request.waits()) {
    (void)admission_.try_withdraw(request, now);
    update_claim();
    arm(admission_.wake());
  } else if (request.runs()) {
    admission_.on_finished(request, now, abandoned);
    shared_->share_out(number_);
  } else {  // Refused: on_refused() is not called any more.
    std::erase_if(refusals_, [&](const auto& refused) { return refused.item == &request; });
    std::erase_if(reporting_, [&](const auto& refused) { return refused.item == &request; });
  }
}

void RouteAdmission::on_timer(Instant now) {
  admission_.expire(now, run::draw(), refusals_);
  on_turn_end();
}

void RouteAdmission::on_turn_end() {
  const Instant now = loop().now();
  while (slots_ > 0) {
    --slots_;
    claims_ = false;
    if (Admission::Item* const item = admission_.next(now, run::draw(), refusals_)) {
      static_cast<Request*>(item)->on_admitted(now);
    } else {
      shared_->hand_on(number_);
    }
    update_claim();
  }
  report_refusals(now);
  update_claim();
  arm(admission_.wake());
}

void RouteAdmission::on_slot() {
  ++slots_;
  ask_turn_end();
}

// Claims one slot at a time while the queue is not empty; withdraws the claim when it is.
void RouteAdmission::update_claim() {
  const auto most_critical = admission_.most_critical();
  if (!most_critical) {
    if (claims_ && shared_->try_withdraw(number_)) claims_ = false;
  } else if (claims_) {
    shared_->set_criticality(number_, *most_critical);
  } else {
    claims_ = true;
    shared_->claim(number_, *most_critical);
    shared_->share_out(number_);
  }
}

// on_refused() may re-enter leave(), for this request or another.
void RouteAdmission::report_refusals(Instant now) {
  std::swap(refusals_, reporting_);
  while (!reporting_.empty()) {
    const Admission::Refusal refused = reporting_.back();
    reporting_.pop_back();
    static_cast<Request*>(refused.item)->on_refused(refused.verdict, refused.retry_after, now);
  }
}

}  // namespace damper::proxy
