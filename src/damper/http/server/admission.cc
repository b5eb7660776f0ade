#include "damper/http/server/admission.h"

#include <algorithm>
#include <bit>

#include "damper/base/check.h"
#include "damper/base/random.h"

namespace damper::http {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const AdmissionOptions& checked(const AdmissionOptions& options) {
  DAMPER_CHECK_VALID(find_error(options));
  return options;
}

// Nodes of a queue whose line is shared, at first: most loops have few waiting, or none.
constexpr std::size_t kReserved = 16;

std::size_t reserved(const admit::ShedQueueOptions& options, bool shared) {
  const auto capacity = static_cast<std::size_t>(options.capacity);
  return shared ? std::min(kReserved, capacity) : capacity;
}

// One draw for each of several answers.
double next_draw(double& draw) { return draw = another_draw(draw); }

}  // namespace

std::optional<std::string> find_error(const AdmissionOptions& options) {
  return BoundsCheck()
      .part("limit", admit::find_error(options.limit))
      .part("queue", admit::find_error(options.queue))
      .field("longest_wait", options.longest_wait, options.kLongestWait)
      .error();
}

Admission::Admission(const AdmissionOptions& options) : Admission(options, nullptr) {}
Admission::Admission(const AdmissionOptions& options, const Shared& shared)
    : Admission(options, &shared) {}
Admission::Admission(const AdmissionOptions& options, const Shared* shared)
    : options_(checked(options)),
      limit_(shared != nullptr ? shared->limit : own_limit_.emplace(options.limit)),
      line_(shared != nullptr ? &shared->line : nullptr),
      queue_(options.queue, reserved(options.queue, shared != nullptr), shared != nullptr) {}

void Admission::reload(const AdmissionOptions& options) {
  options_ = checked(options);
  if (own_limit_) own_limit_->reload(options.limit);
  queue_.reload(options.queue);
}

Verdict Admission::late(const Item& item, Instant now) const noexcept {
  if (now >= item.deadline_) return Verdict::deadline_passed;
  if (between(now, item.deadline_) < options_.queue.needed) return Verdict::deadline_too_close;
  return Verdict::none;
}

void Admission::refuse(Item& item, Verdict verdict, Duration retry_after, Refusals& refusals) {
  leave(item);
  tally_.count(verdict, item.criticality_);
  refusals.push_back({&item, verdict, retry_after});
}

void Admission::leave(Item& item) {
  if (item.waits()) {
    (void)leaving_.cancel(item.timer_);
    if (line_ != nullptr) line_->leave();
  }
  item.state_ = Item::State::outside;
}

void Admission::run(Item& item, Instant now, Duration waited) {
  leave(item);
  item.state_ = Item::State::running;
  item.since_ = now;
  tally_.count(Verdict::success, item.criticality_);
  tally_.waits.record(waited, now);
}

// Somebody more critical has come. `inherits`: with its place in line.
void Admission::make_way(Item& evicted, bool inherits, Instant now, double draw,
                         Refusals& refusals) {
  if (inherits) {
    (void)leaving_.cancel(evicted.timer_);
    evicted.state_ = Item::State::outside;
  }
  const Verdict verdict = late(evicted, now);
  if (verdict == Verdict::none) {
    refuse(evicted, Verdict::shed, queue_.retry_after(next_draw(draw)), refusals);
  } else {
    refuse(evicted, verdict, Duration{0}, refusals);
  }
}

Admission::Answer Admission::offer(Item& item, Instant now, double draw, Refusals& refusals) {
  DAMPER_CHECK(item.state_ == Item::State::outside);
  if (const Verdict verdict = late(item, now); verdict != Verdict::none) {
    refuse(item, verdict, Duration{0}, refusals);
    return Answer::refused;
  }
  if (queue_.depth() == 0 && limit_.try_acquire()) {
    run(item, now, Duration{0});
    return Answer::runs;
  }
  const bool in_line = line_ == nullptr || line_->try_join(now);
  auto pushed = queue_.push(&item, item.criticality_, item.deadline_, now, draw, !in_line);
  if (pushed.evicted) make_way(*pushed.evicted->item, !in_line, now, draw, refusals);
  if (!pushed.accepted()) {
    if (in_line && line_ != nullptr) line_->leave();
    refuse(item, pushed.verdict, pushed.retry_after, refusals);
    return Answer::refused;
  }
  item.state_ = Item::State::waiting;
  item.since_ = now;
  item.handle_ = pushed.handle;
  const Instant last = add(item.deadline_, -options_.queue.needed);
  item.timer_ = leaving_.schedule(std::min(last, add(now, options_.longest_wait)),
                                  {.detail = std::bit_cast<std::uintptr_t>(&item)});
  publish(now);
  return Answer::waits;
}

Admission::Item* Admission::try_next(Instant now, double draw, Refusals& refusals) {
  if (queue_.depth() == 0 || !limit_.try_acquire()) return nullptr;
  Item* const item = next(now, draw, refusals);
  if (item == nullptr) limit_.release_ignored();
  return item;
}

Admission::Item* Admission::next(Instant now, double draw, Refusals& refusals) {
  if (queue_.depth() == 0) return nullptr;
  if (line_ != nullptr) queue_.on_busy_since(line_->busy_since());
  const std::optional<Item*> served = queue_.pop(now, [&](Queue::Dropped&& dropped) {
    const Verdict verdict = late(*dropped.item, now);
    refuse(*dropped.item, verdict != Verdict::none ? verdict : dropped.verdict(),
           dropped.reason == admit::ShedReason::expired ? Duration{0}
                                                        : queue_.retry_after(next_draw(draw)),
           refusals);
  });
  publish(now);
  if (!served) return nullptr;
  run(**served, now, between((*served)->since_, now));
  return *served;
}

std::optional<admit::Criticality> Admission::most_critical() const noexcept {
  for (std::size_t i = 0; i < admit::kCriticalities; ++i) {
    const auto c = static_cast<admit::Criticality>(i);
    if (queue_.depth(c) > 0) return c;
  }
  return std::nullopt;
}

void Admission::on_finished(Item& item, Instant now, bool abandoned) {
  DAMPER_CHECK(item.runs());
  item.state_ = Item::State::outside;
  const bool overran = now >= item.deadline_;
  if (overran) tally_.overruns.fetch_add(1, std::memory_order_relaxed);
  tally_.works.record(between(item.since_, now), now);
  if (abandoned && !overran) {
    limit_.release_ignored();
  } else {
    limit_.release(item.since_, now, overran);
  }
}

void Admission::on_finished_unrated(Item& item) noexcept {
  DAMPER_CHECK(item.runs());
  item.state_ = Item::State::outside;
  limit_.release_ignored();
}

bool Admission::try_withdraw(Item& item, Instant now) {
  if (!item.waits()) return false;
  (void)queue_.withdraw(item.criticality_, item.handle_);
  leave(item);
  tally_.count(Verdict::cancelled, item.criticality_);
  publish(now);
  return true;
}

void Admission::expire(Instant now, double draw, Refusals& refusals) {
  while (const auto due = leaving_.pop(now)) {
    Item& item = *std::bit_cast<Item*>(static_cast<std::uintptr_t>(due->event.detail));
    (void)queue_.withdraw(item.criticality_, item.handle_);
    // At the last instant at which it could have been run, it is late.
    const bool waited_too_long = late(item, add(now, Duration{1})) == Verdict::none;
    if (waited_too_long) {
      refuse(item, Verdict::shed, queue_.retry_after(next_draw(draw)), refusals);
    } else {
      refuse(item, now >= item.deadline_ ? Verdict::deadline_passed : Verdict::deadline_too_close,
             Duration{0}, refusals);
    }
  }
  publish(now);
}

void Admission::drain(Instant now, double draw, Refusals& refusals) {
  queue_.drain(now, [&](Queue::Dropped&& dropped) {
    refuse(*dropped.item, Verdict::shed, queue_.retry_after(next_draw(draw)), refusals);
  });
  publish(now);
}

void Admission::publish(Instant now) {
  tally_.depth.store(queue_.depth(), std::memory_order_relaxed);
  const Duration age = queue_.oldest_age(now);
  tally_.oldest.store(queue_.depth() == 0 ? kNever : add(now, -age), std::memory_order_relaxed);
}

}  // namespace damper::http
