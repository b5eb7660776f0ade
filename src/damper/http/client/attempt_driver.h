#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>

#include "damper/balance/replicas.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/http/client/pool.h"
#include "damper/http/net/loop.h"
#include "damper/run/call_driver.h"

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
  ~WaitingLine();

  // Calls on_flip() at once, so that no earlier flip is missed. REQUIRES: !waiter.is_waiting().
  void add(Waiter& waiter);
  void remove(Waiter& waiter);  // no effect if it does not wait
  [[nodiscard]] Loop& loop() const noexcept { return loop_; }

 private:
  class FlipObserver;
  using Waiters = boost::intrusive::list<
      Waiter,
      boost::intrusive::member_hook<Waiter, boost::intrusive::list_member_hook<>, &Waiter::hook_>>;

  void on_flip();

  Loop& loop_;
  std::shared_ptr<FlipObserver> observer_;
  Waiters waiters_;
  std::uint32_t flips_ = 0;
};

// A ReplicaLease is one attempt's use of a replica and of its pool, from pick to settle().
class ReplicaLease {
 public:
  ReplicaLease() = default;
  // REQUIRES: `lease` is not empty. Replicas and pool outlive it.
  ReplicaLease(balance::Replicas& replicas, const balance::Replicas::Lease& lease,
               Pool& pool) noexcept
      : replicas_(&replicas), lease_(lease), pool_(&pool) {
    pool.on_leased();
  }
  [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }
  // REQUIRES: it is not empty.
  [[nodiscard]] Pool& pool() const noexcept { return *pool_; }
  [[nodiscard]] std::size_t replica() const noexcept { return lease_.replica(); }
  // The response's head was received: the replica's latency excludes the time a client reads for.
  void on_head(Instant now) noexcept { replicas_->on_head(lease_, now); }
  // See Replicas.
  void on_upload_awaited(Instant now) noexcept { replicas_->on_upload_awaited(lease_, now); }
  void on_upload_over(Instant now) noexcept { replicas_->on_upload_over(lease_, now); }
  void set_held(bool held, Instant now) noexcept {
    if (replicas_ != nullptr) replicas_->set_held(lease_, held, now);
  }
  // Empties it; no effect on an empty one. The pool is not to be used afterwards.
  void settle(decide::Outcome outcome, Instant now) noexcept;

 private:
  balance::Replicas* replicas_ = nullptr;
  balance::Replicas::Lease lease_{};
  Pool* pool_ = nullptr;
};

// An attempt as its AttemptDriver sees it.
class LeasedAttempt {
 public:
  virtual ~LeasedAttempt() = default;
  [[nodiscard]] const engine::Attempt& attempt() const noexcept { return attempt_; }

 protected:
  [[nodiscard]] ReplicaLease& lease() noexcept { return lease_; }
  [[nodiscard]] const ReplicaLease& lease() const noexcept { return lease_; }
  virtual void start() = 0;             // on lease().pool()
  virtual void give_up(bool late) = 0;  // cancels the request; the lease is settled already

 private:
  friend class AttemptDriver;
  engine::Attempt attempt_{};
  ReplicaLease lease_{};
};

// The attempts of one call: the first by value, since most calls need one, the others on the heap.
// One more than can be in flight: a failed attempt may keep its response meanwhile.
template <class Attempt>
class AttemptSlots {
 public:
  template <class Owner>
  explicit AttemptSlots(Owner& owner) : first_(owner) {}

  template <class Owner>
  [[nodiscard]] Attempt& find_free(Owner& owner) {
    if (first_.is_free()) return first_;
    for (auto& slot : others_) {
      if (slot == nullptr) slot = std::make_unique<Attempt>(owner);
      if (slot->is_free()) return *slot;
    }
    DAMPER_CHECK(false);
    return first_;
  }
  template <class Function>
  void for_each(Function function) {
    function(first_);
    for (const auto& slot : others_) {
      if (slot != nullptr) function(*slot);
    }
  }

 private:
  Attempt first_;
  std::array<std::unique_ptr<Attempt>, engine::kLanes> others_;
};

// An AttemptDriver is a run::CallDriver whose attempts are HTTP requests to replicas: the part that
// a GuardedCall and a proxied request have in common. It decides nothing.
//
// Model: each attempt leases a replica that the call has not tried yet, if there is one, and not
// one where another attempt is in flight. An attempt that the engine gives up is cancelled on the
// wire; its replica is settled as `timeout` if that timeout counts against the dependency, else as
// `cancelled`: what a caller causes is not billed to a replica either. While no attempt is in
// flight the call is in the WaitingLine, where a flip of a switch wakes it.
// Thread safety: none; one loop. Cost: no allocation for the first attempt.
class AttemptDriver : public run::CallDriver, private WaitingLine::Waiter {
 public:
  AttemptDriver(engine::Dependency& dependency, const engine::CallOptions& options,
                WaitingLine& waiting) noexcept
      : CallDriver(dependency, options), waiting_(waiting) {}

  // The attempt has ended. REQUIRES: its lease is settled, or the derived class settles it later.
  void on_attempt_over(const LeasedAttempt& attempt, const decide::Report& report, Instant now) {
    in_flight_[attempt.attempt_.lane] = nullptr;
    on_outcome(attempt.attempt_.lane, report, now);
  }

 protected:
  ~AttemptDriver() override { waiting_.remove(*this); }

  [[nodiscard]] virtual ReplicaLease pick(balance::ReplicaSet& tried,
                                          const balance::ReplicaSet& in_use, Instant now) = 0;
  [[nodiscard]] virtual LeasedAttempt& free_attempt() = 0;
  [[nodiscard]] virtual decide::Report on_no_replica() = 0;  // the outcome of such an attempt
  virtual void arm(Instant when) = 0;                        // the timer; kNever: none
  // The timer's time is reached, or a switch was flipped.
  virtual void on_wake(Instant now) { on_timer(now); }

 private:
  void send(const engine::Attempt& attempt) final;
  void give_up(int lane) final;
  void wake_at(Instant when) final;
  void on_flip(Instant now) final { on_wake(now); }

  WaitingLine& waiting_;
  balance::ReplicaSet tried_;
  std::array<LeasedAttempt*, engine::kLanes> in_flight_{};
};

}  // namespace damper::http
