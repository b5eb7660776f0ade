#include "damper/run/waiting_calls.h"

#include "damper/base/check.h"

namespace damper::run {

// Never destroyed: neither are the switches that it listens to.
WaitingCalls& WaitingCalls::of_process() {
  static WaitingCalls& calls = *new WaitingCalls;
  return calls;
}

void WaitingCalls::add(WaitingCall& call) {
  DAMPER_CHECK(!call.in_line_);
  const std::lock_guard lock(mutex_);
  call.in_line_ = true;
  call.previous_ = nullptr;
  call.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &call;
  first_ = &call;
}

void WaitingCalls::remove(WaitingCall& call) {
  if (!call.in_line_) return;
  const std::lock_guard lock(mutex_);
  call.in_line_ = false;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
  (call.previous_ != nullptr ? call.previous_->next_ : first_) = call.next_;
}

void WaitingCalls::on_flip() noexcept {
  const std::lock_guard lock(mutex_);
  for (WaitingCall* call = first_; call != nullptr; call = call->next_) call->on_flip();
}

}  // namespace damper::run
