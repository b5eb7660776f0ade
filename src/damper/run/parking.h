#ifndef DAMPER_RUN_PARKING_H_
#define DAMPER_RUN_PARKING_H_

#include <stop_token>

#include "damper/engine/call.h"

namespace damper::run {

// Waits until the call's wake-up time, the flip of any switch, or a stop request, and makes the
// call's next step.
//
// Why: a retry that waits in a backoff must see the kill switch at once, not when its time is over.
// Model: all waiting threads share one condition variable, which every flip notifies. The call
// is asked once more after the flips were counted, so a flip in between is not missed.
void park(engine::Call& call, const std::stop_token& stop);

}  // namespace damper::run

#endif  // DAMPER_RUN_PARKING_H_
