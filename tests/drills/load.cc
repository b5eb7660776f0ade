#include "load.h"

#include <algorithm>
#include <cmath>

#include "damper/run/clock.h"

namespace damper::drills {

void Load::play(double rate_per_second, Duration length) {
  play_on(rate_per_second, length);
  settle();
}

void Load::play_on(double rate_per_second, Duration length) {
  rate_ = rate_per_second;
  started_ = run::now();
  until_ = started_ + length;
  begun_ = 0;
  playing_ = true;
  arm(started_);
  loop().run();  // Until on_timer() stops it.
}

void Load::settle() {
  if (under_way_ == 0) return;
  loop().run();  // Until the last one stops it.
}

void Load::on_timer(Instant /*now*/) {
  const Instant now = run::now();
  const double elapsed = std::chrono::duration<double>(std::min(now, until_) - started_).count();
  const auto due = static_cast<std::uint64_t>(elapsed * rate_);
  while (width_ == 0 && begun_ < due) begin_one();
  if (now >= until_) {
    playing_ = false;
    loop().stop();
    return;
  }
  arm(std::min(until_, started_ + Duration{static_cast<std::int64_t>(
                                      static_cast<double>(begun_ + 1) / rate_ * 1e9)}));
}

void Load::begin_one() {
  ++begun_;
  ++under_way_;
  const Instant began = run::now();
  begin_(number_++, [this, began](bool good) {
    samples_.push_back({began, run::now() - began, good});
    if (--under_way_ == 0 && !playing_) loop().stop();
    if (playing_ && width_ > 0) begin_one();
  });
}

double Load::saturate(int width, Duration length) {
  const std::size_t before = samples_.size();
  width_ = width;
  playing_ = true;
  started_ = run::now();
  until_ = started_ + length;
  rate_ = 1;
  for (int i = 0; i < width; ++i) begin_one();
  arm(until_);
  loop().run();
  const double took = std::chrono::duration<double>(run::now() - started_).count();
  const auto good = std::count_if(samples_.begin() + static_cast<std::ptrdiff_t>(before),
                                  samples_.end(), [](const Sample& call) { return call.good; });
  settle();
  width_ = 0;
  return static_cast<double>(good) / took;
}

Duration Load::Summary::percentile(double percent) const {
  if (sorted.empty()) return Duration{0};
  const auto rank =
      static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

Load::Summary Load::summary(Instant from, Instant to) const {
  Summary summary;
  for (const Sample& sample : samples_) {
    if (sample.began < from || sample.began >= to) continue;
    ++summary.calls;
    if (!sample.good) continue;
    ++summary.good;
    summary.sorted.push_back(sample.took);
  }
  std::ranges::sort(summary.sorted);
  return summary;
}

}  // namespace damper::drills
