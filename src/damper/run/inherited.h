#ifndef DAMPER_RUN_INHERITED_H_
#define DAMPER_RUN_INHERITED_H_

#include <cstdint>
#include <string>

#include "damper/admit/criticality.h"
#include "damper/run/scope.h"
#include "damper/schedule/deadline.h"

namespace damper::run {

// What a request that came in says to the calls that are made for it: until when its caller waits,
// and who retries. A guarded call inside the work for it takes these over without being told: see
// ScopedExecutor for coroutines, Scope for threads.
struct Inherited {
  schedule::Deadline deadline{};
  Scope::Owns owned_above{};  // somebody above retries, so nobody below does
  std::string retry_owner{};  // who; passed on as damper-retry-owner
  std::uint32_t attempt = 1;  // of the owner's
  admit::Criticality criticality = admit::Criticality::critical;
};

}  // namespace damper::run

#endif  // DAMPER_RUN_INHERITED_H_
