#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <ostream>

#include "damper/base/duration_text.h"
#include "damper/proxy/control/control_address.h"
#include "damper/proxy/data/tls_files.h"
#include "damper/proxy/process/proxy_run.h"
#include "damper/proxy/process/proxy_settings.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper proxy --listen :8080 --to http://127.0.0.1:9000 --to http://127.0.0.1:9001
  damper proxy -c damper.yaml              listeners, clusters, routes and policy from one file
  damper proxy -c damper.yaml --validate   check the file and exit
  damper proxy -c policy.yaml --listen :8080 --to http://127.0.0.1:9000
  damper proxy --control etcd://127.0.0.1:2379/damper/prod --state-dir /var/lib/damper

Signals: HUP reloads the file (so does a change of the file); TERM drains and exits; USR2 starts
a new process on the same sockets, then drains and exits once the new process serves.
Exit status: 0 after a drain, 2 the proxy could not start.
Keys of the file: docs/guide/proxy-reference.md. To control a running proxy: damper ctl --help.
)";

constexpr std::array<std::string_view, 2> kLogFormats = {"logfmt", "json"};

struct Options {
  proxy::ProxySettings settings;
  std::string admin;
  std::string drain_time;
  std::string access_log;
  std::string log_format;
  bool validate = false;
};

int validate(const proxy::ProxySettings& settings, const text::Stdio& streams) {
  if (!settings.control.empty()) {
    const auto address = proxy::parse_control_address(settings.control, settings.control_tls);
    if (!address) {
      streams.err << "damper: --control: " << address.error() << '\n';
      return kTrouble;
    }
  }
  const auto text = proxy::read_proxy_file(settings);
  const std::string name = settings.file.empty() ? "the command line" : settings.file;
  if (!text) {
    streams.err << text.error() << '\n';
    return kTrouble;
  }
  const auto config = proxy::make_proxy_config(settings, *text, name);
  if (!config) {
    streams.err << config.error() << '\n';
    return kTrouble;
  }
  if (const auto wrong = proxy::find_tls_error(*config)) {
    streams.err << *wrong << '\n';
    return kTrouble;
  }
  for (const config::Note& note : config->notes) {
    streams.out << to_string(note) << '\n';
  }
  streams.out << name << " is valid: " << proxy::count_parts(*config) << '\n';
  return kOk;
}

int start(Options& options, const text::Stdio& streams) {
  proxy::ProxySettings& settings = options.settings;
  const auto trouble = [&](const std::string& sentence) {
    streams.err << "damper: " << sentence << '\n';
    return kTrouble;
  };
  settings.flags.admin_off = options.admin == "off";
  if (!settings.flags.admin_off) settings.flags.admin = options.admin;
  settings.access_log = proxy::kAccessLogNames.find(options.access_log);
  if (options.log_format == "json") settings.log_format = observe::LogFormat::json;
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
        "no configuration: pass -c FILE, --listen and --to, or --control; "
        "see damper proxy --help");
  }
  if (settings.control.empty() && settings.control_tls != http::TlsClientOptions{}) {
    return trouble("--control-ca, --control-cert and --control-key need --control etcds://...");
  }
  if (settings.state_dir.empty() && !settings.control.empty() && !options.validate) {
    return trouble(
        "--control needs --state-dir, the directory for the last good copy of the policy: it is "
        "used "
        "while etcd is unreachable");
  }
  return options.validate ? validate(settings, streams) : proxy::run_proxy(settings, streams);
}

}  // namespace

void add_proxy(CLI::App& app, const text::Stdio& streams, int& status) {
  CLI::App* const proxy = app.add_subcommand(
      "proxy",
      "Run a sidecar proxy with retries, budgets and breakers for HTTP/1.1, HTTP/2 and gRPC.");
  proxy->footer(kExamples);
  const auto options = std::make_shared<Options>();
  proxy::ProxySettings& settings = options->settings;
  proxy
      ->add_option("-c,--config", settings.file,
                   "Configuration file: listeners, clusters, routes, policy.")
      ->type_name("FILE");
  proxy
      ->add_option(
          "--listen", settings.flags.listen,
          "Address to listen on; :8080 is 127.0.0.1:8080. Use 0.0.0.0:8080 to listen on all "
          "interfaces.")
      ->type_name("ADDRESS:PORT");
  proxy
      ->add_option("--to", settings.flags.to,
                   "An upstream replica; repeat the option for each replica.")
      ->type_name("URL");
  proxy
      ->add_option("--zone", settings.flags.zone,
                   "Zone of this proxy, for the zones of its clusters.")
      ->type_name("NAME");
  proxy->add_flag("--validate", options->validate, "Check file and flags, and exit.");
  proxy
      ->add_option("--threads", settings.threads,
                   "Number of event loops, 1 to 256 (default: one per core).")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 256).description(""));
  proxy
      ->add_option("--drain-time", options->drain_time,
                   "Time for requests in flight to finish after TERM (default: 30s).")
      ->type_name("DURATION");

  const std::string admin = "Admin API";
  proxy
      ->add_option("--admin", options->admin,
                   "Address of the admin API for damper ctl (default: 127.0.0.1:9901).")
      ->type_name("ADDRESS:PORT|off")
      ->group(admin);
  proxy
      ->add_option("--token-file", settings.flags.token_file,
                   "File with the bearer token that requests to change something must carry.")
      ->type_name("FILE")
      ->group(admin);

  const std::string logs = "Logs";
  proxy
      ->add_option("--access-log", options->access_log,
                   "Which requests to log on standard output (default: failures).")
      ->type_name("off|failures|all")
      ->group(logs)
      ->check(one_of(proxy::kAccessLogNames));
  proxy
      ->add_option("--log-format", options->log_format,
                   "Format of the event log on standard error (default: logfmt).")
      ->type_name("logfmt|json")
      ->group(logs)
      ->check(one_of(kLogFormats));

  const std::string fleet = "Fleet";
  proxy
      ->add_option("--control", settings.control,
                   "Read the policy and the switches of a fleet from etcd.")
      ->type_name("etcd[s]://HOST:PORT/PREFIX")
      ->group(fleet);
  proxy
      ->add_option("--state-dir", settings.state_dir,
                   "Directory for the last good copy, used while etcd is unreachable.")
      ->type_name("DIR")
      ->group(fleet);
  proxy
      ->add_option("--control-ca", settings.control_tls.ca_file,
                   "CA certificates for etcds:// (default: the system's).")
      ->type_name("FILE")
      ->group(fleet);
  proxy
      ->add_option("--control-cert", settings.control_tls.identity.certificate_file,
                   "Client certificate for etcd.")
      ->type_name("FILE")
      ->group(fleet);
  proxy
      ->add_option("--control-key", settings.control_tls.identity.key_file,
                   "Key of the client certificate.")
      ->type_name("FILE")
      ->group(fleet);
  proxy->callback([options, &streams, &status] { status = start(*options, streams); });
}

}  // namespace damper::cli
