#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/cli/files.h"
#include "damper/policy/import/import.h"
#include "damper/proxy/import/import_proxy.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper import envoy.yaml -o damper.yaml         convert an Envoy file
  damper proxy -c damper.yaml --validate          check the result
  damper import --from grpc service_config.json   without --from the format is detected
  damper import istio.yaml -o damper.yaml         write the policy to a file
  kubectl get vs,dr -o yaml | damper import -     read standard input
  damper import envoy.yaml 2>/dev/null | damper check -

An Envoy file with listeners, routes and clusters becomes a file for damper proxy; every other file
becomes a policy file. Each line of the result names its source line. A note is printed for each
field that has no equivalent, or a different meaning in damper.

Exit status: 0 the file was imported, 2 it was not.
)";

struct Options {
  std::string from;
  std::string file;
  std::string out = "-";
};

// What is written, and its notes.
struct Converted {
  std::string text;
  std::vector<config::Note> notes;
};

Expected<Converted, config::Error> convert(policy::From from, std::string_view text,
                                           std::string_view file) {
  if (from == policy::From::envoy) {
    auto proxy = proxy::import_envoy_proxy(text, file);
    if (!proxy) return unexpected(proxy.error());
    if (*proxy) return Converted{std::move((*proxy)->text), std::move((*proxy)->notes)};
  }
  auto imported = policy::import_policy(from, text, file);
  if (!imported) return unexpected(imported.error());
  if (from == policy::From::envoy) {
    imported->notes.insert(imported->notes.begin(),
                           {std::string(file),
                            {},
                            "the result is a policy file: a proxy file needs "
                            "a listener with a route_config and a cluster "
                            "with endpoints"});
  }
  std::string printed = print_import(*imported, from);
  return Converted{std::move(printed), std::move(imported->notes)};
}

bool import(const Options& options, const text::Stdio& streams) {
  const auto text = read_input(options.file, streams);
  if (!text) {
    streams.err << to_string(text.error()) << '\n';
    return false;
  }
  const std::string file = input_name(options.file);
  std::optional<policy::From> from = policy::kFromNames.find(options.from);
  if (!from) {
    const auto guessed = policy::guess(*text, file);
    if (!guessed) {
      streams.err << to_string(guessed.error()) << '\n';
      return false;
    }
    from = *guessed;
  }
  const auto converted = convert(*from, *text, file);
  if (!converted) {
    streams.err << to_string(converted.error()) << '\n';
    return false;
  }
  for (config::Note note : converted->notes) {
    note.sentence.insert(0, "note: ");
    streams.err << to_string(note) << '\n';
  }
  return write_output(options.out, streams, [&](std::ostream& out) { out << converted->text; });
}

}  // namespace

void add_import(CLI::App& app, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "import", "Convert an Envoy, gRPC, Istio or Linkerd configuration to damper's.");
  command->footer(kExamples);
  command->add_option("FILE", options->file, "The configuration file; - reads standard input.")
      ->required();
  command->add_option("--from", options->from,
                      "The file's format: envoy, grpc, istio or linkerd (default: detected).");
  command->add_option("-o,--output", options->out,
                      "The file to write; - (the default) is standard output.");
  command->callback([options, streams, &status] {
    if (!options->from.empty() && !policy::kFromNames.find(options->from)) {
      streams.err << "damper: --from must be one of " << text::joined(policy::kFromNames)
                  << ", not " << text::in_quotes(options->from)
                  << text::suggestion(options->from, policy::kFromNames) << '\n';
      status = kTrouble;
      return;
    }
    if (!import(*options, streams)) status = kTrouble;
  });
}

}  // namespace damper::cli
