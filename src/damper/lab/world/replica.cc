#include "damper/lab/world/replica.h"

#include <cmath>
#include <limits>

#include "damper/base/check.h"

namespace damper::lab {
namespace {

std::size_t workers_of(const ServiceSpec& spec, double share) noexcept {
  if (spec.workers == 0) {
    return share > 0 ? std::numeric_limits<std::size_t>::max() : 0;
  }
  // Rounded up, but for what is only the error of the product.
  return static_cast<std::size_t>(std::ceil(spec.workers * share - 1e-9));
}

admit::ShedQueueOptions shed_options(const ServiceSpec& spec) {
  admit::ShedQueueOptions options = spec.shed;
  options.capacity = spec.queue_bound;
  return options;
}

}  // namespace

Replica::Replica(const ServiceSpec& spec) : spec_(spec), workers_(workers_of(spec, 1)) {
  if (spec.queue == Discipline::shed) shed_.emplace(shed_options(spec));
  if (spec.limit) limit_.emplace(*spec.limit);
}

Replica::Admission Replica::refuse(Duration retry_after) {
  if (limit_) limit_->release_ignored();
  return {Entry::refused, retry_after};
}

Replica::Admission Replica::on_arrival(Handle request, admit::Criticality criticality,
                                       Instant deadline, Instant now, double draw) {
  dropped_.clear();
  if (limit_ && !limit_->try_acquire()) return {Entry::refused};
  if (has_free_worker() && (in_line() == 0 || spec_.handover > Duration{0})) {
    ++working_;
    return {Entry::works};
  }
  if (shed_) {
    auto pushed = shed_->push(Handle(request), criticality, deadline, now, draw);
    // A request past its deadline gets no retry_after.
    if (pushed.verdict == Verdict::deadline_too_close) return refuse();
    if (!pushed.accepted()) return refuse(pushed.retry_after);
    if (pushed.evicted) dropped_.push_back(pushed.evicted->item);
    return {Entry::waits};
  }
  if (queued() >= static_cast<std::size_t>(spec_.queue_bound)) return refuse();
  return {.entry = Entry::waits, .slot = line_.push(request)};
}

std::optional<Handle> Replica::take(Instant now) {
  dropped_.clear();
  if (!has_free_worker()) return std::nullopt;
  std::optional<Handle> next;
  if (shed_) {
    next = shed_->pop(now, [this](auto&& dropped) { dropped_.push_back(dropped.item); });
  } else if (!line_.empty()) {
    next = spec_.queue == Discipline::lifo ? line_.pop_newest() : line_.pop_oldest();
  }
  if (next) ++working_;
  return next;
}

void Replica::on_done(Instant arrived, Instant now) {
  DAMPER_CHECK(working_ > 0);
  --working_;
  if (limit_) limit_->release(arrived, now, false);
}

void Replica::on_abandoned() noexcept {
  DAMPER_CHECK(working_ > 0);
  --working_;
  if (limit_) limit_->release_ignored();
}

void Replica::on_withdrawn(WaitLine::Slot slot) noexcept {
  if (shed_) {
    ++withdrawn_;
  } else {
    (void)line_.leave(slot);
  }
  if (limit_) limit_->release_ignored();
}

void Replica::on_withdrawn_taken() noexcept {
  DAMPER_CHECK(withdrawn_ > 0 && working_ > 0);
  --withdrawn_;
  --working_;
}

void Replica::on_dropped(bool withdrawn) noexcept {
  if (withdrawn) {
    DAMPER_CHECK(withdrawn_ > 0);
    --withdrawn_;
  } else if (limit_) {
    limit_->release_ignored();
  }
}

void Replica::set_capacity(double share) noexcept { workers_ = workers_of(spec_, share); }

}  // namespace damper::lab
