#include "damper/schedule/backoff.h"

#include <algorithm>

namespace damper::schedule {
namespace {

// A point of [0, interval), never the end of it: draw < 1 and interval < 2^53 make the product
// round below the interval.
Duration part_of(Duration interval, double draw) noexcept {
  return Duration{static_cast<std::int64_t>(static_cast<double>(interval.count()) * draw)};
}

}  // namespace

std::optional<std::string> find_error(const BackoffOptions& options) {
  // With decorrelated jitter a cap equal to the base would leave nothing to spread.
  const Duration least =
      std::min(options.base, kLongest) + Duration{options.jitter == Jitter::decorrelated ? 1 : 0};
  return BoundsCheck()
      .field("base", options.base, options.kBase)
      .field("cap", options.cap, Range<Duration>{least, kLongest})
      .error();
}

Duration ceiling(const BackoffOptions& options, std::uint32_t retry) noexcept {
  if (retry >= 62 || options.base.count() > (options.cap.count() >> retry)) return options.cap;
  return options.base * (std::int64_t{1} << retry);
}

Duration Backoff::next(const BackoffOptions& options, std::uint32_t retry, double draw) noexcept {
  const Duration top = ceiling(options, retry);
  switch (options.jitter) {
    case Jitter::none: return top;
    case Jitter::full: return part_of(top, draw);
    case Jitter::equal: return top / 2 + part_of(top - top / 2, draw);
    case Jitter::decorrelated: {
      const Duration previous = std::max(previous_, options.base);
      const Duration end = std::min(options.cap, times(previous, 3));
      previous_ = options.base + part_of(end - options.base, draw);
      return previous_;
    }
  }
  return top;
}

}  // namespace damper::schedule
