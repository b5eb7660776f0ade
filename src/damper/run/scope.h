#ifndef DAMPER_RUN_SCOPE_H_
#define DAMPER_RUN_SCOPE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/schedule/deadline.h"

namespace damper::run {

struct Inherited;

// A name as it can be sent as damper-retry-owner: itself, or "damper" if it is not a valid one.
[[nodiscard]] std::string_view owner_name(std::string_view name) noexcept;

// A Scope says that this thread is inside an attempt of a guarded call, or at work for a request
// that came in, so that a guarded call within it inherits the deadline and knows whether somebody
// above retries already.
//
// Why: three layers of three attempts are 27 at the bottom. Across processes headers tell who owns
// the retries; within one, the scope does.
// Thread safety: each thread has its own chain; a Scope lives on the stack.
class Scope {
 public:
  // What the call around it retries: everything that may be repeated, or at least what never left.
  struct Owns {
    bool retries = false;
    bool unsent = false;
  };
  // Who that is, for the processes below: see retry_owner(). The name outlives the scope.
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
  // What a request says, and nothing of the scopes around it: an Inherited has in it what was above
  // it, and a coroutine may be resumed inside of another one's. It outlives the scope.
  explicit Scope(const Inherited& inherited) noexcept;
  ~Scope() { current_ = outer_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The deadline that a call which starts now is under; none outside of every guarded call.
  [[nodiscard]] static schedule::Deadline deadline() noexcept {
    return current_ != nullptr ? current_->deadline_ : schedule::Deadline();
  }
  // Whether a guarded call around this one retries.
  [[nodiscard]] static bool owned_above() noexcept {
    return current_ != nullptr && current_->owned_;
  }
  // Whether one around it retries what surely never left.
  [[nodiscard]] static bool unsent_owned_above() noexcept {
    return current_ != nullptr && current_->unsent_owned_;
  }
  // The name of the one that retries, to be sent on as damper-retry-owner, and which attempt of its
  // own this is. If owned_above(), the name is always a valid owner's ("damper" where it is not
  // known or cannot be sent): without one the next process would retry as well. Else empty. Good
  // while this scope is.
  [[nodiscard]] static std::string_view retry_owner() noexcept;
  [[nodiscard]] static std::uint32_t retry_attempt() noexcept;  // 1 when it is not known
  // The Inherited of the innermost scope that has one; nullptr without. Of its deadline and owners
  // the methods above know better: a guarded call may be in between.
  [[nodiscard]] static const Inherited* inherited() noexcept;
  // All that this thread is inside of, for work that is done for it later or on another thread.
  [[nodiscard]] static Inherited take_along();

  // Outside of the innermost scopes again while this lives, as far as they are of `inherited`: for
  // what an attempt's end calls, which is no longer the attempt.
  class Outside {
   public:
    explicit Outside(const Inherited& inherited) noexcept;
    ~Outside() { current_ = left_; }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    const Scope* const left_;
  };

 private:
  // The one that says who retries: those inside it do not. nullptr when nobody does.
  [[nodiscard]] static const Scope* find_owner() noexcept;

  static constinit thread_local const Scope* current_;  // NOLINT(readability-identifier-naming)

  const Scope* const outer_;
  const schedule::Deadline deadline_;
  const Owner owner_{};
  const bool owned_;
  const bool unsent_owned_;
  const Inherited* const inherited_ = nullptr;
};

}  // namespace damper::run

#endif  // DAMPER_RUN_SCOPE_H_
