#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "damper/admit/concurrency_limit.h"
#include "damper/admit/criticality.h"
#include "damper/base/check.h"
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
// threads observes the other.
// Invariants:
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
  SharedAdmission(const http::AdmissionOptions& options, std::size_t loops)
      : limit_(options.limit),
        line_(static_cast<std::size_t>(options.queue.capacity)),
        slots_(loops),
        words_((loops + 63) / 64) {
    DAMPER_CHECK(loops > 0 && loops <= kMostLoops);
  }

  // Requests in flight and in queues stay; slots that became free are handed out. Each
  // RouteAdmission is reloaded by its own loop.
  void reload(const http::AdmissionOptions& options) {
    limit_.reload(options.limit);
    line_.reload(static_cast<std::size_t>(options.queue.capacity));
    share_out(kNoLoop);
  }

  // REQUIRES: `number` has not joined; it always joins with the same loop.
  void join(std::size_t number, http::Loop& loop, Side& side) {
    DAMPER_CHECK(number < slots_.size());
    Slot& slot = slots_[number];
    DAMPER_CHECK(slot.side == nullptr && (slot.loop == nullptr || slot.loop == &loop));
    if (slot.loop == nullptr) slot.loop = &loop;
    slot.side = &side;
  }
  void leave(std::size_t number) noexcept {
    (void)try_withdraw(number);
    slots_[number].side = nullptr;
  }

  // Claims a slot for a request of `criticality`. REQUIRES: share_out() follows.
  void claim(std::size_t number, admit::Criticality criticality) noexcept {
    set_criticality(number, criticality);
    claims_[number / 64].fetch_or(bit_of(number), std::memory_order_seq_cst);
  }
  // The most critical queued request has changed.
  void set_criticality(std::size_t number, admit::Criticality criticality) noexcept {
    slots_[number].criticality.store(criticality, std::memory_order_relaxed);
  }
  // Withdraws the claim. False: a slot is already being handed over.
  [[nodiscard]] bool try_withdraw(std::size_t number) noexcept {
    const std::uint64_t bit = bit_of(number);
    return (claims_[number / 64].fetch_and(~bit, std::memory_order_seq_cst) & bit) != 0;
  }

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
  static constexpr std::uint64_t bit_of(std::size_t number) {
    return std::uint64_t{1} << number % 64;
  }
  struct Slot {
    http::Loop* loop = nullptr;  // set once, before its first claim
    Side* side = nullptr;        // used on its loop alone
    std::atomic<admit::Criticality> criticality{};
  };

  void give_away(std::size_t from) {
    // Each round hands out a slot, or another thread has done so meanwhile.
    while (has_claims() && limit_.try_acquire()) {
      const std::size_t to = take_claim();
      if (to == kNoLoop) {
        limit_.release_ignored();  // Check again: a claim made meanwhile found the slot taken.
      } else {
        hand_over(to, from);
      }
    }
  }
  // Clears the bit of the next claiming loop and returns its number; kNoLoop: none claims any more.
  [[nodiscard]] std::size_t take_claim() noexcept {
    for (;;) {
      const std::size_t found = find_next();
      if (found == kNoLoop) return kNoLoop;
      if (!try_withdraw(found)) continue;
      turn_.store(found + 1, std::memory_order_relaxed);
      return found;
    }
  }
  // The most critical; among equals the first at or after turn_.
  [[nodiscard]] std::size_t find_next() const noexcept {
    const std::size_t turn = turn_.load(std::memory_order_relaxed);
    std::size_t best = kNoLoop;
    admit::Criticality best_criticality{};
    for (std::size_t word = 0; word < words_; ++word) {
      std::uint64_t bits = claims_[word].load(std::memory_order_seq_cst);
      for (; bits != 0; bits &= bits - 1) {
        const std::size_t number = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        const auto criticality = slots_[number].criticality.load(std::memory_order_relaxed);
        // Ascending numbers: a loop whose turn is still to come precedes those that had theirs.
        const bool sooner = best != kNoLoop && best < turn && number >= turn;
        if (best == kNoLoop || criticality < best_criticality ||
            (criticality == best_criticality && sooner)) {
          best = number;
          best_criticality = criticality;
        }
      }
    }
    return best;
  }
  void hand_over(std::size_t to, std::size_t from) {
    if (to == from) return slots_[to].side->on_slot();
    slots_[to].loop->post([self = shared_from_this(), to] { self->arrive(to); });
  }
  // On the loop of that number. Its RouteAdmission may have been destroyed.
  void arrive(std::size_t number) {
    if (slots_[number].side == nullptr) return hand_on(number);
    slots_[number].side->on_slot();
  }

  admit::ConcurrencyLimit limit_;
  http::AdmissionLine line_;
  std::vector<Slot> slots_;  // by number
  const std::size_t words_;
  // One bit a loop. Written when a queue becomes empty or not, read for every request.
  alignas(64) std::array<std::atomic<std::uint64_t>, kMostLoops / 64> claims_{};
  alignas(64) std::atomic<std::size_t> turn_{0};  // the loop whose turn it is among equals
};

}  // namespace damper::proxy
