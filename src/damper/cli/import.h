#ifndef DAMPER_CLI_IMPORT_H_
#define DAMPER_CLI_IMPORT_H_

#include "damper/cli/program.h"

namespace damper::cli {

// damper import FILE: another system's configuration as a policy file on standard output, with a
// note on standard error for everything that has no equivalent. The status is kTrouble when it
// cannot be read.
void add_import(CLI::App& app, const text::Stdio& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_IMPORT_H_
