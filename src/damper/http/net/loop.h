#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/timer/event_queue.h"

namespace damper::http {

class AsioContext;

// A Loop is one thread's event loop: its sockets, its timers, its scratch memory.
//
// Why: one epoll registration per socket, one timer wheel per loop and one read buffer per loop
// make an idle connection cheap and a request few system calls. docs/design/0025 compares it with
// Asio's reactor.
// Model: run() repeats turns. A turn waits in one epoll_wait, runs posted functions, dispatches
// socket events, then due timers, then the TurnEnds, which send what the turn has written. The
// clock is read at most once a turn. Asio's I/O objects and coroutines run on the loop by
// context(); see AsioContext.
// Invariants:
//   (1) on_timer() is called never before its time, and once for each arm(); in order of time.
//   (2) A TurnEnd that was requested is called once before the loop sleeps, also if it was
//       requested outside of run().
//   (3) on_turn_end() is called from run() alone: nothing of a connection or a client is below it
//       on the stack, and it may destroy any of them.
//   (4) No function, event, timer or TurnEnd that requests more of its kind starves the others:
//       what is requested while they are called is called in a later round or turn.
//   (5) Each change of a registered descriptor is dispatched once, unless it was removed before.
//   (6) An exception from a callback leaves run(); the next run() calls the remaining ones.
// Thread safety: none, but for post(), stop(), is_here() and Work.
// Cost: no allocation but for post(), and when more timers are armed than ever before. 64 KiB of
// scratch memory, 3 KiB of events and the wheel.
class Loop {
 public:
  // Work for a later time. Its owner may destroy it any time, also from within on_timer(); before
  // the loop is destroyed.
  class Timer {
   public:
    explicit Timer(Loop& loop) noexcept : loop_(loop) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    virtual ~Timer();
    // Sets the time of on_timer(), instead of the previous one; kNever disarms. Cheap if `due` is
    // later than before: the wheel's entry is moved only when the earlier time has come.
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
    Instant due_ = kNever;      // of on_timer()
    Instant planned_ = kNever;  // of the wheel's entry; not later than due_
    timer::EventQueue::Timer event_{};
  };

  // A Timer that calls a member function of its owner, which outlives it.
  template <class Owner>
  class MemberTimer final : public Timer {
   public:
    using Method = void (Owner::*)(Instant now);
    MemberTimer(Loop& loop, Owner& owner, Method method) noexcept
        : Timer(loop), owner_(owner), method_(method) {}

   private:
    void on_timer(Instant now) override { (owner_.*method_)(now); }
    Owner& owner_;
    const Method method_;
  };

  // Work for the end of a turn. Its owner may destroy it any time, also from within on_turn_end().
  class TurnEnd : public boost::intrusive::list_base_hook<
                      boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
   public:
    explicit TurnEnd(Loop& loop) noexcept : turn_loop_(loop) {}
    TurnEnd(const TurnEnd&) = delete;
    TurnEnd& operator=(const TurnEnd&) = delete;
    virtual ~TurnEnd() = default;
    // Requests on_turn_end() at the end of this turn. No effect if it is requested already.
    void ask_turn_end() noexcept {
      if (!is_linked()) turn_loop_.turn_ends_.push_back(*this);
    }
    void cancel_turn_end() noexcept { unlink(); }

   protected:
    virtual void on_turn_end() = 0;
    // The loop is destroyed before on_turn_end(): for objects that own themselves.
    virtual void on_loop_end() noexcept {}
    [[nodiscard]] Loop& turn_loop() const noexcept { return turn_loop_; }

   private:
    friend class Loop;
    Loop& turn_loop_;
  };

  // A descriptor in the loop's epoll: edge-triggered, for input, output and the peer's half-close.
  class Registration {
   public:
    Registration() = default;
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    virtual ~Registration() = default;

   protected:
    virtual void on_events(std::uint32_t events) = 0;  // EPOLLIN, EPOLLRDHUP and so on

   private:
    friend class Loop;
  };

  // Keeps run() from returning for lack of work. From any thread.
  class Work {
   public:
    explicit Work(Loop& loop) noexcept : loop_(&loop) { loop.add_work(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work() { reset(); }
    void reset() noexcept {
      if (Loop* const loop = std::exchange(loop_, nullptr)) loop->remove_work();
    }

   private:
    Loop* loop_;
  };

  Loop();
  ~Loop();

  // Runs until stop(), or until there is no timer, wait or Work left. May be called again then, and
  // after an exception.
  void run();
  void poll();           // one turn without waiting
  void stop() noexcept;  // from any thread; before run(): it ends after one turn
  // Calls `function` on the loop, never from within post(). From any thread; in order of the calls.
  template <class Function>
  void post(Function&& function) {
    push(std::make_unique<Posted<std::decay_t<Function>>>(std::forward<Function>(function)));
  }
  // For Asio's I/O objects and coroutines.
  [[nodiscard]] AsioContext& context() noexcept { return *context_; }

  // The time of this turn, precise enough for every timeout; outside of run() the current time.
  [[nodiscard]] Instant now() noexcept;
  // Whether it is being destroyed: no turn follows.
  [[nodiscard]] bool is_ending() const noexcept { return ending_; }
  // Whether the calling thread may use the loop: it runs it, or no thread does. From any thread.
  [[nodiscard]] bool is_here() const noexcept;
  // Whether the calling thread runs it. From any thread.
  [[nodiscard]] bool is_running_here() const noexcept;
  // A read buffer of 64 KiB: valid until the next read from a socket.
  [[nodiscard]] std::span<char> scratch() noexcept { return {scratch_.get(), kScratch}; }

  // False: the kernel refuses to register it (errno), and no event follows.
  [[nodiscard]] bool try_add(int fd, Registration& registration) noexcept;
  // Before `fd` is closed: a child process may have a copy of it, which would keep it registered.
  void remove(int fd, Registration& registration) noexcept;
  // Marks the registration whose callbacks run. remove() clears the mark: a callback that may close
  // or destroy it is followed by is_current().
  void set_current(const Registration& registration) noexcept { current_ = &registration; }
  [[nodiscard]] bool is_current(const Registration& registration) const noexcept {
    return current_ == &registration;
  }
  // Counts waits for events: as long as there is one, run() does not return. On the loop's thread;
  // Work is for all others.
  void hold() noexcept { ++waits_; }
  void release() noexcept { --waits_; }

 private:
  friend class AsioContext;
  struct Task {
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;
    virtual void run() = 0;
  };
  template <class Function>
  struct Posted final : Task {
    explicit Posted(Function f) : function(std::move(f)) {}
    void run() override { std::move(function)(); }
    Function function;
  };
  using Tasks = std::vector<std::unique_ptr<Task>>;
  using TurnEnds = boost::intrusive::list<TurnEnd, boost::intrusive::constant_time_size<false>>;
  class Running;

  static constexpr std::size_t kScratch = std::size_t{64} * 1024;
  static constexpr std::size_t kMostEvents = 256;  // of a turn

  void push(std::unique_ptr<Task> task);
  void add_work() noexcept { work_.fetch_add(1, std::memory_order_relaxed); }
  void remove_work() noexcept;
  void wake() noexcept;
  [[nodiscard]] bool is_idle() const noexcept;
  [[nodiscard]] int timeout_ms() noexcept;
  void wait(int timeout_ms) noexcept;
  void run_tasks();
  void dispatch_events();
  void run_timers();
  void end_turn();
  void drop_tasks() noexcept;

  std::unique_ptr<char[]> scratch_;
  timer::EventQueue wheel_;
  TurnEnds turn_ends_;     // requested, in order
  std::size_t armed_ = 0;  // timers
  std::size_t waits_ = 0;
  Instant now_{};
  bool now_is_known_ = false;
  bool ending_ = false;

  int epoll_;
  int wake_up_;  // an eventfd, edge-triggered: it is never read
  std::array<epoll_event, kMostEvents> events_;
  std::size_t next_event_ = 0;  // of events_, to dispatch
  std::size_t event_count_ = 0;
  const Registration* current_ = nullptr;

  std::atomic<std::thread::id> runner_{};  // none while it does not run
  std::atomic<bool> stopped_ = false;
  std::atomic<std::size_t> work_ = 0;
  std::atomic<bool> has_posted_ = false;
  std::mutex mutex_;
  Tasks posted_;  // under mutex_
  Tasks tasks_;   // of this turn
  std::size_t next_task_ = 0;
  // Last: the functions that it destroys may own timers and sockets.
  std::unique_ptr<AsioContext> context_;
};

}  // namespace damper::http
