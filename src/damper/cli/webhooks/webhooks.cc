#include "damper/cli/webhooks/webhooks.h"

#include <CLI/CLI.hpp>
#include <ostream>
#include <utility>

#include "damper/base/duration_text.h"
#include "damper/base/text/plain_text.h"
#include "damper/cli/commands.h"

namespace damper::cli {
namespace {

constexpr const char* kWebhooksExamples = R"(Examples:
  damper webhooks demo                                       nothing is lost: a demonstration
  damper webhooks serve --allow 127.0.0.0/8                  the dispatcher, for this machine
  damper webhooks listen                                     a receiver on port 9000
  damper webhooks endpoints add http://127.0.0.1:9000/hook   prints its secret
  damper webhooks send invoice.paid '{"id": 7}' --wait
  damper webhooks messages                                   the newest first
  damper webhooks attempts ep_0000000000001
  damper webhooks dead ep_0000000000001
  damper webhooks redrive ep_0000000000001 --dry-run
  damper webhooks stats
  damper webhooks retries off --reason INC-7 --for 30m       kill switch; also for one endpoint
  damper webhooks --server http://10.0.0.7:8071 --token-file token --application acme endpoints

Exit status: 0 done, 1 refused or not delivered, 2 no answer or an invalid option.
)";
constexpr const char* kWebhooksShared =
    "Also accepts --server URL, --token-file FILE, --application NAME and --json: see damper "
    "webhooks --help.\n";

}  // namespace

int webhooks_failed(const webhooks::ApiClientError& error, const text::Stdio& streams) {
  streams.err << "damper: " << error.sentence << '\n';
  return error.status;
}
int webhooks_failed(const std::string& sentence, const text::Stdio& streams) {
  const webhooks::ApiClientError error{.sentence = sentence, .status = kTrouble};
  return webhooks_failed(error, streams);
}

std::function<void()> with_webhooks_client(WebhooksOptionsPtr options, const text::Stdio& streams,
                                           int& status,
                                           std::function<int(webhooks::ApiClient&)> run) {
  return [options = std::move(options), streams, &status, run = std::move(run)] {
    auto client = webhooks::ApiClient::open(options->client);
    status = client ? run(*client) : webhooks_failed(client.error(), streams);
  };
}

std::string field_text(const text::JsonValue& object, std::string_view name) {
  const text::JsonValue* const value = object.find(name);
  if (value == nullptr || value->kind == text::JsonValue::Kind::null) return "-";
  if (const auto truth = value->as_boolean()) return *truth ? "yes" : "no";
  return value->text.empty() ? "-" : text::printable(value->text, 200);
}

std::string short_time(std::string_view time) {
  std::string text(time.substr(0, 19));
  if (text.size() == 19) text[10] = ' ';
  return text;
}

std::string short_duration(const std::string& duration) {
  const auto parsed = parse_duration(duration);
  if (!parsed) return duration;
  Duration unit{1};
  while (*parsed / unit >= 1000 && unit < std::chrono::seconds(1)) unit *= 10;
  return format_duration((*parsed + unit / 2) / unit * unit);
}

void add_webhooks(CLI::App& app, const text::Stdio& streams, int& status) {
  CLI::App* const webhooks = app.add_subcommand(
      "webhooks", "Deliver webhooks: endpoints, messages, attempts, dead letters; a receiver.");
  webhooks->require_subcommand(1);
  webhooks->footer(kWebhooksShared);  // Inherited by the subcommands; replaced below.
  webhooks->fallthrough();            // --server may also follow the subcommand.
  const auto options = std::make_shared<WebhooksOptions>();
  webhooks->add_option("--server", options->client.server, "URL of the dispatcher's API.")
      ->type_name("URL")
      ->envname("DAMPER_WEBHOOKS")
      ->capture_default_str();
  webhooks
      ->add_option("--token-file", options->client.token_file,
                   "File with a token, if the dispatcher has tokens.")
      ->type_name("FILE")
      ->envname("DAMPER_WEBHOOKS_TOKEN_FILE");
  webhooks->add_option("--application", options->client.application, "The application.")
      ->type_name("NAME")
      ->capture_default_str();
  webhooks->add_flag("--json", options->json, "Print the dispatcher's JSON answer.");
  add_webhooks_serve(*webhooks, streams, status);
  add_webhooks_send(*webhooks, options, streams, status);
  add_webhooks_endpoints(*webhooks, options, streams, status);
  add_webhooks_lists(*webhooks, options, streams, status);
  add_webhooks_switches(*webhooks, options, streams, status);
  add_webhooks_listen(*webhooks, streams, status);
  add_webhooks_demo(*webhooks, streams, status);
  webhooks->footer(kWebhooksExamples);
}

}  // namespace damper::cli
