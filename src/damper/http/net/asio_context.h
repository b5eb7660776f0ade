#pragma once

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "damper/http/net/loop.h"

namespace damper::http {

// An AsioContext is a Loop as an execution context of Asio: coroutines spawned on it, and the
// completion handlers of Asio's I/O objects made with it, run on the loop's thread.
//
//   co_spawn(loop.context(), work(), detached);
//   asio::steady_timer timer(loop.context());
//
// Model: the Executor posts to the loop. Asio waits for its own timers, sockets and resolvers on a
// thread that it starts with the first of them, and hands their completions to the executor. The
// library itself has none of them but the system's resolver, so that its loops have no such thread
// unless a user makes one.
// Invariants:
//   (1) run() does not return while a copy of an executor with outstanding_work.tracked exists:
//       while an operation of Asio's waits.
//   (2) Handlers that were not called when the loop is destroyed are destroyed, not called.
// Thread safety: as io_context.
// Cost: an operation of Asio's costs a wake-up of each of two threads; post() an allocation.
class AsioContext : public boost::asio::execution_context {
 public:
  class Executor;
  using executor_type = Executor;

  explicit AsioContext(Loop& loop) noexcept : loop_(loop) {}
  AsioContext(const AsioContext&) = delete;
  AsioContext& operator=(const AsioContext&) = delete;
  ~AsioContext();

  [[nodiscard]] Executor get_executor() noexcept;
  [[nodiscard]] Loop& loop() const noexcept { return loop_; }

 private:
  Loop& loop_;
};

// One pointer, so that any_io_executor and ScopedExecutor hold it without an allocation.
class AsioContext::Executor {
 public:
  explicit Executor(AsioContext& context) noexcept : Executor(context, 0) {}
  Executor(const Executor& from) noexcept : Executor(from.query(kContext), from.bits()) {}
  Executor& operator=(const Executor& from) noexcept {
    Executor copy(from);
    std::swap(state_, copy.state_);
    return *this;
  }
  ~Executor() {
    if ((bits() & kTracked) != 0) loop().remove_work();
  }

  [[nodiscard]] AsioContext& query(boost::asio::execution::context_t) const noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): its low bits are ours
    return *reinterpret_cast<AsioContext*>(state_ & ~kBits);
  }
  [[nodiscard]] boost::asio::execution::blocking_t query(
      boost::asio::execution::blocking_t) const noexcept {
    if ((bits() & kNeverBlocks) != 0) return boost::asio::execution::blocking.never;
    return boost::asio::execution::blocking.possibly;
  }
  [[nodiscard]] boost::asio::execution::outstanding_work_t query(
      boost::asio::execution::outstanding_work_t) const noexcept {
    if ((bits() & kTracked) != 0) return boost::asio::execution::outstanding_work.tracked;
    return boost::asio::execution::outstanding_work.untracked;
  }
  [[nodiscard]] Executor require(boost::asio::execution::blocking_t::never_t) const noexcept {
    return with(bits() | kNeverBlocks);
  }
  [[nodiscard]] Executor require(boost::asio::execution::blocking_t::possibly_t) const noexcept {
    return with(bits() & ~kNeverBlocks);
  }
  [[nodiscard]] Executor require(
      boost::asio::execution::outstanding_work_t::tracked_t) const noexcept {
    return with(bits() | kTracked);
  }
  [[nodiscard]] Executor require(
      boost::asio::execution::outstanding_work_t::untracked_t) const noexcept {
    return with(bits() & ~kTracked);
  }

  template <class Function>
  void execute(Function&& function) const {
    if ((bits() & kNeverBlocks) != 0 || !loop().is_running_here()) {
      return loop().post(std::forward<Function>(function));
    }
    try {
      std::decay_t<Function> called(std::forward<Function>(function));
      std::move(called)();
    } catch (...) {  // It leaves run(), not the dispatching call.
      loop().post([failed = std::current_exception()] { std::rethrow_exception(failed); });
    }
  }

  friend bool operator==(const Executor& a, const Executor& b) noexcept {
    return ((a.state_ ^ b.state_) & ~kTracked) == 0;
  }
  friend bool operator!=(const Executor& a, const Executor& b) noexcept { return !(a == b); }

 private:
  static constexpr boost::asio::execution::context_t kContext{};
  static constexpr std::uintptr_t kNeverBlocks = 1;
  static constexpr std::uintptr_t kTracked = 2;
  static constexpr std::uintptr_t kBits = kNeverBlocks | kTracked;

  Executor(AsioContext& context, std::uintptr_t bits) noexcept
      : state_(reinterpret_cast<std::uintptr_t>(&context) | bits) {
    if ((bits & kTracked) != 0) loop().add_work();
  }
  [[nodiscard]] Executor with(std::uintptr_t bits) const noexcept {
    return {query(kContext), bits};
  }
  [[nodiscard]] std::uintptr_t bits() const noexcept { return state_ & kBits; }
  [[nodiscard]] Loop& loop() const noexcept { return query(kContext).loop(); }

  std::uintptr_t state_;  // the context's address and bits
};

inline AsioContext::Executor AsioContext::get_executor() noexcept { return Executor(*this); }

// Asio's services end first, then the functions that were posted, which may own I/O objects.
inline AsioContext::~AsioContext() {
  shutdown();
  loop_.drop_tasks();
  destroy();
}

}  // namespace damper::http
