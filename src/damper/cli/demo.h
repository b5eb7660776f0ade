#ifndef DAMPER_CLI_DEMO_H_
#define DAMPER_CLI_DEMO_H_

#include "damper/cli/program.h"

namespace damper::cli {

// damper demo: three flaky backends, a fleet of clients and the proxy between them, in one process,
// with the same traffic unguarded beside it; live in the terminal, then a summary and a page. The
// status is kBroken (drill.h) when a promised bound did not hold, run::kInterrupted after ^C.
void add_demo(CLI::App& app, const text::Stdio& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_DEMO_H_
