#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/admit/criticality.h"
#include "damper/observe/trace/span_context.h"
#include "damper/schedule/deadline.h"

namespace damper::run {

struct RequestContext;

// The name to send as damper-retry-owner: `name`, or "damper" if it is not a valid one.
[[nodiscard]] std::string_view owner_name(std::string_view name) noexcept;

// A Scope marks that this thread is inside an attempt of a guarded call, or works for an incoming
// request. A guarded call within it inherits the deadline and does not retry if a layer above does.
//
// Why: three layers of three attempts are 27 at the bottom. Across processes the owner of the
// retries is a header; within a process it is the scope.
// Thread safety: each thread has its own chain; a Scope lives on the stack.
class Scope {
 public:
  // What the call around it retries: requests that may be repeated, or only those not sent.
  struct Owns {
    bool retries = false;
    bool unsent = false;
  };
  // The owner of the retries, for the processes below: see retry_owner(). The name outlives the
  // scope.
  struct Owner {
    const std::string* name = nullptr;
    std::uint32_t attempt = 1;
  };
  Scope(schedule::Deadline deadline, Owns owns, Owner owner) noexcept
      : outer_(current_),
        deadline_(deadline),
        owner_(owner),
        owned_(owns.retries || (outer_ != nullptr && outer_->owned_)),
        unsent_owned_(owns.unsent || (outer_ != nullptr && outer_->unsent_owned_)) {
    current_ = this;
  }
  Scope(schedule::Deadline deadline, Owns owns) noexcept : Scope(deadline, owns, Owner()) {}
  // The scope of a request, which hides the scopes around it: its context includes what was above
  // it, and a coroutine may be resumed inside another's scope. The context outlives the scope.
  explicit Scope(const RequestContext& context) noexcept;
  ~Scope() { current_ = outer_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The deadline of a call that starts now; none outside of every guarded call.
  [[nodiscard]] static schedule::Deadline deadline() noexcept {
    return current_ != nullptr ? current_->deadline_ : schedule::Deadline();
  }
  // Whether a guarded call around this one retries.
  [[nodiscard]] static bool owned_above() noexcept {
    return current_ != nullptr && current_->owned_;
  }
  // Whether one around it retries requests that surely were not sent.
  [[nodiscard]] static bool unsent_owned_above() noexcept {
    return current_ != nullptr && current_->unsent_owned_;
  }
  // The owner of the retries, to be forwarded as damper-retry-owner, and the number of its attempt.
  // If owned_above(), the name is always valid ("damper" if the name is unknown or cannot be sent):
  // without one the next process would retry as well. Otherwise it is empty. Valid as long as this
  // scope.
  [[nodiscard]] static std::string_view retry_owner() noexcept;
  [[nodiscard]] static std::uint32_t retry_attempt() noexcept;  // 1 when it is not known
  // The context of the innermost request; nullptr if there is none. Use the methods above for
  // deadline and owner: a guarded call may be in between.
  [[nodiscard]] static const RequestContext* context() noexcept;
  // Whether this deadline is the one that a caller who is not trusted has sent with the request.
  [[nodiscard]] static bool is_strangers(schedule::Deadline deadline) noexcept;
  // The current deadline, owner and context, for work that is done later or on another thread.
  [[nodiscard]] static RequestContext take_along();

  // Leaves the innermost scopes of `context` while this lives: for the completion handler of an
  // attempt, which is no longer part of it.
  class Outside {
   public:
    explicit Outside(const RequestContext& context) noexcept;
    ~Outside() { current_ = left_; }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    const Scope* const left_;
  };

 private:
  // The scope of the layer that owns the retries; nullptr if none does.
  [[nodiscard]] static const Scope* find_owner() noexcept;

  static constinit thread_local const Scope* current_;  // NOLINT(readability-identifier-naming)

  const Scope* const outer_;
  const schedule::Deadline deadline_;
  const Owner owner_{};
  const bool owned_;
  const bool unsent_owned_;
  const RequestContext* const context_ = nullptr;
};

// A RequestContext is what the calls made for an incoming request inherit from it: the deadline of
// its caller and the owner of its retries. A guarded call inside the work for the request uses it
// without being passed it: see ScopedExecutor for coroutines, Scope for threads.
struct RequestContext {
  schedule::Deadline deadline{};
  bool from_stranger = false;  // a caller that is not trusted has sent the deadline
  Scope::Owns owned_above{};   // a layer above retries, so no layer below does
  std::string retry_owner{};   // its name; forwarded as damper-retry-owner
  std::uint32_t attempt = 1;   // of the owner
  admit::Criticality criticality = admit::Criticality::critical;
  observe::SpanContext trace{};  // of the request's span: its calls are below it; none: not traced
  std::string tracestate{};      // passed on with it
};

}  // namespace damper::run
