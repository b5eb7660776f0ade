#ifndef DAMPER_HTTP_CLIENT_WAITING_LINE_H_
#define DAMPER_HTTP_CLIENT_WAITING_LINE_H_

#include <cstdint>
#include <memory>

#include "damper/base/instant.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// A WaitingLine has the calls of one loop that wait in a backoff, and asks them again when a switch
// was flipped: one place in run::WaitingCalls for all of them.
//
// Why: a retry that waits must see the kill switch at once (trap K1); a lock for each call that
// begins or ends to wait would be dear for a loop that has thousands.
// Invariants:
//   (1) A call that is in the line when a flip comes, or is added after it, is asked once more.
//   (2) Each is asked once for a flip, whatever ends or begins meanwhile.
// Thread safety: none; all on the loop's thread. Flips come from any thread.
// Cost: no allocation but for a flip.
class WaitingLine {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    [[nodiscard]] bool is_waiting() const noexcept { return waiting_; }

   protected:
    // Look again: CallDriver::on_timer().
    virtual void on_flip(Instant now) = 0;

   private:
    friend class WaitingLine;
    Waiter* before_ = nullptr;
    Waiter* after_ = nullptr;
    std::uint32_t flips_seen_ = 0;
    bool waiting_ = false;
  };

  // The loop outlives it.
  explicit WaitingLine(Loop& loop);
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;
  ~WaitingLine();

  // Asks it at once: a flip before is not missed. REQUIRES: !waiter.is_waiting().
  void add(Waiter& waiter);
  void remove(Waiter& waiter);  // nothing happens if it is not parked

 private:
  class Watch;

  void push(Waiter& waiter) noexcept;
  void unlink(Waiter& waiter) noexcept;
  void on_flip();

  Loop& loop_;
  std::shared_ptr<Watch> watch_;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::uint32_t flips_ = 0;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_WAITING_LINE_H_
