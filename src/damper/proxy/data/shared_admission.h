#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "damper/admit/concurrency_limit.h"
#include "damper/admit/criticality.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/admission.h"

namespace damper::proxy {

// A SharedAdmission is what the loops share of a route's admission: the concurrency limit, the
// count of queued requests, and which loops claim a slot.
//
// Why: a limit split evenly over the loops refuses requests on one loop while another has free
// slots. One queue for all loops would need a lock, and only a request's own loop can start it.
// Model: each loop has a RouteAdmission with its own queue, and a bit here while it claims a slot.
// share_out() acquires a slot, clears the bit of the next claiming loop (the most critical request
// first, then round robin) and hands the slot over. To another loop it is posted, and it counts as
// in flight until it arrives. A loop that gets a slot with an empty queue passes it on. A loop
// whose queue is still not empty claims again. share_out() must follow every release, claim and
// reload. No wake-up is lost: the bit is set before the limit is read, and a slot is released
// before the bits are read, both sequentially consistent (ConcurrencyLimit (6)), so one of the two
// threads observes the other. Invariants:
//   (1) Over all loops at most `limit` requests are in flight, slots in transit included, and
//       at most the queue's capacity wait.
//   (2) No slot stays free while a loop claims one.
//   (3) A loop is woken only for a slot that it gets, one at a time: no thundering herd.
//   (4) Loops that claim for the same criticality take turns: none starves beside a busy one. New
//       requests find no slot then, except between a release and its share_out().
// Lifetime: every RouteAdmission that uses it is destroyed before the first of the loops is.
// Thread safety: methods with a `number` are for that loop's thread; the others may be called
// concurrently, reload() not with itself. Lock-free, except for the post to another loop.
// Cost: while no loop claims a slot, one atomic load for each 64 loops.
class SharedAdmission : public std::enable_shared_from_this<SharedAdmission> {
 public:
  static constexpr std::size_t kMostLoops = 256;
  static constexpr std::size_t kNoLoop = kMostLoops;  // share_out() from outside of the loops

  // The admission on one loop.
  class Side {
   public:
    // A slot was acquired for it: to be used, or passed on with hand_on(). Called on its loop, also
    // from within share_out().
    virtual void on_slot() = 0;

   protected:
    ~Side() = default;
  };

  // REQUIRES: !find_error(options), here and in reload(); 0 < loops <= kMostLoops.
  SharedAdmission(const http::AdmissionOptions& options, std::size_t loops);

  // Requests in flight and in queues stay; slots that became free are handed out. Each
  // RouteAdmission is reloaded by its own loop.
  void reload(const http::AdmissionOptions& options);

  // REQUIRES: `number` has not joined; it always joins with the same loop.
  void join(std::size_t number, http::Loop& loop, Side& side);
  void leave(std::size_t number) noexcept;

  // Claims a slot for a request of `criticality`. REQUIRES: share_out() follows.
  void claim(std::size_t number, admit::Criticality criticality) noexcept;
  // The most critical queued request has changed.
  void set_criticality(std::size_t number, admit::Criticality criticality) noexcept;
  // Withdraws the claim. False: a slot is already being handed over.
  [[nodiscard]] bool try_withdraw(std::size_t number) noexcept;

  // Hands free slots to the claiming loops. `from`: the calling loop, or kNoLoop.
  void share_out(std::size_t from) {
    if (has_claims()) give_away(from);
  }
  // Passes on a slot that was handed over and is not needed.
  void hand_on(std::size_t from) {
    limit_.release_ignored();
    share_out(from);
  }

  // Whether a loop claims a slot.
  [[nodiscard]] bool has_claims() const noexcept {
    for (std::size_t i = 0; i < words_; ++i) {
      if (claims_[i].load(std::memory_order_seq_cst) != 0) return true;
    }
    return false;
  }
  [[nodiscard]] admit::ConcurrencyLimit& limit() noexcept { return limit_; }
  [[nodiscard]] http::AdmissionLine& line() noexcept { return line_; }

 private:
  struct Slot {
    http::Loop* loop = nullptr;  // set once, before its first claim
    Side* side = nullptr;        // used on its loop alone
    std::atomic<admit::Criticality> criticality{};
  };

  void give_away(std::size_t from);
  [[nodiscard]] std::size_t take_claim() noexcept;
  [[nodiscard]] std::size_t find_next() const noexcept;
  void hand_over(std::size_t to, std::size_t from);
  void arrive(std::size_t number);

  admit::ConcurrencyLimit limit_;
  http::AdmissionLine line_;
  std::vector<Slot> slots_;  // by number
  const std::size_t words_;
  // One bit a loop. Written when a queue becomes empty or not, read for every request.
  alignas(64) std::array<std::atomic<std::uint64_t>, kMostLoops / 64> claims_{};
  alignas(64) std::atomic<std::size_t> turn_{0};  // the loop whose turn it is among equals
};

}  // namespace damper::proxy
