#include "damper/run/scope.h"

#include "damper/run/inherited.h"

namespace damper::run {

constinit thread_local const Scope* Scope::current_ = nullptr;

Scope::Scope(const Inherited& inherited) noexcept
    : outer_(current_),
      deadline_(inherited.deadline),
      owned_(inherited.owned_above.retries),
      unsent_owned_(inherited.owned_above.unsent),
      inherited_(&inherited) {
  current_ = this;
}

const Inherited* Scope::inherited() noexcept {
  for (const Scope* scope = current_; scope != nullptr; scope = scope->outer_) {
    if (scope->inherited_ != nullptr) return scope->inherited_;
  }
  return nullptr;
}

Scope::Outside::Outside(const Inherited& inherited) noexcept : left_(current_) {
  while (current_ != nullptr && current_->inherited_ == &inherited) current_ = current_->outer_;
}

}  // namespace damper::run
