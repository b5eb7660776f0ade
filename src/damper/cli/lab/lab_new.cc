#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>

#include "damper/base/text/words.h"
#include "damper/cli/commands.h"
#include "damper/cli/files.h"
#include "damper/cli/lab/lab_files.h"
#include "damper/lab/scenario/builtin.h"

namespace damper::cli {
namespace {

struct Options {
  std::string file;
  std::string from;
};

void list(const text::Stdio& streams) {
  std::size_t widest = 0;
  for (const lab::Builtin& builtin : lab::builtins()) {
    widest = std::max(widest, builtin.name.size());
  }
  for (const lab::Builtin& builtin : lab::builtins()) {
    streams.out << builtin.name << std::string(widest + 2 - builtin.name.size(), ' ')
                << builtin.about << '\n';
  }
  streams.out << "\ndamper lab run NAME plays one, damper lab new FILE --from NAME copies one.\n";
}

int make_new(const Options& options, const text::Stdio& streams) {
  std::string_view text = lab::scenario_template();
  if (!options.from.empty()) {
    const lab::Builtin* const builtin = lab::find_builtin(options.from);
    if (builtin == nullptr) {
      const auto known = lab::load_builtin(options.from);  // Its error has the nearest name.
      streams.err << to_string(known.error()) << '\n';
      return kTrouble;
    }
    text = builtin->text;
  }
  std::error_code error;
  if (options.file != "-" && std::filesystem::exists(options.file, error)) {
    streams.err << "damper: " << text::in_quotes(options.file)
                << " is there already; choose another name, or remove it\n";
    return kTrouble;
  }
  if (!write_output(options.file, streams, [&](std::ostream& out) { out << text; })) {
    return kTrouble;
  }
  if (options.file != "-") {
    streams.out << "Wrote " << options.file << ". Edit it, then: damper lab run " << options.file
                << '\n';
  }
  return kOk;
}

}  // namespace

void add_lab_list(CLI::App& lab, const text::Stdio& streams, int& status) {
  CLI::App* command = lab.add_subcommand("list", "List the built-in scenarios.");
  command->callback([streams, &status] {
    list(streams);
    status = kOk;
  });
}

void add_lab_new(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand("new", "Write a commented scenario file to edit.");
  command->footer(R"(Examples:
  damper lab new mine.yaml                 a small scenario
  damper lab new mine.yaml --from storm    a copy of a built-in scenario
)");
  command->add_option("FILE", options->file, "The file to write; - is standard output.")
      ->required();
  command->add_option("--from", options->from, "The built-in scenario to copy (damper lab list).");
  command->callback([options, streams, &status] { status = make_new(*options, streams); });
}

}  // namespace damper::cli
