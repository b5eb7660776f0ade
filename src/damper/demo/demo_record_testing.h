#pragma once

#include "damper/demo/demo_acts.h"
#include "damper/demo/demo_record.h"

namespace damper::demo {

// An act of two seconds as it could have been: ten requests in each bucket, of 20 ms; in the
// trouble none is good, and each costs `attempts`.
inline LaneRecord example_lane(const ActTimes& times, std::uint32_t attempts) {
  LaneRecord lane;
  for (Duration at{0}; at < times.end; at += kDemoBucket) {
    const bool trouble = times.trouble <= at && at < times.over;
    for (int i = 0; i < 10; ++i) {
      lane.calls.push_back(
          {.started = at, .ended = at + std::chrono::milliseconds(20), .answered = !trouble});
    }
    lane.started.push_back(10);
    lane.attempts.push_back(trouble ? 10 * attempts : 10);
  }
  return lane;
}

inline ActRecord example_act(Act act) {
  ActRecord record;
  record.act = act;
  record.times = times_of(act, std::chrono::seconds(2));
  record.whole = true;
  record.guarded = example_lane(record.times, 1);
  record.unguarded = example_lane(record.times, 4);
  return record;
}

}  // namespace damper::demo
