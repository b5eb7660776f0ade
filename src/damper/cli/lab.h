#ifndef DAMPER_CLI_LAB_H_
#define DAMPER_CLI_LAB_H_

#include "damper/cli/program.h"

namespace damper::cli {

// damper lab: the simulator. Each of its subcommands is one file. Exit statuses: 0, kBroken when a
// promise of a scenario was broken, kTrouble when something does not load, run::kInterrupted after
// ^C.
void add_lab(CLI::App& app, const text::Stdio& streams, int& status);

// lab list, lab new: which scenarios there are, and a new one to edit.
void add_lab_list(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_new(CLI::App& lab, const text::Stdio& streams, int& status);
// lab run, lab compare: scenarios, or one scenario under several policies, played and reported.
void add_lab_run(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_compare(CLI::App& lab, const text::Stdio& streams, int& status);
// lab map: where it would go metastable.
void add_lab_map(CLI::App& lab, const text::Stdio& streams, int& status);
// lab reproduce: the published results, ours beside theirs.
void add_lab_reproduce(CLI::App& lab, const text::Stdio& streams, int& status);

}  // namespace damper::cli

#endif  // DAMPER_CLI_LAB_H_
