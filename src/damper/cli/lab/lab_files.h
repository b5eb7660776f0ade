#ifndef DAMPER_CLI_LAB_LAB_FILES_H_
#define DAMPER_CLI_LAB_LAB_FILES_H_

#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/cli/program.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::cli {

// What the lab's subcommands read and write.

// The variants of a scenario: a built-in one by its name, else a file; - is standard input. Only
// the variants that are named, in that order, if any are. An error is one printable sentence.
[[nodiscard]] Expected<std::vector<lab::Scenario>> load_scenarios(
    const std::string& name_or_file, const std::vector<std::string>& variants,
    const text::Stdio& streams);

// The same scenario under another policy: that of a policy file, or the built-in defaults for the
// word `default`.
[[nodiscard]] Expected<lab::Scenario> under_policy(const lab::Scenario& scenario,
                                                   const std::string& policy);

// Where a result goes, beside the text on standard output.
struct Outputs {
  std::string html;  // file names; empty: not wanted; - is standard output, and then without text
  std::string json;
  std::string csv;
  [[nodiscard]] bool takes_standard_output() const {
    return html == "-" || json == "-" || csv == "-";
  }
};
void add_outputs(CLI::App& command, Outputs& outputs);

}  // namespace damper::cli

#endif  // DAMPER_CLI_LAB_LAB_FILES_H_
