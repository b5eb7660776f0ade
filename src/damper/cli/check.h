#ifndef DAMPER_CLI_CHECK_H_
#define DAMPER_CLI_CHECK_H_

#include "damper/cli/program.h"

namespace damper::cli {

// damper check FILE...: what is wrong with retry policies (policy/lint.h), as text, JSON or SARIF.
// The status is kTrouble when a file does not load, 1 when a finding is as severe as --fail-on.
void add_check(CLI::App& app, const text::Stdio& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_CHECK_H_
