#ifndef DAMPER_HTTP_NET_LOOP_H_
#define DAMPER_HTTP_NET_LOOP_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "damper/base/instant.h"
#include "damper/timer/event_queue.h"

namespace damper::http {

class Poller;

// A Loop is one thread's event loop: its sockets, its time, its scratch memory.
//
// Why: one timer wheel a loop instead of a timer for each operation, and buffers that belong to the
// loop instead of to each idle connection, are what makes a connection cheap.
// Model: run() turns. A turn is what one wake-up brings: handlers that are ready, then timers that
// are due, then the TurnEnds that asked for it, in rounds: they flush what the turn wrote, in one
// send, and tell callers their results. Then the loop sleeps. A busy one asks its sockets' Poller
// instead, and Asio every few turns. The clock is read at most once a turn, when now() is first
// asked. Other threads hand work over with boost::asio::post(loop.context(), ...).
// Invariants:
//   (1) A Timer is told never before its time, and once for each arm(); in order of time.
//   (2) A TurnEnd that asked is called once before the loop sleeps, also when it asked from
//       outside of run().
//   (3) A TurnEnd is called from run() alone: nothing of a connection or a client is below it on
//       the stack, and it may destroy any of them. Who asks during a round has the next one.
//   (4) No handler, timer or TurnEnd that goes on asking for more keeps the others from their turn.
// Thread safety: none, but for stop(), is_here() and boost::asio::post(context(), ...).
// Cost: no allocation but when more timers are armed than ever before. 64 KiB and the wheel.
class Loop {
 public:
  // Something that is to happen at a time. Its owner keeps it, and may destroy it any time, also
  // from within on_timer(); not after the loop.
  class Timer {
   public:
    explicit Timer(Loop& loop) noexcept : loop_(loop) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    virtual ~Timer();
    // At `due`, or never with kNever; what was asked for before is forgotten. Cheap when `due` is
    // later than before: the wheel is asked again only when the earlier time has come.
    void arm(Instant due);
    void cancel() { arm(kNever); }
    [[nodiscard]] Instant due() const noexcept { return due_; }
    [[nodiscard]] Loop& loop() const noexcept { return loop_; }

   protected:
    virtual void on_timer(Instant now) = 0;

   private:
    friend class Loop;
    void plan(Instant at);

    Loop& loop_;
    Instant due_ = kNever;      // when it is wanted
    Instant planned_ = kNever;  // when the wheel will ask; not later than due_
    timer::EventQueue::Timer event_{};
  };

  // Somebody who has work to do at the end of a turn. May be destroyed any time, also from within
  // on_turn_end().
  class TurnEnd {
   public:
    explicit TurnEnd(Loop& loop) noexcept : turn_loop_(loop) {}
    TurnEnd(const TurnEnd&) = delete;
    TurnEnd& operator=(const TurnEnd&) = delete;
    virtual ~TurnEnd() { unlink(); }
    // To be called at the end of this turn; asking twice is asking once.
    void ask_turn_end() noexcept;

   protected:
    virtual void on_turn_end() = 0;
    // The loop ends, and the turn's end will not come: for those that own themselves.
    virtual void on_loop_end() noexcept {}

   private:
    friend class Loop;
    void unlink() noexcept;

    Loop& turn_loop_;
    TurnEnd* before_ = nullptr;
    TurnEnd* after_ = nullptr;
    std::uint32_t round_ = 0;  // in which it asked
    bool linked_ = false;
  };

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  // Until stop(), or until there is nothing left to wait for. It can be run again then, and after
  // an exception of whatever it called: that leaves by here, and a stop() meanwhile holds.
  void run();
  void stop() noexcept;  // from any thread; before run(): that it ends after one turn
  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

  // The time of this turn, fresh enough for every timeout; outside of run() the time.
  [[nodiscard]] Instant now() noexcept;
  // Whether it is being destroyed: no turn comes any more.
  [[nodiscard]] bool is_ending() const noexcept { return ending_; }
  // Whether this is the thread that runs it; while nobody does, everyone is. From any thread.
  [[nodiscard]] bool is_here() const noexcept;
  // Where a turn may read into, 64 KiB: good until the next socket reads.
  [[nodiscard]] std::span<char> scratch() noexcept { return {scratch_.get(), kScratch}; }

 private:
  static constexpr std::size_t kScratch = std::size_t{64} * 1024;

  bool sleep();
  std::size_t ask_context();
  void run_timers();
  void end_turn();

  std::unique_ptr<char[]> scratch_;
  timer::EventQueue wheel_;
  TurnEnd* first_ = nullptr;  // those that asked for the end of the turn, in order
  TurnEnd* last_ = nullptr;
  std::uint32_t round_ = 0;  // of TurnEnds; those that ask in it are served in the next
  bool ending_ = false;
  std::size_t armed_ = 0;  // timers that are wanted
  Instant now_{};
  bool now_is_known_ = false;
  std::atomic<std::thread::id> runner_{};  // nobody's while it does not run
  std::atomic<bool> stopped_ = false;
  std::uint32_t quiet_turns_ = 0;   // turns to come that do not look for a second handler
  std::uint32_t direct_turns_ = 0;  // turns since, that asked the poller alone
  // Last: handlers that it destroys may hold timers.
  // UNSAFE_IO: other threads post, but none uses a socket of ours.
  boost::asio::io_context context_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  Poller& poller_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_LOOP_H_
