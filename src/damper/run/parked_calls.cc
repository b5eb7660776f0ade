#include "damper/run/parked_calls.h"

#include "damper/base/check.h"

namespace damper::run {

// Never destroyed, as the switches that it listens to are not.
ParkedCalls& ParkedCalls::of_process() {
  static ParkedCalls& calls = *new ParkedCalls;
  return calls;
}

void ParkedCalls::add(ParkedCall& call) {
  DAMPER_CHECK(!call.in_line_);
  const std::lock_guard lock(mutex_);
  call.in_line_ = true;
  call.previous_ = nullptr;
  call.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &call;
  first_ = &call;
}

void ParkedCalls::remove(ParkedCall& call) {
  if (!call.in_line_) return;
  const std::lock_guard lock(mutex_);
  call.in_line_ = false;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
  (call.previous_ != nullptr ? call.previous_->next_ : first_) = call.next_;
}

void ParkedCalls::on_flip() noexcept {
  const std::lock_guard lock(mutex_);
  for (ParkedCall* call = first_; call != nullptr; call = call->next_) call->on_flip();
}

}  // namespace damper::run
