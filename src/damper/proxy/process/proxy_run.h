#pragma once

#include "damper/base/text/stdio.h"
#include "damper/proxy/process/proxy_settings.h"

namespace damper::proxy {

// Runs a proxy until a signal ends it, and returns the exit status.
//
// Model: one thread polls signals, changes of the file, the successor and timers; the proxy, its
// admin server and the fleet's control have threads of their own.
//   SIGHUP             reloads the configuration
//   SIGTERM, SIGINT    drains, then exits with 0; a second one exits at once. A successor that does
//                      not serve yet is ended too
//   SIGUSR2            starts a successor with the same sockets and switches; once it serves, this
//                      process drains and exits
// A successor that fails, or does not serve within kUpgradeTime, changes nothing. If the proxy
// cannot start with the fleet's policy, it uses the copy on disk, then the file.
[[nodiscard]] int run_proxy(const ProxySettings& settings, const text::Stdio& streams);

inline constexpr Duration kUpgradeTime = std::chrono::seconds(30);

}  // namespace damper::proxy
