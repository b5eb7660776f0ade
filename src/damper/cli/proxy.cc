#include "damper/cli/proxy.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "damper/base/duration_text.h"
#include "damper/cli/proxy_run.h"
#include "damper/cli/proxy_settings.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper proxy --listen :8080 --to http://127.0.0.1:9000 --to http://127.0.0.1:9001
  damper proxy -c damper.yaml              listeners, clusters, routes and policy from one file
  damper proxy -c damper.yaml --validate   is it right? Starts nothing
  damper proxy -c policy.yaml --listen :8080 --to http://127.0.0.1:9000
  damper proxy --control etcd://127.0.0.1:2379/damper/prod --state-dir /var/lib/damper

Signals: HUP reads the file again (a change of the file does too), TERM drains and ends,
USR2 starts the program anew with the same sockets and ends when that serves.
Exit status: 0 when it was told to end, 2 for trouble.
)";

struct Options {
  ProxySettings settings;
  std::string admin;
  std::string drain_time;
  bool validate = false;
};

int validate(const ProxySettings& settings, const Streams& streams) {
  const auto text = read_proxy_file(settings);
  const std::string name = settings.file.empty() ? "the command line" : settings.file;
  if (!text) {
    streams.err << text.error() << '\n';
    return kTrouble;
  }
  const auto config = make_proxy_config(settings, *text, name);
  if (!config) {
    streams.err << config.error() << '\n';
    return kTrouble;
  }
  for (const policy::Note& note : config->notes) {
    streams.out << policy::to_string(note) << '\n';
  }
  streams.out << name << " is valid: " << count_parts(*config) << '\n';
  return kOk;
}

int start(Options& options, const Streams& streams) {
  ProxySettings& settings = options.settings;
  const auto trouble = [&](const std::string& sentence) {
    streams.err << "damper: " << sentence << '\n';
    return kTrouble;
  };
  settings.admin_off = options.admin == "off";
  if (!settings.admin_off) settings.flags.admin = options.admin;
  if (!options.drain_time.empty()) {
    const auto length = parse_duration(options.drain_time);
    if (!length || *length > kLongest) {
      return trouble("--drain-time must be a duration such as 30s, not \"" + options.drain_time +
                     '"');
    }
    settings.drain_time = *length;
  }
  const bool flags = !settings.flags.listen.empty() || !settings.flags.to.empty();
  if (settings.file.empty() && settings.control.empty() && !flags) {
    return trouble(
        "nothing says what to do: give -c FILE, or --listen and --to, or --control; "
        "see damper proxy --help");
  }
  if (settings.state_dir.empty() && !settings.control.empty() && !options.validate) {
    return trouble(
        "--control needs --state-dir: there the last good copy is kept, for when etcd is away");
  }
  return options.validate ? validate(settings, streams) : run_proxy(settings, streams);
}

}  // namespace

void add_proxy(CLI::App& app, const Streams& streams, int& status) {
  CLI::App* const proxy = app.add_subcommand(
      "proxy", "Stand between clients and services: HTTP/1.1, HTTP/2, gRPC, no application code.");
  proxy->footer(kExamples);
  const auto options = std::make_shared<Options>();
  ProxySettings& settings = options->settings;
  proxy->add_option("-c,--config", settings.file, "The file: listeners, clusters, routes, policy.")
      ->type_name("FILE");
  proxy->add_option("--listen", settings.flags.listen, "Where to listen; :8080 is 127.0.0.1:8080.")
      ->type_name("ADDRESS:PORT");
  proxy->add_option("--to", settings.flags.to, "A replica of the service to send to.")
      ->type_name("URL");
  proxy->add_flag("--validate", options->validate, "Say whether it is right; start nothing.");
  proxy->add_option("--admin", options->admin, "Where the admin pages are; 127.0.0.1:9901.")
      ->type_name("ADDRESS:PORT|off");
  proxy->add_option("--token-file", settings.token_file, "Who may change state shows this token.")
      ->type_name("FILE");
  proxy->add_option("--threads", settings.threads, "Event loops; without it, one a core.")
      ->check(CLI::Range(1, 256));
  proxy->add_option("--access-log", settings.access_log, "Which requests are written down.")
      ->type_name("off|failures|all")
      ->transform(CLI::Transformer(
          std::map<std::string, proxy::AccessLog>{{"off", proxy::AccessLog::off},
                                                  {"failures", proxy::AccessLog::failures},
                                                  {"all", proxy::AccessLog::all}}));
  proxy->add_option("--drain-time", options->drain_time, "How long requests may end at the end.")
      ->type_name("DURATION");
  proxy->add_option("--control", settings.control, "A fleet's policy and switches.")
      ->type_name("etcd://HOST:PORT/PREFIX");
  proxy->add_option("--state-dir", settings.state_dir, "Where the fleet's last good copy is kept.")
      ->type_name("DIR");
  proxy->add_option("--log-format", settings.log_format, "Of the log of transitions.")
      ->type_name("logfmt|json")
      ->transform(CLI::Transformer(std::map<std::string, observe::LogFormat>{
          {"logfmt", observe::LogFormat::logfmt}, {"json", observe::LogFormat::json}}));
  proxy->callback([options, &streams, &status] { status = start(*options, streams); });
}

}  // namespace damper::cli
