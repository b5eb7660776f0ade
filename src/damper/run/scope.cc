#include "damper/run/scope.h"

#include "damper/decide/layering.h"

namespace damper::run {

std::string_view owner_name(std::string_view name) noexcept {
  return decide::valid_owner(name) ? name : "damper";
}

constinit thread_local const Scope* Scope::current_ = nullptr;

Scope::Scope(const RequestContext& context) noexcept
    : outer_(current_),
      deadline_(context.deadline),
      owned_(context.owned_above.retries),
      unsent_owned_(context.owned_above.unsent),
      context_(&context) {
  current_ = this;
}

const Scope* Scope::find_owner() noexcept {
  const Scope* scope = current_;
  if (scope == nullptr || !scope->owned_) return nullptr;
  // The context of a request includes what is above it.
  while (scope->context_ == nullptr && scope->outer_ != nullptr && scope->outer_->owned_) {
    scope = scope->outer_;
  }
  return scope;
}

std::string_view Scope::retry_owner() noexcept {
  const Scope* const owner = find_owner();
  if (owner == nullptr) return {};
  if (owner->context_ != nullptr) return owner_name(owner->context_->retry_owner);
  return owner_name(owner->owner_.name != nullptr ? *owner->owner_.name : std::string_view());
}

std::uint32_t Scope::retry_attempt() noexcept {
  const Scope* const owner = find_owner();
  if (owner == nullptr) return 1;
  return owner->context_ != nullptr ? owner->context_->attempt : owner->owner_.attempt;
}

RequestContext Scope::take_along() {
  RequestContext along = context() != nullptr ? *context() : RequestContext();
  along.deadline = deadline();
  along.from_stranger = is_strangers(along.deadline);
  along.owned_above = {.retries = owned_above(), .unsent = unsent_owned_above()};
  if (owned_above()) {
    along.retry_owner = retry_owner();
    along.attempt = retry_attempt();
  }
  return along;
}

const RequestContext* Scope::context() noexcept {
  for (const Scope* scope = current_; scope != nullptr; scope = scope->outer_) {
    if (scope->context_ != nullptr) return scope->context_;
  }
  return nullptr;
}

bool Scope::is_strangers(schedule::Deadline deadline) noexcept {
  const RequestContext* const request = context();
  return request != nullptr && request->from_stranger && request->deadline == deadline;
}

Scope::Outside::Outside(const RequestContext& context) noexcept : left_(current_) {
  while (current_ != nullptr && current_->context_ == &context) current_ = current_->outer_;
}

}  // namespace damper::run
