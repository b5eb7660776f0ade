#ifndef DAMPER_RUN_SCOPE_H_
#define DAMPER_RUN_SCOPE_H_

#include "damper/schedule/deadline.h"

namespace damper::run {

// A Scope says that this thread is inside an attempt of a guarded call, so that a guarded call
// within it inherits the deadline and knows whether somebody above retries already.
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
  Scope(schedule::Deadline deadline, Owns owns) noexcept
      : outer_(current_),
        deadline_(deadline),
        owned_(owns.retries || (outer_ != nullptr && outer_->owned_)),
        unsent_owned_(owns.unsent || (outer_ != nullptr && outer_->unsent_owned_)) {
    current_ = this;
  }
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

 private:
  static constinit thread_local const Scope* current_;  // NOLINT(readability-identifier-naming)

  const Scope* const outer_;
  const schedule::Deadline deadline_;
  const bool owned_;
  const bool unsent_owned_;
};

}  // namespace damper::run

#endif  // DAMPER_RUN_SCOPE_H_
