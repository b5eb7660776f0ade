#include <CLI/CLI.hpp>
#include <chrono>
#include <istream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>

#include "damper/base/duration_text.h"
#include "damper/base/text/json_writer.h"
#include "damper/cli/commands.h"
#include "damper/cli/webhooks/webhooks.h"
#include "damper/run/clock.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

using text::JsonValue;
using webhooks::ApiClient;

constexpr Duration kFollowInterval = std::chrono::milliseconds(200);

constexpr const char* kSendExamples = R"(Examples:
  damper webhooks send invoice.paid '{"id": 7}'
  damper webhooks send invoice.paid '{"id": 7}' --wait            until it is delivered or dead
  damper webhooks send invoice.paid - < invoice.json
  damper webhooks send invoice.paid '{"id": 7}' --key order-7     sent once, however often repeated

Exit status: 0 accepted, and with --wait delivered; 1 refused, dead or still waiting; 2 no answer.
)";

struct SendOptions {
  std::string type;
  std::string payload;
  std::string channel;
  std::string ordering_key;
  std::string key;
  bool wait = false;
  std::string wait_for = "1m";
};

// The body, or a sentence if the payload is not JSON: shells remove quotes.
Expected<std::string> message_body(const SendOptions& options, const std::string& payload) {
  const std::string alone = "{\"payload\":" + payload + "}";
  const auto read = text::read_json(
      alone, {.bytes = alone.size(), .depth = 64, .values = 1000, .raw_field = "payload"});
  if (!read || read->fields.size() != 1) {
    return unexpected("the payload is not JSON" + (read ? std::string() : ": " + read.error()) +
                      "; in a shell it needs single quotes: '{\"id\": 7}'");
  }
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("type", options.type);
  if (!options.channel.empty()) json.field("channel", options.channel);
  if (!options.ordering_key.empty()) json.field("ordering_key", options.ordering_key);
  if (!options.key.empty()) json.field("idempotency_key", options.key);
  json.raw("payload", payload);
  json.close('}');
  return out.str();
}

void print_attempt(std::ostream& out, const JsonValue& attempt) {
  out << "  " << short_time(field_text(attempt, "time")) << "  " << field_text(attempt, "endpoint")
      << "  attempt " << field_text(attempt, "attempt") << ": ";
  if (field_text(attempt, "status") != "-") {
    out << field_text(attempt, "status");
  } else {
    out << field_text(attempt, "error");
  }
  out << " in " << short_duration(field_text(attempt, "duration")) << '\n';
}

// Prints the attempts of the message until it is delivered or dead.
int follow(ApiClient& client, const std::string& id, Duration longest, const text::Stdio& streams) {
  const run::Interrupt interrupt;
  const Instant end = add(run::now(), longest);
  std::int64_t seen = 0;
  for (;;) {
    const auto answer = client.get(client.of_application("/messages/" + id));
    if (!answer) return webhooks_failed(answer.error(), streams);
    const auto& attempts = answer->json.find("attempts")->items;
    for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {  // oldest first
      const std::int64_t number = attempt->find("number")->as_integer().value_or(0);
      if (number <= seen) continue;
      seen = number;
      print_attempt(streams.out, *attempt);
    }
    const std::size_t dead = answer->json.find("dead")->items.size();
    const std::size_t waiting = answer->json.find("waiting")->items.size();
    if (waiting == 0) {
      streams.out << (dead == 0 ? "delivered\n"
                                : "dead: see damper webhooks messages " + id + "\n");
      return dead == 0 ? kOk : kBroken;
    }
    streams.out.flush();
    if (run::now() >= end || run::Interrupt::flag().load()) {
      streams.out << "still waiting: see damper webhooks messages " << id << '\n';
      return kBroken;
    }
    std::this_thread::sleep_for(kFollowInterval);
  }
}

int send_message(ApiClient& client, const SendOptions& options, bool json,
                 const text::Stdio& streams) {
  const auto longest = parse_duration(options.wait_for);
  if (!longest) return webhooks_failed("--wait-for: " + longest.error(), streams);
  std::string payload = options.payload;
  if (payload == "-") payload.assign(std::istreambuf_iterator<char>(streams.in), {});
  auto body = message_body(options, payload);
  if (!body) return webhooks_failed(body.error(), streams);
  const auto answer =
      client.post(client.of_application("/messages"), *std::move(body), options.key.empty());
  if (!answer) return webhooks_failed(answer.error(), streams);
  const std::string id = field_text(answer->json, "id");
  const std::string endpoints = field_text(answer->json, "endpoints");
  if (json) {
    streams.out << answer->text;
  } else {
    streams.out << id;
    if (answer->json.find("repeated")->boolean) {
      streams.out << ": this key was sent before; nothing was written\n";
    } else {
      streams.out << ": accepted, for " << endpoints
                  << (endpoints == "1" ? " endpoint\n" : " endpoints\n");
    }
    if (endpoints == "0") {
      streams.out << "no endpoint gets messages of this type; add one with\n"
                     "  damper webhooks endpoints add http://127.0.0.1:9000/hook\n";
    }
  }
  return options.wait ? follow(client, id, *longest, streams) : kOk;
}

}  // namespace

void add_webhooks_send(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                       const text::Stdio& streams, int& status) {
  CLI::App* const command =
      webhooks.add_subcommand("send", "Send a message; prints its id when it is durable.");
  command->footer(kSendExamples);
  const auto send = std::make_shared<SendOptions>();
  command->add_option("type", send->type, "The event type, such as invoice.paid.")->required();
  command->add_option("payload", send->payload, "Any JSON value; - reads standard input.")
      ->required();
  command->add_option("--channel", send->channel, "Only for endpoints of this channel.")
      ->type_name("NAME");
  command
      ->add_option("--ordering-key", send->ordering_key,
                   "Delivered in order with the messages of this key.")
      ->type_name("KEY");
  command
      ->add_option(
          "--key", send->key,
          "The idempotency key: a second message with it is not sent (default: a new one).")
      ->type_name("KEY");
  command->add_flag("--wait", send->wait, "Print its attempts until it is delivered or dead.");
  command->add_option("--wait-for", send->wait_for, "With --wait: the longest time.")
      ->type_name("DURATION")
      ->capture_default_str();
  command->callback(
      with_webhooks_client(options, streams, status, [send, options, streams](ApiClient& client) {
        return send_message(client, *send, options->json, streams);
      }));
}

}  // namespace damper::cli
