#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>

#include "damper/base/text/json_writer.h"
#include "damper/cli/commands.h"
#include "damper/cli/webhooks/webhooks.h"

namespace damper::cli {
namespace {

using text::JsonValue;
using webhooks::ApiClient;

struct SwitchFlags {
  std::string position;
  std::string reason;
  std::string length;
  std::string application;
  std::string endpoint;
};

[[nodiscard]] std::string switch_target(const ApiClient& client, const SwitchFlags& flags) {
  if (!flags.endpoint.empty()) return client.of_application("/endpoints/" + flags.endpoint);
  if (!flags.application.empty()) return "/v1/applications/" + flags.application;
  return "/v1";
}

// " of ep_...", " of all"
[[nodiscard]] std::string scope_text(const std::string& application, const std::string& endpoint) {
  return " of " + (!endpoint.empty() ? endpoint : !application.empty() ? application : "all");
}

int flip(ApiClient& client, const std::string& word, const SwitchFlags& flags, bool json,
         const text::Stdio& streams) {
  std::ostringstream body;
  text::JsonWriter order(body);
  order.open('{');
  order.field("off", flags.position == "off");
  if (!flags.reason.empty()) order.field("reason", flags.reason);
  if (!flags.length.empty()) order.field("for", flags.length);
  order.close('}');
  const auto answer = client.put(switch_target(client, flags) + "/switches/" + word, body.str());
  if (!answer) return webhooks_failed(answer.error(), streams);
  if (json) {
    streams.out << answer->text;
  } else {
    streams.out << word << scope_text(flags.application, flags.endpoint) << " are "
                << flags.position << '\n';
    print_webhooks_switches(streams.out, *answer->json.find("data"));
  }
  return kOk;
}

void add_switch(CLI::App& webhooks, const std::string& word, const WebhooksOptionsPtr& options,
                const text::Stdio& streams, int& status) {
  CLI::App* const command = webhooks.add_subcommand(
      word, "Hold " + word + " of all, of an application or of an endpoint; or continue them.");
  command->footer("Examples:\n  damper webhooks " + word +
                  " off --reason INC-7 --for 30m\n  damper webhooks " + word +
                  " off --reason \"their migration\" --endpoint ep_0000000000001\n"
                  "  damper webhooks " +
                  word +
                  " on\n\nWhat is held waits, consumes no attempt and does not expire. A hold "
                  "survives a restart.\n");
  const auto flags = std::make_shared<SwitchFlags>();
  command->add_option("position", flags->position, "off or on.")
      ->required()
      ->check(CLI::IsMember({"off", "on"}));
  command->add_option("--reason", flags->reason, "Why; required with off.")->type_name("TEXT");
  command->add_option("--for", flags->length, "Then it is on again (default: until it is set).")
      ->type_name("DURATION");
  CLI::Option* const endpoint =
      command->add_option("--endpoint", flags->endpoint, "Only of this endpoint.")->type_name("ID");
  command->add_option("--of", flags->application, "Only of this application.")
      ->type_name("NAME")
      ->excludes(endpoint);
  command->callback(with_webhooks_client(
      options, streams, status, [options, flags, word, streams](ApiClient& client) {
        return flip(client, word, *flags, options->json, streams);
      }));
}

}  // namespace

void print_webhooks_switches(std::ostream& out, const JsonValue& switches) {
  for (const JsonValue& one : switches.items) {
    if (!one.find("off")->boolean) continue;
    const std::string remaining = short_duration(field_text(one, "remaining"));
    const auto text = [&one](const char* name) {
      const std::string value = field_text(one, name);
      return value == "-" ? std::string() : value;
    };
    out << "OFF: " << field_text(one, "name") << scope_text(text("application"), text("endpoint"))
        << (remaining == "-" ? ", until it is turned on" : ", for another " + remaining) << ": "
        << field_text(one, "reason") << '\n';
  }
}

void add_webhooks_switches(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                           const text::Stdio& streams, int& status) {
  add_switch(webhooks, "deliveries", options, streams, status);
  add_switch(webhooks, "retries", options, streams, status);
  webhooks.add_subcommand("switches", "Show what is switched off, why and for how long.")
      ->callback(
          with_webhooks_client(options, streams, status, [options, streams](ApiClient& client) {
            const auto answer = client.get("/v1/switches");
            if (!answer) return webhooks_failed(answer.error(), streams);
            std::ostringstream text;
            print_webhooks_switches(text, *answer->json.find("data"));
            if (options->json) {
              streams.out << answer->text;
            } else {
              streams.out << (text.str().empty() ? "nothing is switched off\n" : text.str());
            }
            return kOk;
          }));
}

}  // namespace damper::cli
