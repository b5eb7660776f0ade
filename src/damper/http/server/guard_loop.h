#pragma once

#include <memory>

#include "damper/http/server/guard.h"

namespace damper::http {

class Loop;

// A LoopGuard is a Guard with the time and a timer of a loop.
//   LoopGuard door(loop, options);
//   Server server(loop, guarded(handler, door.guard()), ...);
// Thread safety: none; on the loop's thread.
class LoopGuard {
 public:
  // REQUIRES: !find_error(options). The loop outlives it.
  explicit LoopGuard(Loop& loop, const GuardOptions& options = {});
  LoopGuard(const LoopGuard&) = delete;
  LoopGuard& operator=(const LoopGuard&) = delete;
  ~LoopGuard();

  [[nodiscard]] Guard& guard() noexcept { return *guard_; }

 private:
  class Clock;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Guard> guard_;  // destroyed first: it uses the clock
};

}  // namespace damper::http
