#ifndef DAMPER_RUN_RETRY_WAIT_H_
#define DAMPER_RUN_RETRY_WAIT_H_

#include <stop_token>

#include "damper/engine/call.h"
#include "damper/engine/step.h"

namespace damper::run {

// Blocks until the call's wake-up time, the flip of any switch, or a stop request, and returns the
// call's next step.
//
// Why: a retry that waits in a backoff must see the kill switch at once, not after the backoff.
// Model: all waiting threads share one condition variable, which every flip notifies. The flips are
// counted before the call checks the switches, so that no flip is missed in between.
const engine::Step& wait_for_retry(engine::Call& call, const std::stop_token& stop);

}  // namespace damper::run

#endif  // DAMPER_RUN_RETRY_WAIT_H_
