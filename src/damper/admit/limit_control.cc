#include "damper/admit/limit_control.h"

#include <algorithm>
#include <cmath>

#include "damper/base/check.h"

namespace damper::admit {
namespace {

constexpr double kUsualSamples = 200;    // over which the drop floor falls
constexpr double kComparedSamples = 50;  // after a cut
constexpr double kMostDropFloor = 0.5;
constexpr double kNearlyAll = 0.9;  // of the samples are drops

// log10, truncated, at least 1.
double step_of(double limit) {
  double step = 1;
  for (std::int64_t decade = 100; limit >= static_cast<double>(decade); decade *= 10) step += 1;
  return step;
}

}  // namespace

std::optional<std::string> find_error(const ConcurrencyLimitOptions& options) {
  return BoundsCheck()
      .field("min", options.min, options.kLimit)
      .field("max", options.max, Range<std::int32_t>{options.min, options.kLimit.high})
      .field("initial", options.initial, Range<std::int32_t>{options.min, options.max})
      .field("window_samples", options.window_samples, options.kWindowSamples)
      .field("tolerated_drops", options.tolerated_drops, options.kToleratedDrops)
      .field("backoff", options.backoff, options.kBackoff)
      .field("latency_tolerance", options.latency_tolerance, options.kLatencyTolerance)
      .error();
}

LimitControl::LimitControl(const ConcurrencyLimitOptions& options) noexcept
    : options_(options), limit_(options.initial) {
  DAMPER_CHECK_VALID(find_error(options));
}

void LimitControl::on_window(const LimitWindow& window) noexcept {
  if (options_.kind == LimitKind::fixed) return;
  learn_drops(window);
  if (has_too_many_drops(window)) return cut();
  falling_ = false;
  if (window.answers == 0 || cut_limit_ != 0) return;

  const bool in_use = std::int64_t{2} * window.peak_in_flight >= limit();
  const double latency = std::max(1.0, static_cast<double>(window.latency.count()));
  if (options_.kind != LimitKind::aimd) {
    learn(latency, in_use);
    if (latency < 0.75 * floor_) return;  // A much lower floor: learn it before growing.
  }
  if (!in_use) return;
  move_to(next(latency));
  if (limit_ >= returns_to_) returns_to_ = 0;
}

void LimitControl::cut() noexcept {
  if (!falling_) returns_to_ = limit_ / 2;
  falling_ = true;
  if (cut_limit_ == 0) {
    cut_limit_ = limit_;
    cut_share_ = usual_.share();
    after_cut_ = {};
    after_limits_ = 0;
  }
  usual_ = {};
  compared_limit_ = 0;
  move_to(limit_ * options_.backoff.ratio());
}

// Have the drops followed a cut? They have if their share fell, or that of the answers rose, by
// half as much as the limit fell. In a deep overload only the answers show it: of ten times the
// capacity 90 % is dropped, and of seven times 86 %, but the share of answers is the inverse.
void LimitControl::learn_drops(const LimitWindow& window) noexcept {
  usual_.add(window);
  if (usual_.total > kUsualSamples) {
    usual_.drops *= kUsualSamples / usual_.total;
    usual_.total = kUsualSamples;
  }
  if (usual_.total >= kComparedSamples) drop_floor_ = std::min(drop_floor_, usual_.share());
  if (cut_limit_ == 0) return;
  after_cut_.add(window);
  after_limits_ += limit_ * (static_cast<double>(window.answers) + window.drops);
  // Nearly all were drops, and now few are: whatever it was is over, and 50 samples are too long a
  // wait for a limit that has fallen to a few.
  const bool over = cut_share_ >= kNearlyAll && !has_too_many_drops(window);
  if (!over && after_cut_.total < kComparedSamples) return;
  const double moved = after_limits_ / after_cut_.total / cut_limit_;
  if (over || moved <= 0.8) {
    const double left = after_cut_.share();
    const double fell = left / cut_share_;
    const double rose = (1 - left) / std::max(1 - cut_share_, 1e-9);
    const bool followed = over || fell * fell <= moved || rose * rose * moved >= 1;
    drop_floor_ = std::min(left, followed ? drop_floor_ / 2 : kMostDropFloor);
  }
  cut_limit_ = 0;
}

// The window alone decides without a floor, or if two thirds are drops. With a floor, the window or
// the last samples must exceed it by what is tolerated and by their noise.
bool LimitControl::has_too_many_drops(const LimitWindow& window) const noexcept {
  const std::int64_t total = std::int64_t{window.answers} + window.drops;
  const bool over = std::int64_t{window.drops} * Percent::kDenominator >
                    total * options_.tolerated_drops.hundredths();
  if (!over || window.drops > 2 * window.answers) return over;
  Pool alone;
  alone.add(window);
  const auto exceeds = [&](const Pool& pool) {
    const double noise = 3 * std::sqrt(pool.total * drop_floor_ * (1 - drop_floor_));
    return pool.drops > pool.total * (drop_floor_ + options_.tolerated_drops.ratio()) + noise;
  };
  return exceeds(alone) || exceeds(usual_);
}

void LimitControl::learn(double latency, bool in_use) noexcept {
  if (floor_ == 0) {
    floor_ = latency;
  } else if (latency < floor_) {
    floor_ += (latency - floor_) / 8;
  } else if (!in_use) {
    floor_ += (latency - floor_) / 16;
  }
  if (in_use) {
    compare(latency);
  } else {
    compared_limit_ = 0;
  }
}

// Where there is a queue of ours, latency is in proportion to the limit. Once the limit has moved
// by a fifth: has latency followed? What is compared with is fresh until the limit begins to move.
void LimitControl::compare(double latency) noexcept {
  if (compared_limit_ != 0) {
    const double moved = limit_ / compared_limit_;
    if (0.9 < moved && moved < 1.1) compared_latency_ = latency;
    if (0.8 < moved && moved < 1.25) return;
    const double response = latency / compared_latency_;
    const bool followed = moved < 1 ? response * response <= moved : response * response >= moved;
    const bool has_other_cause = !followed && latency > floor_;
    const bool in_vain = has_other_cause && moved < 1;
    if (has_other_cause) floor_ += (latency - floor_) / (in_vain && cut_in_vain_ ? 1 : 2);
    if (in_vain) returns_to_ = std::max(returns_to_, compared_limit_);
    cut_in_vain_ = in_vain;
  }
  compared_limit_ = limit_;
  compared_latency_ = latency;
}

double LimitControl::next(double latency) const noexcept {
  const bool aimd = options_.kind == LimitKind::aimd;
  const bool no_queue = aimd || latency <= options_.latency_tolerance.ratio() * floor_;
  const double grown = aimd                                ? limit_ + 1
                       : options_.kind == LimitKind::vegas ? vegas(latency)
                                                           : gradient(latency);
  return no_queue ? std::max(grown, std::min(2 * limit_, returns_to_)) : grown;
}

double LimitControl::vegas(double latency) const noexcept {
  const double step = step_of(limit_);
  const double most = std::max(6 * step, limit_ / 8);
  const double queue = limit_ * (1 - std::min(1.0, floor_ / latency));
  if (queue <= most / 6) return limit_ + 6 * step;
  if (queue < most / 2) return limit_ + step;
  if (queue <= most) return limit_ + step / 2;
  return limit_ - step;
}

double LimitControl::gradient(double latency) const noexcept {
  const double tolerated = options_.latency_tolerance.ratio() * floor_;
  const double slope = std::clamp(tolerated / latency, 0.5, 1.0);
  return limit_ + (limit_ * slope + std::sqrt(limit_) - limit_) / 5;
}

void LimitControl::move_to(double limit) noexcept {
  limit_ = std::clamp(limit, static_cast<double>(options_.min), static_cast<double>(options_.max));
}

void LimitControl::reload(const ConcurrencyLimitOptions& options) noexcept {
  DAMPER_CHECK_VALID(find_error(options));
  options_ = options;
  move_to(options.kind == LimitKind::fixed ? options.initial : limit_);
}

}  // namespace damper::admit
