#include "damper/cli/check.h"

#include <CLI/CLI.hpp>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "damper/policy/policy_file.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper check damper.yaml                        ok, or the first error with its place
  damper check --quiet a.yaml b.yaml              nothing but errors and notes
  damper check --effective damper.yaml > all.yaml every value in force, as a policy file
  generate-policy | damper check -                from standard input

Exit status: 0 when every file loads, 2 when one does not.
)";

struct Options {
  std::vector<std::string> files;
  bool quiet = false;
  bool effective = false;
};

// Whether the file loads.
bool check(const std::string& name, const Options& options, const Streams& streams) {
  const auto file =
      name == "-" ? policy::load_stream(streams.in, "standard input") : policy::load_file(name);
  if (!file) {
    streams.err << to_string(file.error()) << '\n';
    return false;
  }
  if (!options.quiet && !options.effective) streams.out << file->file << ": ok\n";
  std::ostream& notes = options.effective ? streams.err : streams.out;
  for (policy::Note note : file->notes) {
    note.sentence.insert(0, "note: ");
    notes << to_string(note) << '\n';
  }
  if (options.effective || !options.quiet) streams.out << print(*file);
  return true;
}

}  // namespace

void add_check(CLI::App& app, const Streams& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Check policy files, and show what they mean.");
  command->footer(kExamples);
  command->add_option("FILE", options->files, "Policy files; - is standard input.")->required();
  command->add_flag("-q,--quiet", options->quiet, "Only errors and notes.");
  command->add_flag("--effective", options->effective,
                    "Only the policy in force, as a policy file; notes go to standard error.");
  command->callback([options, streams, &status] {
    for (const std::string& file : options->files) {
      if (!check(file, *options, streams)) status = kTrouble;
    }
  });
}

}  // namespace damper::cli
