#include "damper/lab/world/arrivals.h"

#include <algorithm>

#include "damper/base/portable_math.h"

namespace damper::lab {
namespace {

constexpr Duration kMeter = std::chrono::milliseconds(1);

// The share part / whole of a length: exact, and no product on the way is too large.
Duration share_of(Duration length, std::int64_t part, std::int64_t whole) noexcept {
  return length / whole * part + length % whole * part / whole;
}

}  // namespace

Duration exponential_gap(double rate_per_second, double draw) noexcept {
  const double ns = -math::ln(1 - draw) / rate_per_second * 1e9;
  constexpr double kMost = static_cast<double>(kLongest.count());
  return Duration{static_cast<std::int64_t>(ns < kMost ? ns + 0.5 : kMost)};
}

Arrivals::Arrivals(const ClientsSpec& spec, std::size_t group, const RandomStreams& streams)
    : spec_(spec),
      group_(group),
      streams_(streams),
      gaps_(streams.stream(Purpose::arrivals, group)),
      choices_(streams.stream(Purpose::choice, ~std::uint64_t{group})) {}

bool Arrivals::by_client() const noexcept {
  return spec_.loop != Loop::open || spec_.arrivals == Pattern::constant ||
         spec_.arrivals == Pattern::spread;
}

std::uint32_t Arrivals::sources() const noexcept {
  return by_client() ? static_cast<std::uint32_t>(spec_.count) : 1;
}

Instant Arrivals::first(std::uint32_t source) {
  const Duration begins =
      spec_.first.sample(streams_.draw(Purpose::clients, group_ << 32 | source, 0));
  Instant at{begins};
  if (spec_.loop == Loop::open) {
    if (spec_.arrivals == Pattern::poisson) at = add(at, exponential_gap(spec_.rate, gaps_.draw()));
    if (spec_.arrivals == Pattern::spread) at = add(at, share_of(spec_.every, source, spec_.count));
  }
  return at > Instant{spec_.until} ? kNever : at;
}

std::uint32_t Arrivals::begin(double rush) {
  if (by_client() || spec_.arrivals == Pattern::poisson) return 1;
  if (spec_.arrivals == Pattern::bursts) return static_cast<std::uint32_t>(spec_.burst);
  const double mean = spec_.rate * rush / 1000;  // for each kMeter
  constexpr double kLeastDraw = 0x1.0p-54;  // The quantile of 0 is infinite: it would end them all.
  due_ += mean + mean / 4 * math::normal_quantile(std::max(kLeastDraw, gaps_.draw()));
  std::uint32_t begun = 0;
  for (; due_ > 0; due_ -= 1) ++begun;
  return begun;
}

Instant Arrivals::next(Instant now, double rush) {
  if (spec_.loop != Loop::open) return kNever;
  Duration gap = spec_.every;
  if (spec_.arrivals == Pattern::poisson) gap = exponential_gap(spec_.rate * rush, gaps_.draw());
  if (spec_.arrivals == Pattern::metered) gap = kMeter;
  const Instant at = add(now, gap);
  return at > Instant{spec_.until} ? kNever : at;
}

Instant Arrivals::after_answer(std::uint32_t client, std::uint32_t nth, Instant now) const {
  if (spec_.loop != Loop::closed) return kNever;
  const Duration thinks = spec_.think.sample(
      streams_.draw(Purpose::clients, group_ << 32 | client, std::uint64_t{nth} + 1));
  const Instant at = add(now, thinks);
  return at > Instant{spec_.until} ? kNever : at;
}

std::uint32_t Arrivals::next_client() {
  if (spec_.arrivals == Pattern::bursts) {
    return static_cast<std::uint32_t>(begun_ % static_cast<std::uint64_t>(spec_.count));
  }
  const double choice = choices_.draw() * spec_.count;
  return static_cast<std::uint32_t>(choice);
}

std::uint64_t Arrivals::number(std::uint32_t client, std::uint32_t nth) noexcept {
  const bool mine = by_client();
  const std::uint64_t who = mine ? std::uint64_t{client} + 1 : 0;
  const std::uint64_t which = mine ? nth : begun_;
  ++begun_;
  return Random(Random(group_ << 40 ^ who).bits() ^ which).bits();
}

}  // namespace damper::lab
