#include "damper/http/server/guard_loop.h"

#include <chrono>

#include "damper/http/net/loop.h"
#include "damper/run/clock.h"

namespace damper::http {

// The time of day, not of the turn: work within a turn takes time too, and is measured.
class LoopGuard::Clock final : public GuardClock, public Loop::Timer {
 public:
  explicit Clock(Loop& loop) : Timer(loop) {}
  [[nodiscard]] Instant now() noexcept override { return run::now(); }
  [[nodiscard]] UnixTime wall_now() noexcept override {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] double draw() noexcept override { return run::draw(); }
  void set_alarm(Instant due) override { arm(due); }

  Guard* guard = nullptr;

 private:
  void on_timer(Instant) override { guard->on_alarm(); }
};

LoopGuard::LoopGuard(Loop& loop, const GuardOptions& options)
    : clock_(std::make_unique<Clock>(loop)), guard_(std::make_unique<Guard>(options, *clock_)) {
  clock_->guard = guard_.get();
}

LoopGuard::~LoopGuard() = default;

}  // namespace damper::http
