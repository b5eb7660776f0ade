#ifndef DAMPER_CLI_DRILL_H_
#define DAMPER_CLI_DRILL_H_

#include "damper/cli/program.h"

namespace damper::cli {

// The exit status of a drill that showed something else than it promises.
inline constexpr int kBroken = 1;

// damper drill storm: a retry storm for real, with naive clients and with guarded ones. The status
// is kBroken when a promised bound did not hold.
void add_drill(CLI::App& app, const text::Stdio& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_DRILL_H_
