#ifndef DAMPER_PROXY_DATA_SHARED_GATE_H_
#define DAMPER_PROXY_DATA_SHARED_GATE_H_

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

// A SharedGate is what all loops share of a route's gate: the limit, the line, and which loops have
// somebody waiting.
//
// Why: a limit that is shared out evenly over the loops turns requests away on one while another
// has room. Why not one queue for all: it would need a lock, and a request can be let in by its own
// loop alone.
// Model: each loop has a Gate with a queue of its own, and a bit here while it wants a place. A
// place belongs to nobody until share_out() gives it away: it acquires a place, takes the bit of
// the next loop that wants one (the most critical request first, then the loops in turn), and hands
// the place over. To another loop it is posted, and counts as in flight on its way. Who gets one
// and has nobody waiting any more hands it on. A loop whose queue is not empty after that asks
// again. Whoever may have made room, or has asked, calls share_out(): after a release, an ask(), a
// reload. Nothing is lost: the bit is set before the limit is looked at, and a place is given back
// before the bits are, all in one order (ConcurrencyLimit (6)), so that one of the two sees the
// other. Invariants:
//   (1) On all loops together no more than `limit` are in flight, places on their way included, and
//       no more than the queue's capacity wait.
//   (2) No place is free for good while a loop wants one: whoever comes last gives it away.
//   (3) A loop is woken for a place that it gets, and for one at a time: no herd.
//   (4) Loops that want a place for the same criticality take turns: none starves beside a busy
//       one. What comes meanwhile finds no place, but in the moment from giving back to giving
//       away.
// Lifetime: the loops outlive all Gates of it: all of these are gone before the first loop is.
// Thread safety: all methods may be called concurrently but for those of a number, which are for
// the thread of that loop; reload() not with itself. Lock-free, but for a post.
// Cost: while no loop wants a place, an atomic load (one for each 64 loops). Handing over to
// another loop is a post to it.
class SharedGate : public std::enable_shared_from_this<SharedGate> {
 public:
  static constexpr std::size_t kMostLoops = 256;
  static constexpr std::size_t kNoLoop = kMostLoops;  // share_out() from outside of the loops

  // The gate on one loop.
  class Side {
   public:
    // A place was acquired for it: to be used, or given back with hand_on(). From its loop alone,
    // but from within share_out() and whatever calls that.
    virtual void on_place() = 0;

   protected:
    ~Side() = default;
  };

  // REQUIRES: !find_error(options), here and in reload(); 0 < loops <= kMostLoops.
  SharedGate(const http::AdmissionOptions& options, std::size_t loops);
  SharedGate(const SharedGate&) = delete;
  SharedGate& operator=(const SharedGate&) = delete;

  // What runs and waits stays; whoever has room now is let in. The Gates hear of their own part
  // from their loops.
  void reload(const http::AdmissionOptions& options);

  // REQUIRES: nobody else has joined for that number; always with the same loop.
  void join(std::size_t number, http::Loop& loop, Side& side);
  void part(std::size_t number) noexcept;

  // It wants a place for one that critical, and gets one in time; share_out() has to follow.
  void ask(std::size_t number, admit::Criticality criticality) noexcept;
  // Who waits there has become more critical, or less; it does not matter whether it wants a place.
  void tell(std::size_t number, admit::Criticality criticality) noexcept;
  // It does not want one any more. False: one is on its way.
  [[nodiscard]] bool try_withdraw(std::size_t number) noexcept;

  // Gives away what is free while a loop wants it. `from`: the loop that this is, or kNoLoop.
  void share_out(std::size_t from) {
    if (someone_waits()) give_away(from);
  }
  // A place that was handed over and is not needed.
  void hand_on(std::size_t from) {
    limit_.release_ignored();
    share_out(from);
  }

  // Whether a loop wants a place that it was not given yet.
  [[nodiscard]] bool someone_waits() const noexcept {
    for (std::size_t i = 0; i < words_; ++i) {
      if (wanting_[i].load(std::memory_order_seq_cst) != 0) return true;
    }
    return false;
  }
  [[nodiscard]] admit::ConcurrencyLimit& limit() noexcept { return limit_; }
  [[nodiscard]] http::AdmissionLine& line() noexcept { return line_; }

 private:
  struct Slot {
    http::Loop* loop = nullptr;  // set once, before its first bit
    Side* side = nullptr;        // its loop's alone
    std::atomic<admit::Criticality> criticality{};
  };

  void give_away(std::size_t from);
  [[nodiscard]] std::size_t claim() noexcept;
  [[nodiscard]] std::size_t find_next() const noexcept;
  void hand_over(std::size_t to, std::size_t from);
  void arrive(std::size_t number);

  admit::ConcurrencyLimit limit_;
  http::AdmissionLine line_;
  std::vector<Slot> slots_;  // by number
  const std::size_t words_;
  // By number, a bit each. Written when a queue begins or ends, read for every request.
  alignas(64) std::array<std::atomic<std::uint64_t>, kMostLoops / 64> wanting_{};
  alignas(64) std::atomic<std::size_t> turn_{0};  // the number whose turn it is among equals
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_DATA_SHARED_GATE_H_
