#ifndef DAMPER_CLI_CHECK_H_
#define DAMPER_CLI_CHECK_H_

#include "damper/cli/program.h"

namespace damper::cli {

// damper check FILE...: whether policy files load, what to know about them, and every value that
// they put in force. The status is kTrouble when one of them does not load.
void add_check(CLI::App& app, const Streams& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_CHECK_H_
