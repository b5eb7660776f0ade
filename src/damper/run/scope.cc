#include "damper/run/scope.h"

#include "damper/decide/layering.h"
#include "damper/run/inherited.h"

namespace damper::run {

std::string_view owner_name(std::string_view name) noexcept {
  return decide::valid_owner(name) ? name : "damper";
}

constinit thread_local const Scope* Scope::current_ = nullptr;

Scope::Scope(const Inherited& inherited) noexcept
    : outer_(current_),
      deadline_(inherited.deadline),
      owned_(inherited.owned_above.retries),
      unsent_owned_(inherited.owned_above.unsent),
      inherited_(&inherited) {
  current_ = this;
}

const Scope* Scope::find_owner() noexcept {
  const Scope* scope = current_;
  if (scope == nullptr || !scope->owned_) return nullptr;
  // A request's scope says for itself what is above it.
  while (scope->inherited_ == nullptr && scope->outer_ != nullptr && scope->outer_->owned_) {
    scope = scope->outer_;
  }
  return scope;
}

std::string_view Scope::retry_owner() noexcept {
  const Scope* const owner = find_owner();
  if (owner == nullptr) return {};
  if (owner->inherited_ != nullptr) return owner_name(owner->inherited_->retry_owner);
  return owner_name(owner->owner_.name != nullptr ? *owner->owner_.name : std::string_view());
}

std::uint32_t Scope::retry_attempt() noexcept {
  const Scope* const owner = find_owner();
  if (owner == nullptr) return 1;
  return owner->inherited_ != nullptr ? owner->inherited_->attempt : owner->owner_.attempt;
}

Inherited Scope::take_along() {
  Inherited along = inherited() != nullptr ? *inherited() : Inherited();
  along.deadline = deadline();
  along.owned_above = {.retries = owned_above(), .unsent = unsent_owned_above()};
  if (owned_above()) {
    along.retry_owner = retry_owner();
    along.attempt = retry_attempt();
  }
  return along;
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
