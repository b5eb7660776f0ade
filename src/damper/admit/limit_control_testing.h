#pragma once

#include "damper/admit/limit_control.h"

namespace damper::admit {

// A window with all of the limit in use.
[[nodiscard]] inline LimitWindow busy(const LimitControl& control, Duration latency,
                                      std::int32_t drops = 0) {
  return {.answers = 100 - drops,
          .drops = drops,
          .latency = latency,
          .peak_in_flight = control.limit()};
}

// The same without latency, for a limit that follows drops alone.
inline void on_samples(LimitControl& control, std::int32_t answers, std::int32_t drops) {
  control.on_window({.answers = answers, .drops = drops, .peak_in_flight = control.limit()});
}

}  // namespace damper::admit
