#include "damper/proxy/data/gate.h"

#include <utility>

#include "damper/run/clock.h"

namespace damper::proxy {

using http::Admission;

Gate::Gate(http::Loop& loop, const http::AdmissionOptions& options,
           std::shared_ptr<SharedGate> shared, std::size_t number)
    : Timer(loop),
      TurnEnd(loop),
      shared_(std::move(shared)),
      number_(number),
      admission_(options, {.limit = shared_->limit(), .line = shared_->line()}) {
  shared_->join(number_, loop, *this);
}
Gate::Gate(http::Loop& loop, const http::AdmissionOptions& options)
    : Gate(loop, options, std::make_shared<SharedGate>(options, 1), 0) {}

Gate::~Gate() {
  shared_->part(number_);
  for (; places_ > 0; --places_) shared_->hand_on(number_);
}

void Gate::reload(const http::AdmissionOptions& options) { admission_.reload(options); }

Gate::Answer Gate::enter(Guest& guest, admit::Criticality criticality, Instant deadline,
                         Instant now) {
  static_cast<Admission::Item&>(guest) = Admission::Item(criticality, deadline);
  Answer answer{.answer = admission_.offer(guest, now, run::draw(), refusals_)};
  if (answer.answer == Admission::Answer::refused) {
    for (const Admission::Refusal& refused : refusals_) {
      if (refused.item != &guest) continue;
      answer.verdict = refused.verdict;
      answer.retry_after = refused.retry_after;
    }
    std::erase_if(refusals_, [&](const auto& refused) { return refused.item == &guest; });
  }
  if (answer.answer == Admission::Answer::waits) {
    ask();
    arm(admission_.wake());
  }
  if (!refusals_.empty()) ask_turn_end();  // Who had to make room.
  return answer;
}

void Gate::leave(Guest& guest, bool abandoned, Instant now) {
  if (guest.waits()) {
    (void)admission_.try_withdraw(guest, now);
    ask();
    arm(admission_.wake());
  } else if (guest.runs()) {
    admission_.on_finished(guest, now, abandoned);
    shared_->share_out(number_);
  } else {  // It was refused, and is not told any more.
    std::erase_if(refusals_, [&](const auto& refused) { return refused.item == &guest; });
    std::erase_if(telling_, [&](const auto& refused) { return refused.item == &guest; });
  }
}

void Gate::on_timer(Instant now) {
  admission_.expire(now, run::draw(), refusals_);
  on_turn_end();
}

void Gate::on_turn_end() {
  const Instant now = loop().now();
  while (places_ > 0) {
    --places_;
    asked_ = false;
    if (Admission::Item* const item = admission_.next(now, run::draw(), refusals_)) {
      static_cast<Guest*>(item)->on_let_in(now);
    } else {
      shared_->hand_on(number_);
    }
    ask();
  }
  tell(now);
  ask();
  arm(admission_.wake());
}

void Gate::on_place() {
  ++places_;
  ask_turn_end();
}

// As long as somebody waits, for one place at a time; not for nobody.
void Gate::ask() {
  const auto most_critical = admission_.most_critical();
  if (!most_critical) {
    if (asked_ && shared_->try_withdraw(number_)) asked_ = false;
  } else if (asked_) {
    shared_->tell(number_, *most_critical);
  } else {
    asked_ = true;
    shared_->ask(number_, *most_critical);
    shared_->share_out(number_);
  }
}

// Who is told may leave, or bring others to leave.
void Gate::tell(Instant now) {
  std::swap(refusals_, telling_);
  while (!telling_.empty()) {
    const Admission::Refusal refused = telling_.back();
    telling_.pop_back();
    static_cast<Guest*>(refused.item)->on_turned_away(refused.verdict, refused.retry_after, now);
  }
}

}  // namespace damper::proxy
