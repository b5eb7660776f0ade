#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/text/chart_text.h"
#include "damper/cli/files.h"
#include "damper/cli/program.h"
#include "damper/cli/terminal.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::cli {

// The input and output of the lab's subcommands.

// The variants of a scenario: a built-in one by its name, else a file; - is standard input. With
// `variants`, only these, in that order. An error is one printable sentence.
[[nodiscard]] Expected<std::vector<lab::Scenario>> load_scenarios(
    const std::string& name_or_file, const std::vector<std::string>& variants,
    const text::Stdio& streams);

// The same scenario under another policy: a policy file, or `default` for the built-in defaults.
[[nodiscard]] Expected<lab::Scenario> under_policy(const lab::Scenario& scenario,
                                                   const std::string& policy);

// The files of a result, beside the text on standard output. Empty: not written; -: standard
// output, which then has no text.
struct Outputs {
  std::string html;
  std::string json;
  std::string csv;
  [[nodiscard]] bool takes_standard_output() const {
    return html == "-" || json == "-" || csv == "-";
  }
};
void add_outputs(CLI::App& command, Outputs& outputs);

// Prints `result` as text, unless a file takes standard output, and to each file of `outputs`.
// False if a file could not be written; the error is printed.
template <class Result>
struct Printers {
  using Print = void (*)(std::ostream& out, const Result& result);
  void (*text)(std::ostream& out, const Result& result, text::ReportStyle style);
  Print html;
  Print json;
  Print csv;
};
template <class Result>
[[nodiscard]] bool print_all(const Result& result, const Outputs& outputs,
                             const text::Stdio& streams, const Printers<Result>& printers) {
  if (!outputs.takes_standard_output()) {
    printers.text(streams.out, result, {.colour = wants_colour(streams.out)});
  }
  const auto print = [&](const std::string& file, typename Printers<Result>::Print printer) {
    return file.empty() ||
           write_output(file, streams, [&](std::ostream& out) { printer(out, result); });
  };
  const bool html = print(outputs.html, printers.html);
  const bool json = print(outputs.json, printers.json);
  const bool csv = print(outputs.csv, printers.csv);
  return html && json && csv;
}

// The options that `run`, `compare` and `map` share.
struct RunOptions {
  std::string scenario;
  std::uint64_t seed = 1;
  int runs = 1;
  unsigned threads = 0;
  Outputs outputs;
};
void add_run_options(CLI::App& command, RunOptions& options, int most_runs);
void add_threads(CLI::App& command, unsigned& threads);

}  // namespace damper::cli
