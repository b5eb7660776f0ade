#ifndef DAMPER_PROXY_PROCESS_PROXY_RUN_H_
#define DAMPER_PROXY_PROCESS_PROXY_RUN_H_

#include "damper/base/text/stdio.h"
#include "damper/proxy/process/proxy_settings.h"

namespace damper::proxy {

// Runs a proxy until it is told to end: its exit status.
//
// Model: one thread waits, in poll(), for signals, for changes of the file, for the process that is
// to replace it, and for time; the proxy, its admin server and the fleet's control have threads of
// their own.
//   SIGHUP             reads the configuration again
//   SIGTERM, SIGINT    drains, then ends with 0; the second one ends it at once. A new process that
//                      does not serve yet is ended, too
//   SIGUSR2            starts the program anew with our sockets, and what is switched off; when
//                      that serves, drains and ends
// A new process that fails, or does not serve within kUpgradeTime, changes nothing. The fleet's
// policy with which it cannot start is passed over: for the copy on disk, then for the file.
[[nodiscard]] int run_proxy(const ProxySettings& settings, const text::Stdio& streams);

inline constexpr Duration kUpgradeTime = std::chrono::seconds(30);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_PROXY_RUN_H_
