#include "damper/proxy/data/gate.h"

#include <utility>

#include "damper/run/clock.h"

namespace damper::proxy {

using http::Admission;

Gate::Gate(http::Loop& loop, const http::AdmissionOptions& options)
    : Timer(loop), TurnEnd(loop), admission_(options) {}

void Gate::reload(const http::AdmissionOptions& options) {
  admission_.reload(options);
  ask_turn_end();
}

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
  if (answer.answer == Admission::Answer::waits) arm(admission_.wake());
  if (!refusals_.empty()) ask_turn_end();  // Who had to make room.
  return answer;
}

void Gate::leave(Guest& guest, bool abandoned, Instant now) {
  if (guest.waits()) {
    (void)admission_.try_withdraw(guest, now);
    arm(admission_.wake());
  } else if (guest.runs()) {
    admission_.on_finished(guest, now, abandoned);
    if (admission_.depth() > 0) ask_turn_end();
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
  while (Admission::Item* const item = admission_.try_next(now, run::draw(), refusals_)) {
    static_cast<Guest*>(item)->on_let_in(now);
  }
  tell(now);
  arm(admission_.wake());
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
