#ifndef DAMPER_CLI_CTL_H_
#define DAMPER_CLI_CTL_H_

#include "damper/cli/program.h"

namespace damper::cli {

// The exit status when the proxy answered, and said no.
inline constexpr int kRefused = 1;

// damper ctl: looks at a running proxy and steers it, through its admin pages.
void add_ctl(CLI::App& app, const Streams& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_CTL_H_
