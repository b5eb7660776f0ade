#ifndef DAMPER_CLI_CTL_H_
#define DAMPER_CLI_CTL_H_

#include "damper/cli/program.h"
#include "damper/proxy/admin/admin_client.h"

namespace damper::cli {

// The exit status when the proxy answered, and said no.
using proxy::kRefused;

// damper ctl: looks at a running proxy and steers it, through its admin pages.
void add_ctl(CLI::App& app, const text::Stdio& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_CTL_H_
