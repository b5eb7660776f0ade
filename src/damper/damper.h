#pragma once

// Everything that guards a call, under the names that a user writes:
//
//   #include "damper/damper.h"
//
//   damper::Dependency billing("billing");    // safe defaults: 3 attempts, full jitter, a 10 %
//                                             // budget, a deadline
//   auto invoice = damper::call(billing, {.idempotent = true, .deadline = damper::in(800ms)},
//       [&](const damper::Attempt& attempt) -> damper::Result<Invoice> {
//         return fetch_invoice(id, attempt.timeout());     // one attempt; say how it went
//       });
//   if (!invoice) log(damper::name(invoice.verdict()));    // budget_spent, permanent, ...

#include "damper/admit/switches.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/engine/policy.h"
#include "damper/run/attempt.h"
#include "damper/run/blocking.h"
#include "damper/run/classify_exception.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"
#include "damper/run/result.h"
#include "damper/run/update.h"
#include "damper/schedule/backoff.h"

namespace damper {

// Already here by their own headers: Attempt, call, CallResult, classify, Dependency, Done,
// Duration, failed, failed_http, Failure, in, Instant, kNever, Options, Percent, Refused, Result,
// switches, update, Verdict.
using admit::BreakerForce;
using admit::Switch;
using decide::Outcome;
using decide::Report;
using engine::find_error;
using engine::Policy;
using schedule::Jitter;

}  // namespace damper
