// The part of a Call about uploads: a request that is still arriving while it is sent.

#include <algorithm>
#include <utility>

#include "damper/engine/call.h"

namespace damper::engine {

template <Footprint kFootprint>
void BasicCall<kFootprint>::on_upload_awaited(Instant now) noexcept {
  uploaded_ = kNever;
  if (std::exchange(incomplete_, true)) return;
  terms_.plain = false;
  for (std::size_t i = 0; active_ >> i != 0; ++i) {
    if (is_active(i)) leave(lanes_[i], now);
  }
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::on_upload_blocked(Instant now) noexcept {
  if (uploaded_ == kNever) uploaded_ = now;
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::on_upload_complete(Instant now, double draw) noexcept {
  on_upload_blocked(now);
  if (!incomplete_) return;
  if (const Verdict verdict = try_return(now, draw); verdict != Verdict::none) {
    return finish(verdict, now);
  }
  incomplete_ = false;
  if (may_hedge() && hedge_at_ == kNever && active_ != 0) plan_hedge(now);
  wait();
}

// A slot is for work, and an incomplete request is none: see docs/design/0035.
template <Footprint kFootprint>
void BasicCall<kFootprint>::leave(Lane& lane, Instant now) noexcept {
  if (terms_.has_limit) dependency_.limit_.release_ignored();
  leave_breaker(lane, now);
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::leave_breaker(Lane& lane, Instant now) noexcept {
  if (!terms_.has_breaker || lane.permit.probe == 0) return;
  dependency_.breaker_.on_cancel(lane.permit, now);
  lane.permit = {};
}

// The opposite, for all attempts in flight or for none.
template <Footprint kFootprint>
Verdict BasicCall<kFootprint>::try_return(Instant now, double draw) noexcept {
  Verdict verdict = Verdict::none;
  std::size_t i = 0;
  for (; active_ >> i != 0 && verdict == Verdict::none; ++i) {
    if (!is_active(i)) continue;
    Lane& lane = lanes_[i];
    // The permit of a closed breaker was kept, since a failure before the end counts.
    if (terms_.has_breaker && lane.permit.admitted &&
        dependency_.breaker_.state(now) != admit::BreakerState::closed) {
      dependency_.breaker_.on_cancel(lane.permit, now);
      lane.permit = {};
    }
    if (terms_.has_breaker && !lane.permit.admitted) {
      lane.permit = dependency_.breaker_.try_admit(now, draw);
      if (lane.permit.moved()) dependency_.on_breaker(lane.permit, now);
      if (!lane.permit.admitted) verdict = Verdict::breaker_open;
    }
    if (verdict == Verdict::none && terms_.has_limit && !dependency_.limit_.try_acquire()) {
      verdict = Verdict::limited;
      leave_breaker(lane, now);
    }
  }
  if (verdict == Verdict::none) return verdict;
  for (--i; i > 0; --i) {
    if (is_active(i - 1)) leave(lanes_[i - 1], now);
  }
  return verdict;
}

// The class is instantiated in call.cc, without these.
template void BasicCall<Footprint::large>::on_upload_awaited(Instant) noexcept;
template void BasicCall<Footprint::small>::on_upload_awaited(Instant) noexcept;
template void BasicCall<Footprint::large>::on_upload_blocked(Instant) noexcept;
template void BasicCall<Footprint::small>::on_upload_blocked(Instant) noexcept;
template void BasicCall<Footprint::large>::on_upload_complete(Instant, double) noexcept;
template void BasicCall<Footprint::small>::on_upload_complete(Instant, double) noexcept;
template void BasicCall<Footprint::large>::leave(Lane&, Instant) noexcept;
template void BasicCall<Footprint::small>::leave(Lane&, Instant) noexcept;
template void BasicCall<Footprint::large>::leave_breaker(Lane&, Instant) noexcept;
template void BasicCall<Footprint::small>::leave_breaker(Lane&, Instant) noexcept;
template Verdict BasicCall<Footprint::large>::try_return(Instant, double) noexcept;
template Verdict BasicCall<Footprint::small>::try_return(Instant, double) noexcept;

}  // namespace damper::engine
