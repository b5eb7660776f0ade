#include "damper/http/net/loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <optional>

#include "damper/http/net/poller.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

constexpr std::size_t kMostHandlers = 256;  // of a turn
constexpr int kMostRounds = 4;              // of TurnEnds, in a turn
// To look for a second handler is a system call when there is none. A loop that found none does not
// look again for so many turns.
constexpr std::uint32_t kQuietTurns = 15;
// As long as there is more than one thing for the sockets in a turn, Asio is asked after so many.
constexpr std::uint32_t kDirectTurns = 8;

}  // namespace

Loop::Timer::~Timer() {
  if (due_ != kNever) --loop_.armed_;
  if (planned_ != kNever) loop_.wheel_.cancel(event_);
}

void Loop::Timer::arm(Instant due) {
  if (due == due_) return;
  if (due_ == kNever) ++loop_.armed_;
  if (due == kNever) --loop_.armed_;
  due_ = due;
  if (due < planned_) plan(due);
}

void Loop::Timer::plan(Instant at) {
  if (planned_ != kNever) loop_.wheel_.cancel(event_);
  planned_ = at;
  // The address travels in the event's detail.
  event_ = loop_.wheel_.schedule(
      at, {.kind = 0, .subject = 0, .detail = reinterpret_cast<std::uintptr_t>(this)});
}

void Loop::TurnEnd::ask_turn_end() noexcept {
  if (linked_) return;
  linked_ = true;
  round_ = turn_loop_.round_;
  before_ = turn_loop_.last_;
  after_ = nullptr;
  (before_ != nullptr ? before_->after_ : turn_loop_.first_) = this;
  turn_loop_.last_ = this;
}

void Loop::TurnEnd::unlink() noexcept {
  if (!linked_) return;
  linked_ = false;
  (before_ != nullptr ? before_->after_ : turn_loop_.first_) = after_;
  (after_ != nullptr ? after_->before_ : turn_loop_.last_) = before_;
}

Loop::Loop() : scratch_(new char[kScratch]), poller_(Poller::of(context_)) {}

Loop::~Loop() {
  ending_ = true;
  while (first_ != nullptr) {
    TurnEnd* const one = first_;
    one->unlink();
    one->on_loop_end();  // It may be gone after this.
  }
}

bool Loop::is_here() const noexcept {
  const std::thread::id runner = runner_.load(std::memory_order_relaxed);
  return runner == std::thread::id() || runner == std::this_thread::get_id();
}

Instant Loop::now() noexcept {
  if (runner_.load(std::memory_order_relaxed) == std::thread::id()) return run::now();
  if (!now_is_known_) {
    now_ = run::now();
    now_is_known_ = true;
  }
  return now_;
}

void Loop::run() {
  struct Running {  // Also when an exception ends it.
    explicit Running(Loop& ours) : loop(ours) {
      loop.runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
      loop.now_is_known_ = false;
      loop.runner_.store({}, std::memory_order_relaxed);
    }
    Loop& loop;
  };
  const Running running(*this);
  context_.restart();  // A stop() of the last run; one for this run has set stopped_ as well.
  do {
    run_timers();
    end_turn();
    now_is_known_ = false;
  } while (sleep());
  stopped_.store(false, std::memory_order_relaxed);
}

void Loop::stop() noexcept {
  stopped_.store(true, std::memory_order_seq_cst);  // First: see sleep().
  context_.stop();
}

// Waits for a handler or the next timer, and runs the handlers that are ready. False when the loop
// was stopped, or has nothing left to wait for.
bool Loop::sleep() {
  if (stopped_.load(std::memory_order_seq_cst)) return false;
  std::size_t ran = 0;
  if (direct_turns_ < kDirectTurns && poller_.last_told() > 1 && !poller_.has_soon()) {
    ++direct_turns_;
    ran = poller_.poll();
  }
  if (ran == 0) ran = ask_context();
  if (!context_.stopped()) return true;
  // A context whose work is done stops itself: that is not our end while there is more to do. If it
  // was stop(), whose effect on the context is lost here, stopped_ is set and the next look sees
  // it.
  context_.restart();
  if (stopped_.load(std::memory_order_seq_cst)) return false;
  return ran > 0 || armed_ > 0 || first_ != nullptr;
}

// Waits, unless there is more to do; how many handlers it ran.
std::size_t Loop::ask_context() {
  direct_turns_ = 0;
  const std::uint64_t polls = poller_.polls();
  std::size_t ran = 0;
  if (first_ != nullptr) {
    ran = context_.poll_one();
  } else if (const Instant next = wheel_.next(); next == kNever) {
    ran = context_.run_one();
  } else {
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard;
    if (armed_ > 0) guard.emplace(context_.get_executor());
    ran = context_.run_one_until(run::steady_time(next));
    // A time that has passed is not waited for; handlers have their turn all the same.
    if (ran == 0) ran = context_.poll_one();
  }
  // The poller is asked when all that was ready before has run.
  if (ran == 0 || poller_.polls() != polls) return ran;
  if (quiet_turns_ > 0) {
    --quiet_turns_;
    return ran;
  }
  while (ran < kMostHandlers && poller_.polls() == polls && context_.poll_one() > 0) ++ran;
  if (ran == 1) quiet_turns_ = kQuietTurns;
  return ran;
}

void Loop::run_timers() {
  std::size_t left = wheel_.size();
  if (left == 0) return;
  const Instant now = this->now();
  for (; left > 0; --left) {
    const auto due = wheel_.pop(now);
    if (!due) return;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an event has no room for more than a number
    auto& timer = *reinterpret_cast<Timer*>(static_cast<std::uintptr_t>(due->event.detail));
    timer.planned_ = kNever;
    if (timer.due_ > now) {
      if (timer.due_ != kNever) timer.plan(timer.due_);
      continue;
    }
    timer.due_ = kNever;
    --armed_;
    timer.on_timer(now);  // It may be gone after this.
  }
}

void Loop::end_turn() {
  for (int round = 0; round < kMostRounds && first_ != nullptr; ++round) {
    ++round_;
    while (first_ != nullptr && first_->round_ != round_) {
      TurnEnd* const one = first_;
      one->unlink();
      one->on_turn_end();  // It may be gone after this.
    }
  }
}

}  // namespace damper::http
