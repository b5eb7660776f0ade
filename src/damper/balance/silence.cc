#include "damper/balance/silence.h"

#include <algorithm>
#include <cmath>

namespace damper::balance {

Duration faded(Duration value, Instant since, Instant now, Duration half_life) noexcept {
  const auto idle = static_cast<double>(std::max(Duration{0}, between(since, now)).count());
  const double halvings = idle / static_cast<double>(half_life.count());
  return Duration{
      static_cast<std::int64_t>(static_cast<double>(value.count()) * std::exp2(-halvings))};
}

std::uint32_t Silence::on_sent(Instant now, Duration half_life) noexcept {
  if (waiting_++ == 0) {
    waited_ = faded(waited_, sent_, now, half_life);
    since_ = now;
  }
  sent_ = now;
  return round_;
}

void Silence::on_answer() noexcept {
  ++round_;
  waiting_ = 0;
  waited_ = Duration{0};
}

void Silence::on_end(std::uint32_t round, Instant now) noexcept {
  if (round != round_ || --waiting_ > 0) return;
  waited_ = waited(now);
}

Duration Silence::length(Instant now, Duration most, Duration half_life) const noexcept {
  return faded(std::min(waiting_ > 0 ? waited(now) : waited_, most), sent_, now, half_life);
}

Duration Silence::waited(Instant now) const noexcept {
  return std::min(waited_ + std::clamp(between(since_, now), Duration{0}, kLongest), kLongest);
}

}  // namespace damper::balance
