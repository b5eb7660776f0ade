#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <ostream>
#include <string>

#include "damper/cli/commands.h"
#include "damper/cli/files.h"
#include "damper/lab/scenario/scenario_schema.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/webhooks/process/serve_options.h"

namespace damper::cli {
namespace {

constexpr std::array<std::string_view, 4> kFiles = {"policy", "proxy", "scenario", "webhooks"};

constexpr const char* kExamples = R"(Examples:
  damper schema policy > policy.schema.json     keys, bounds and texts of a policy file
  damper schema proxy -o proxy.schema.json      the same for `damper proxy -c FILE`
  damper schema scenario -o lab.schema.json     the same for `damper lab run FILE`
  damper schema webhooks -o hooks.schema.json   the same for `damper webhooks serve -c FILE`

An editor with the YAML language server validates and completes a file that begins with:
  # yaml-language-server: $schema=policy.schema.json

`damper check` finds more than a JSON Schema can express: bounds of durations, values that
contradict each other, unsafe policies.
)";

std::string schema_of(std::string_view file) {
  if (file == "policy") return config::json_schema("Damper policy file", {&policy::file_schema()});
  if (file == "proxy") {
    return config::json_schema("Damper proxy file",
                               {&proxy::proxy_schema(), &proxy::proxy_items_schema()});
  }
  if (file == "webhooks") {
    return config::json_schema("Damper webhooks file", {&webhooks::serve_schema()});
  }
  return config::json_schema("Damper scenario", {&lab::schema<lab::Scenario>()});
}

struct Options {
  std::string file;
  std::string out = "-";
};

}  // namespace

void add_schema(CLI::App& app, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("schema", "Print the JSON Schema of a configuration file, for editors.");
  command->footer(kExamples);
  command
      ->add_option("FILE", options->file, "The kind of file: policy, proxy, scenario or webhooks.")
      ->required()
      ->check(one_of(kFiles));
  command->add_option("-o,--output", options->out,
                      "The file to write; - (the default) is standard output.");
  command->callback([options, streams, &status] {
    const bool written = write_output(options->out, streams,
                                      [&](std::ostream& out) { out << schema_of(options->file); });
    if (!written) status = kTrouble;
  });
}

}  // namespace damper::cli
