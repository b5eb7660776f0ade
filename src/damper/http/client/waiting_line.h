#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>

#include "damper/base/instant.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// A WaitingLine holds the calls of one loop that wait in a backoff, and wakes them when a switch is
// flipped: one entry in run::WaitingCalls for all of them.
//
// Why: a retry that waits must see the kill switch at once (trap K1); a lock for each call that
// begins or ends to wait would be expensive for a loop that has thousands.
// Invariants:
//   (1) A call that is in the line when a switch is flipped, or is added after it, checks it.
//   (2) Each call is called once for a flip, no matter which calls are added or removed meanwhile.
// Thread safety: none; all on the loop's thread. Flips may be made on any thread.
// Cost: no allocation, except for a flip.
class WaitingLine {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    [[nodiscard]] bool is_waiting() const noexcept { return hook_.is_linked(); }

   protected:
    // Checks the switches: CallDriver::on_timer().
    virtual void on_flip(Instant now) = 0;

   private:
    friend class WaitingLine;
    boost::intrusive::list_member_hook<> hook_;
    std::uint32_t flips_seen_ = 0;
  };

  // The loop outlives it.
  explicit WaitingLine(Loop& loop);
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;
  ~WaitingLine();

  // Calls on_flip() at once, so that no earlier flip is missed. REQUIRES: !waiter.is_waiting().
  void add(Waiter& waiter);
  void remove(Waiter& waiter);  // no effect if it does not wait
  [[nodiscard]] Loop& loop() const noexcept { return loop_; }

 private:
  class Watch;
  using Waiters = boost::intrusive::list<
      Waiter,
      boost::intrusive::member_hook<Waiter, boost::intrusive::list_member_hook<>, &Waiter::hook_>>;

  void on_flip();

  Loop& loop_;
  std::shared_ptr<Watch> watch_;
  Waiters waiters_;
  std::uint32_t flips_ = 0;
};

}  // namespace damper::http
