#pragma once

#include <functional>

#include "damper/base/expected.h"
#include "damper/base/text/stdio.h"
#include "damper/webhooks/process/serve_options.h"

namespace damper::webhooks {

// Runs a dispatcher until a signal ends it, and returns the exit status: 0 after a drain, 2 if it
// could not start. Events are written to the standard output, one in a line.
//
//   SIGTERM, SIGINT    drains, then ends; a second one ends at once
//   SIGHUP             calls `read_again`, and applies what can change: WebhookServer::reload().
//                      The event is `reloaded`, with the keys that need a restart, or
//                      `reload_failed`, and everything stays as it was
using ReadOptions = std::function<Expected<ServeOptions>()>;
[[nodiscard]] int run_webhooks(const ServeOptions& options, const ReadOptions& read_again,
                               const text::Stdio& streams);

}  // namespace damper::webhooks
