#include "damper/http/client/waiting_line.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "damper/base/check.h"
#include "damper/run/waiting_calls.h"

namespace damper::http {

// Hears of flips on any thread, and has the line asked on its loop.
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
    boost::asio::post(loop_.context(), [watch = weak_from_this()] {
      const std::shared_ptr<Watch> alive = watch.lock();
      if (alive != nullptr && alive->line_ != nullptr) alive->line_->on_flip();
    });
  }

  WaitingLine* line_;  // of the loop's thread
  Loop& loop_;
};

WaitingLine::WaitingLine(Loop& loop) : loop_(loop), watch_(std::make_shared<Watch>(*this)) {}

WaitingLine::~WaitingLine() { watch_->stop(); }

void WaitingLine::push(Waiter& waiter) noexcept {
  waiter.flips_seen_ = flips_;
  waiter.after_ = nullptr;
  waiter.before_ = std::exchange(last_, &waiter);
  (waiter.before_ != nullptr ? waiter.before_->after_ : first_) = &waiter;
}

void WaitingLine::unlink(Waiter& waiter) noexcept {
  (waiter.before_ != nullptr ? waiter.before_->after_ : first_) = waiter.after_;
  (waiter.after_ != nullptr ? waiter.after_->before_ : last_) = waiter.before_;
}

void WaitingLine::add(Waiter& waiter) {
  DAMPER_CHECK(!waiter.waiting_);
  if (first_ == nullptr) run::WaitingCalls::of_process().add(*watch_);
  waiter.waiting_ = true;
  push(waiter);
  // Once more, now that a flip would be heard: one in between is not missed.
  waiter.on_flip(loop_.now());
}

void WaitingLine::remove(Waiter& waiter) {
  if (!std::exchange(waiter.waiting_, false)) return;
  unlink(waiter);
  if (first_ == nullptr) run::WaitingCalls::of_process().remove(*watch_);
}

// Those that were asked go to the end of the line, where those that park meanwhile go as well.
void WaitingLine::on_flip() {
  ++flips_;
  while (first_ != nullptr && first_->flips_seen_ != flips_) {
    Waiter& waiter = *first_;
    unlink(waiter);
    push(waiter);
    waiter.on_flip(loop_.now());
  }
}

}  // namespace damper::http
