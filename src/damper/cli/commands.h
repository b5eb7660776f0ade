#pragma once

#include "damper/cli/program.h"

namespace damper::cli {

// The subcommands of `damper`. Each function registers one subcommand with its options, its help
// and a callback that does the work and sets `status`.

// Exit status 1: the command ran, and its answer is negative. kTrouble is for what did not run.
inline constexpr int kBroken = 1;  // demo, drill, lab: a promised bound did not hold
inline constexpr int kFound = 1;   // check: a finding is as severe as --fail-on

// damper check FILE...: lints retry policies (policy/lint); prints text, JSON or SARIF.
void add_check(CLI::App& app, const text::Stdio& streams, int& status);
// damper ctl: shows and controls a running proxy through its admin API.
void add_ctl(CLI::App& app, const text::Stdio& streams, int& status);
// damper demo: the same traffic with and without the proxy, in one process; see demo/demo.h.
void add_demo(CLI::App& app, const text::Stdio& streams, int& status);
// damper drill storm: a retry storm in real time, with naive clients and with guarded ones.
void add_drill(CLI::App& app, const text::Stdio& streams, int& status);
// damper import FILE: converts another system's configuration into a policy file, with a note on
// standard error for every field without an equivalent.
void add_import(CLI::App& app, const text::Stdio& streams, int& status);
// damper proxy: see proxy/process/proxy_run.h.
void add_proxy(CLI::App& app, const text::Stdio& streams, int& status);
// damper schema policy|proxy|scenario|webhooks: prints the JSON Schema of a file (config/schema.h).
void add_schema(CLI::App& app, const text::Stdio& streams, int& status);
// damper webhooks: the dispatcher, clients of its API, and a receiver; each is one file in
// cli/webhooks.
void add_webhooks(CLI::App& app, const text::Stdio& streams, int& status);
// damper lab: the simulator; each of its subcommands is one file in cli/lab.
void add_lab(CLI::App& app, const text::Stdio& streams, int& status);
void add_lab_list(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_new(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_run(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_compare(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_map(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_matrix(CLI::App& lab, const text::Stdio& streams, int& status);
void add_lab_reproduce(CLI::App& lab, const text::Stdio& streams, int& status);

}  // namespace damper::cli
