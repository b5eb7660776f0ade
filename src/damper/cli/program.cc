#include "damper/cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <string_view>

#include "damper/base/text/words.h"
#include "damper/cli/commands.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper check damper.yaml          lint a retry policy
  damper check --effective d.yaml   print the policy with all defaults filled in
  damper import envoy.yaml          convert an Envoy, gRPC, Istio or Linkerd file
  damper schema policy              print a JSON Schema, for editors
  damper lab run storm              simulate a retry storm
  damper lab map metastable-db      find the loads at which a service becomes metastable
  damper demo                       an outage, an overload and more, with and without the proxy
  damper drill storm                a retry storm in real time, with and without damper
  damper proxy --listen :8080 --to http://127.0.0.1:9000
  damper ctl status                 show a running proxy, the worst problems first
  damper webhooks listen            receive webhooks and check their signatures
  damper check --help               the options of a subcommand
)";

// The first argument that is not an option, if no subcommand has that name.
const std::string* find_unknown_subcommand(const std::vector<std::string>& arguments,
                                           const std::vector<std::string_view>& known) {
  const auto first = std::find_if(arguments.begin(), arguments.end(),
                                  [](const std::string& text) { return !text.starts_with('-'); });
  if (first == arguments.end()) return nullptr;
  return std::find(known.begin(), known.end(), *first) == known.end() ? &*first : nullptr;
}

}  // namespace

std::function<std::string(const std::string&)> one_of(std::span<const std::string_view> words) {
  return [words](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return {};
    return "must be one of " + text::joined(words) + ", not " + text::in_quotes(text) +
           text::suggestion(text, words);
  };
}

int run(std::vector<std::string> arguments, const text::Stdio& streams) {
  CLI::App app("damper: retries that help. One engine decides, schedules and admits.", "damper");
  app.set_version_flag("--version", "damper " DAMPER_VERSION);
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.footer(kExamples);
  app.require_subcommand(1);
  int status = kOk;
  add_check(app, streams, status);
  add_ctl(app, streams, status);
  add_demo(app, streams, status);
  add_drill(app, streams, status);
  add_import(app, streams, status);
  add_lab(app, streams, status);
  add_proxy(app, streams, status);
  add_schema(app, streams, status);
  add_webhooks(app, streams, status);

  std::vector<std::string_view> known;
  for (const CLI::App* subcommand : app.get_subcommands({}))
    known.push_back(subcommand->get_name());
  if (const std::string* unknown = find_unknown_subcommand(arguments, known)) {
    streams.err << "damper: unknown subcommand " << text::in_quotes(*unknown)
                << text::suggestion(*unknown, known) << " (accepted: " << text::joined(known)
                << ")\n";
    return kTrouble;
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back.
    app.parse(std::move(arguments));
  } catch (const CLI::Success& asked) {  // --help or --version
    return app.exit(asked, streams.out, streams.err);
  } catch (const CLI::ParseError& error) {
    std::string command = "damper ";
    if (!app.get_subcommands().empty()) command += app.get_subcommands()[0]->get_name() + ' ';
    streams.err << "damper: " << text::on_one_line(error.what()) << "; see " << command
                << "--help\n";
    return kTrouble;
  }
  return status;
}

}  // namespace damper::cli
