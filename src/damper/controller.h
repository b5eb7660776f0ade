#pragma once

// The headers for a controller and for guarded calls in it:
//
//   #include "damper/controller.h"
//
//   damper::Controller<std::string> controller({.workers = 4},
//       [&](const std::string& key) -> damper::Reconcile {
//         return damper::requeue_after(30s);     // or done(), failed(outcome), terminal(why)
//       });
//   controller.add("deployments/web");

#include "damper/damper.h"
#include "damper/queue/controller/controller.h"
#include "damper/queue/controller/controller_options.h"
#include "damper/queue/controller/reconcile.h"
#include "damper/queue/work_queue/work_queue_options.h"

namespace damper {

// Already here by their own headers: Controller, ControllerOptions, ControllerStats, done,
// Reconcile, requeue_after, terminal, RunContext.
using admit::Criticality;
using queue::Added;
using queue::AddOptions;
using queue::AtLimit;
using queue::is_taken;

}  // namespace damper
