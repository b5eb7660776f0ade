#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <type_traits>
#include <utility>

#include "damper/run/scope.h"

namespace damper {

namespace run {

// A SharedRequestContext is an RequestContext that lives as long as somebody works for the request:
// each executor that was made for it, and what is waiting in them.
// Thread safety: as that of
// std::shared_ptr.
// Cost: a pointer.
class SharedRequestContext {
 public:
  SharedRequestContext() noexcept = default;
  explicit SharedRequestContext(RequestContext inherited)
      : record_(new Record{std::move(inherited)}) {}
  SharedRequestContext(const SharedRequestContext& other) noexcept : record_(other.record_) {
    if (record_ != nullptr) record_->users.fetch_add(1, std::memory_order_relaxed);
  }
  SharedRequestContext(SharedRequestContext&& other) noexcept
      : record_(std::exchange(other.record_, nullptr)) {}
  SharedRequestContext& operator=(SharedRequestContext other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~SharedRequestContext() {
    if (record_ != nullptr && record_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete record_;
    }
  }

  [[nodiscard]] const RequestContext& operator*() const noexcept { return record_->inherited; }
  // To be written, while this is its only user; nullptr if it is shared, or there is none.
  [[nodiscard]] RequestContext* find_unshared() noexcept {
    const bool mine = record_ != nullptr && record_->users.load(std::memory_order_acquire) == 1;
    return mine ? &record_->inherited : nullptr;
  }
  friend bool operator==(const SharedRequestContext&,
                         const SharedRequestContext&) noexcept = default;

 private:
  struct Record {
    RequestContext inherited;
    std::atomic<int> users{1};
  };
  Record* record_ = nullptr;
};

}  // namespace run

// A ScopedExecutor runs all that is submitted to it inside of a run::Scope: a coroutine spawned on
// it, and every one that this awaits, or spawns on its own executor, is at work for one request,
// whatever runs in between. Guarded calls inside inherit its deadline and who retries without being
// told.
//
// Why: a thread-local scope ends where a coroutine is suspended; the executor is what it is resumed
// by.
// Model: an executor around another one, to which all properties are passed on.
// Invariants:
//   (1) Code that runs by this executor sees its RequestContext, not that of the resuming code.
//   (2) Two pointers over the executor of an io_context: any_io_executor holds it in place.
// Thread safety: that of the inner executor.
// Cost: for each function an atomic count and a thread-local store.
template <class Inner>
class ScopedExecutor {
 public:
  ScopedExecutor(Inner inner, run::SharedRequestContext inherited) noexcept
      : inner_(std::move(inner)), inherited_(std::move(inherited)) {}

  [[nodiscard]] const Inner& inner() const noexcept { return inner_; }

  // For boost::asio::query, require and prefer.
  template <class Property>
    requires boost::asio::can_query_v<const Inner&, Property>
  decltype(auto) query(const Property& property) const
      noexcept(boost::asio::is_nothrow_query_v<const Inner&, Property>) {
    return boost::asio::query(inner_, property);
  }
  template <class Property>
    requires boost::asio::can_require_v<const Inner&, Property>
  [[nodiscard]] auto require(const Property& property) const
      noexcept(boost::asio::is_nothrow_require_v<const Inner&, Property>) {
    return over(boost::asio::require(inner_, property));
  }
  template <class Property>
    requires boost::asio::can_prefer_v<const Inner&, Property>
  [[nodiscard]] auto prefer(const Property& property) const
      noexcept(boost::asio::is_nothrow_prefer_v<const Inner&, Property>) {
    return over(boost::asio::prefer(inner_, property));
  }

  template <class Function>
  void execute(Function&& function) const {
    inner_.execute(Inside<std::decay_t<Function>>{inherited_, std::forward<Function>(function)});
  }

  friend bool operator==(const ScopedExecutor& a, const ScopedExecutor& b) noexcept {
    return a.inner_ == b.inner_ && a.inherited_ == b.inherited_;
  }
  friend bool operator!=(const ScopedExecutor& a, const ScopedExecutor& b) noexcept {
    return !(a == b);
  }

 private:
  template <class Function>
  struct Inside {
    run::SharedRequestContext inherited;
    Function function;
    void operator()() {
      const run::Scope scope(*inherited);
      std::move(function)();
    }
  };
  template <class Other>
  [[nodiscard]] ScopedExecutor<Other> over(Other other) const noexcept {
    return {std::move(other), inherited_};
  }

  Inner inner_;
  run::SharedRequestContext inherited_;
};

namespace run {

// The executor that runs the same way, but for this request. One that is scoped already is not
// wrapped twice.
[[nodiscard]] inline boost::asio::any_io_executor scoped(
    const boost::asio::any_io_executor& executor, SharedRequestContext inherited) {
  using Plain = boost::asio::io_context::executor_type;
  using Any = boost::asio::any_io_executor;
  if (const auto* plain = executor.target<Plain>()) {
    return ScopedExecutor<Plain>(*plain, std::move(inherited));
  }
  if (const auto* scoped = executor.target<ScopedExecutor<Plain>>()) {
    return ScopedExecutor<Plain>(scoped->inner(), std::move(inherited));
  }
  if (const auto* scoped = executor.target<ScopedExecutor<Any>>()) {
    return ScopedExecutor<Any>(scoped->inner(), std::move(inherited));
  }
  return ScopedExecutor<Any>(executor, std::move(inherited));
}

}  // namespace run

// The same for work of your own: until when its caller waits, and who retries.
//   co_spawn(damper::scoped(context.get_executor(), {.deadline = ...}), work(), detached);
[[nodiscard]] inline boost::asio::any_io_executor scoped(
    const boost::asio::any_io_executor& executor, run::RequestContext inherited) {
  return run::scoped(executor, run::SharedRequestContext(std::move(inherited)));
}

}  // namespace damper
