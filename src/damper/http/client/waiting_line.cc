#include "damper/http/client/waiting_line.h"

#include "damper/base/check.h"
#include "damper/run/waiting_calls.h"

namespace damper::http {

// Is called for flips on any thread, and posts WaitingLine::on_flip() to its loop.
class WaitingLine::Watch final : public run::WaitingCall,
                                 public std::enable_shared_from_this<Watch> {
 public:
  explicit Watch(WaitingLine& line) : line_(&line), loop_(line.loop_) {}

  void stop() {
    run::WaitingCalls::of_process().remove(*this);
    line_ = nullptr;
  }

 private:
  void on_flip() noexcept override {
    loop_.post([watch = weak_from_this()] {
      const std::shared_ptr<Watch> alive = watch.lock();
      if (alive != nullptr && alive->line_ != nullptr) alive->line_->on_flip();
    });
  }

  WaitingLine* line_;  // used on the loop's thread alone
  Loop& loop_;
};

WaitingLine::WaitingLine(Loop& loop) : loop_(loop), watch_(std::make_shared<Watch>(*this)) {}

WaitingLine::~WaitingLine() { watch_->stop(); }

void WaitingLine::add(Waiter& waiter) {
  DAMPER_CHECK(!waiter.is_waiting());
  if (waiters_.empty()) run::WaitingCalls::of_process().add(*watch_);
  waiter.flips_seen_ = flips_;
  waiters_.push_back(waiter);
  waiter.on_flip(loop_.now());  // After it was added: a flip in between is not missed.
}

void WaitingLine::remove(Waiter& waiter) {
  if (!waiter.is_waiting()) return;
  waiters_.erase(Waiters::s_iterator_to(waiter));
  if (waiters_.empty()) run::WaitingCalls::of_process().remove(*watch_);
}

// Calls that saw this flip are moved to the end of the line, behind which new ones are added.
void WaitingLine::on_flip() {
  ++flips_;
  while (!waiters_.empty() && waiters_.front().flips_seen_ != flips_) {
    Waiter& waiter = waiters_.front();
    waiter.flips_seen_ = flips_;
    waiters_.splice(waiters_.end(), waiters_, waiters_.begin());
    waiter.on_flip(loop_.now());
  }
}

}  // namespace damper::http
