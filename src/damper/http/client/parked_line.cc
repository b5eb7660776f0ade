#include "damper/http/client/parked_line.h"

#include <utility>

#include "damper/base/check.h"
#include "damper/run/parked_calls.h"

namespace damper::http {

// Hears of flips on any thread, and has the line asked on its loop.
class ParkedLine::Watch final : public run::ParkedCall, public std::enable_shared_from_this<Watch> {
 public:
  explicit Watch(ParkedLine& line) : line_(&line), loop_(line.loop_) {}

  void stop() {
    run::ParkedCalls::of_process().remove(*this);
    line_ = nullptr;
  }

 private:
  void on_flip() noexcept override {
    loop_.post([watch = weak_from_this()] {
      const std::shared_ptr<Watch> alive = watch.lock();
      if (alive != nullptr && alive->line_ != nullptr) alive->line_->on_flip();
    });
  }

  ParkedLine* line_;  // of the loop's thread
  Loop& loop_;
};

ParkedLine::ParkedLine(Loop& loop) : loop_(loop), watch_(std::make_shared<Watch>(*this)) {}

ParkedLine::~ParkedLine() { watch_->stop(); }

void ParkedLine::push(Waiter& waiter) noexcept {
  waiter.flips_seen_ = flips_;
  waiter.after_ = nullptr;
  waiter.before_ = std::exchange(last_, &waiter);
  (waiter.before_ != nullptr ? waiter.before_->after_ : first_) = &waiter;
}

void ParkedLine::unlink(Waiter& waiter) noexcept {
  (waiter.before_ != nullptr ? waiter.before_->after_ : first_) = waiter.after_;
  (waiter.after_ != nullptr ? waiter.after_->before_ : last_) = waiter.before_;
}

void ParkedLine::add(Waiter& waiter) {
  DAMPER_CHECK(!waiter.parked_);
  if (first_ == nullptr) run::ParkedCalls::of_process().add(*watch_);
  waiter.parked_ = true;
  push(waiter);
  // Once more, now that a flip would be heard: one in between is not missed.
  waiter.on_flip(loop_.now());
}

void ParkedLine::remove(Waiter& waiter) {
  if (!std::exchange(waiter.parked_, false)) return;
  unlink(waiter);
  if (first_ == nullptr) run::ParkedCalls::of_process().remove(*watch_);
}

// Those that were asked go to the end of the line, where those that park meanwhile go as well.
void ParkedLine::on_flip() {
  ++flips_;
  while (first_ != nullptr && first_->flips_seen_ != flips_) {
    Waiter& waiter = *first_;
    unlink(waiter);
    push(waiter);
    waiter.on_flip(loop_.now());
  }
}

}  // namespace damper::http
