#ifndef DAMPER_CLI_PROXY_H_
#define DAMPER_CLI_PROXY_H_

#include "damper/cli/program.h"

namespace damper::cli {

// `damper proxy`: see program.h, and proxy_run.h for what it does.
void add_proxy(CLI::App& app, const text::Stdio& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_PROXY_H_
