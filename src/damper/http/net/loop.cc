#include "damper/http/net/loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "damper/base/check.h"
#include "damper/http/net/asio_context.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

constexpr int kMostRounds = 4;  // of TurnEnds, in a turn

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

// While run() or poll() is on the stack, also when an exception ends it.
class Loop::Running {
 public:
  explicit Running(Loop& loop) : loop_(loop) {
    loop_.runner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    loop_.now_is_known_ = false;
    loop_.runner_.store({}, std::memory_order_relaxed);
  }

 private:
  Loop& loop_;
};

Loop::Loop()
    : scratch_(new char[kScratch]),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_up_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      context_(std::make_unique<AsioContext>(*this)) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  DAMPER_CHECK(epoll_ >= 0 && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_up_, &event) == 0);
}

Loop::~Loop() {
  ending_ = true;
  while (!turn_ends_.empty()) {
    TurnEnd& one = turn_ends_.front();
    turn_ends_.pop_front();
    one.on_loop_end();  // It may destroy itself.
  }
  context_.reset();
  (void)::close(wake_up_);
  (void)::close(epoll_);
}

bool Loop::is_running_here() const noexcept {
  return runner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

bool Loop::is_here() const noexcept {
  return is_running_here() || runner_.load(std::memory_order_relaxed) == std::thread::id();
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
  const Running running(*this);
  for (;;) {
    run_timers();
    end_turn();
    now_is_known_ = false;
    if (stopped_.load(std::memory_order_acquire) || is_idle()) break;
    wait(timeout_ms());
    run_tasks();
    dispatch_events();
  }
  stopped_.store(false, std::memory_order_relaxed);
}

void Loop::poll() {
  const Running running(*this);
  wait(0);
  run_tasks();
  dispatch_events();
  run_timers();
  end_turn();
}

void Loop::stop() noexcept {
  stopped_.store(true, std::memory_order_release);
  if (!is_running_here()) wake();
}

void Loop::push(std::unique_ptr<Task> task) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = posted_.empty();
    posted_.push_back(std::move(task));
    has_posted_.store(true, std::memory_order_release);
  }
  // The loop's thread looks at has_posted_ before it sleeps.
  if (is_first && !is_running_here()) wake();
}

void Loop::remove_work() noexcept {
  if (work_.fetch_sub(1, std::memory_order_acq_rel) == 1 && !is_running_here()) wake();
}

void Loop::wake() noexcept {
  constexpr std::uint64_t kOne = 1;
  (void)!::write(wake_up_, &kOne, sizeof(kOne));
}

bool Loop::try_add(int fd, Registration& registration) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &registration;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Loop::remove(int fd, Registration& registration) noexcept {
  (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  if (current_ == &registration) current_ = nullptr;
  for (std::size_t left = next_event_; left < event_count_; ++left) {
    if (events_[left].data.ptr == &registration) events_[left].data.ptr = nullptr;
  }
}

// Whether no call could follow.
bool Loop::is_idle() const noexcept {
  return armed_ == 0 && waits_ == 0 && turn_ends_.empty() && next_event_ == event_count_ &&
         next_task_ == tasks_.size() && work_.load(std::memory_order_acquire) == 0 &&
         !has_posted_.load(std::memory_order_acquire);
}

// How long the loop may sleep: -1 without a limit, 0 if there is work already.
int Loop::timeout_ms() noexcept {
  if (!turn_ends_.empty() || next_task_ < tasks_.size() ||
      has_posted_.load(std::memory_order_acquire)) {
    return 0;
  }
  const Instant next = wheel_.next();
  if (next == kNever) return -1;
  // Rounded up: a timer that is not due yet would cost a turn.
  constexpr Duration kMillisecond = std::chrono::milliseconds(1);
  const Duration left = next - run::now() + kMillisecond - Duration(1);
  return static_cast<int>(std::clamp<std::int64_t>(left / kMillisecond, 0, 60'000));
}

// Fills events_, unless an exception has left some of the last turn's.
void Loop::wait(int timeout_ms) noexcept {
  if (next_event_ < event_count_) return;
  const int got = ::epoll_wait(epoll_, events_.data(), kMostEvents, timeout_ms);
  next_event_ = 0;
  event_count_ = got > 0 ? static_cast<std::size_t>(got) : 0;
}

void Loop::run_tasks() {
  if (next_task_ == tasks_.size()) {
    if (!has_posted_.load(std::memory_order_acquire)) return;
    tasks_.clear();
    next_task_ = 0;
    const std::lock_guard lock(mutex_);
    tasks_.swap(posted_);
    has_posted_.store(false, std::memory_order_relaxed);
  }
  while (next_task_ < tasks_.size()) {
    const std::unique_ptr<Task> task = std::move(tasks_[next_task_++]);
    task->run();
  }
}

void Loop::dispatch_events() {
  while (next_event_ < event_count_) {
    const epoll_event event = events_[next_event_++];
    // nullptr: wake_up_, or a descriptor that an earlier event removed.
    if (event.data.ptr != nullptr) {
      static_cast<Registration*>(event.data.ptr)->on_events(event.events);
    }
  }
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
    timer.on_timer(now);  // It may destroy itself.
  }
}

void Loop::end_turn() {
  for (int round = 0; round < kMostRounds && !turn_ends_.empty(); ++round) {
    struct Round {  // What is requested meanwhile is called in the next round.
      explicit Round(TurnEnds& all) : requested(all) { called.swap(all); }
      Round(const Round&) = delete;
      Round& operator=(const Round&) = delete;
      ~Round() { requested.splice(requested.begin(), called); }  // after an exception
      TurnEnds& requested;
      TurnEnds called;
    } now(turn_ends_);
    while (!now.called.empty()) {
      TurnEnd& one = now.called.front();
      now.called.pop_front();
      one.on_turn_end();  // It may destroy itself.
    }
  }
}

// The functions are destroyed, not called; their destructors may post more.
void Loop::drop_tasks() noexcept {
  tasks_.clear();
  for (Tasks dropped;; dropped.clear()) {
    const std::lock_guard lock(mutex_);
    if (posted_.empty()) return;
    dropped.swap(posted_);
  }
}

}  // namespace damper::http
