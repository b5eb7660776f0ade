#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>

#include "damper/base/text/json_writer.h"
#include "damper/base/text/plain_text.h"
#include "damper/cli/commands.h"
#include "damper/cli/ctl/ctl_table.h"
#include "damper/cli/terminal.h"
#include "damper/cli/webhooks/webhooks.h"
#include "damper/run/interrupt.h"
#include "damper/webhooks/model/id.h"

namespace damper::cli {
namespace {

using text::Ink;
using text::JsonValue;
using webhooks::ApiClient;

constexpr Duration kRedriveInterval = std::chrono::milliseconds(50);

struct ListOptions {
  std::string id;
  std::string type;
  std::string before;
  int limit = 50;
};

struct RedriveOptions {
  std::string endpoint;
  std::string message;
  std::string from;
  std::string until;
  std::string type;
  std::string reason;
  double rate = 100;
  bool dry_run = false;
  bool discard = false;
};

std::string is_endpoint_id(const std::string& id) {
  return webhooks::parse_id(webhooks::kEndpointPrefix, id) ? "" : "must be the id of an endpoint";
}
std::string is_message_id(const std::string& id) {
  return webhooks::parse_id(webhooks::kMessagePrefix, id) ? "" : "must be the id of a message";
}

std::string page_query(const ListOptions& list) {
  std::string query = "?limit=" + std::to_string(list.limit);
  if (!list.before.empty()) query += "&before=" + list.before;
  if (!list.type.empty()) query += "&type=" + list.type;
  return query;
}

void print_next(std::ostream& out, const JsonValue& answer) {
  const std::string next = field_text(answer, "next");
  if (next != "-") out << "(the next page: --before " << next << ")\n";
}

void print_attempts(std::ostream& out, const std::vector<JsonValue>& attempts) {
  Table table({{"time", Table::Side::left},
               {"message", Table::Side::left},
               {"endpoint", Table::Side::left},
               {"attempt"},
               {"status"},
               {"duration"},
               {"outcome", Table::Side::left},
               {"error or answer", Table::Side::left}});
  for (const JsonValue& attempt : attempts) {
    const bool good = field_text(attempt, "outcome") == "success";
    const std::string error = field_text(attempt, "error");
    const std::string answer = field_text(attempt, "answer");
    table.add({{short_time(field_text(attempt, "time"))},
               {field_text(attempt, "message")},
               {field_text(attempt, "endpoint")},
               {field_text(attempt, "attempt")},
               {field_text(attempt, "status"), good ? Ink::calm : Ink::alarm},
               {short_duration(field_text(attempt, "duration"))},
               {field_text(attempt, "outcome")},
               {error != "-" ? error : answer.substr(0, 60)}});
  }
  if (table.empty()) {
    out << "no attempts\n";
  } else {
    table.print(out, {.colour = wants_colour(out)});
  }
}

void print_dead(std::ostream& out, const std::vector<JsonValue>& letters) {
  Table table({{"time", Table::Side::left},
               {"message", Table::Side::left},
               {"endpoint", Table::Side::left},
               {"attempts"},
               {"reason", Table::Side::left}});
  for (const JsonValue& letter : letters) {
    table.add({{short_time(field_text(letter, "time"))},
               {field_text(letter, "message")},
               {field_text(letter, "endpoint")},
               {field_text(letter, "attempts")},
               {field_text(letter, "reason")}});
  }
  if (table.empty()) {
    out << "no dead letters\n";
  } else {
    table.print(out, {.colour = wants_colour(out)});
  }
}

void print_messages(std::ostream& out, const JsonValue& answer) {
  Table table({{"created", Table::Side::left},
               {"message", Table::Side::left},
               {"type", Table::Side::left},
               {"bytes"},
               {"idempotency key", Table::Side::left}});
  for (const JsonValue& message : answer.find("data")->items) {
    table.add({{short_time(field_text(message, "created"))},
               {field_text(message, "id")},
               {field_text(message, "type")},
               {field_text(message, "bytes")},
               {field_text(message, "idempotency_key")}});
  }
  if (table.empty()) {
    out << "no messages\n";
    return;
  }
  table.print(out, {.colour = wants_colour(out)});
  print_next(out, answer);
}

void print_message(std::ostream& out, const webhooks::ApiAnswer& answer) {
  const JsonValue& message = answer.json;
  const JsonValue& payload = *message.find("payload");
  const auto& waiting = message.find("waiting")->items;
  const auto& dead = message.find("dead")->items;
  out << field_text(message, "id") << ": " << field_text(message, "type") << ", "
      << short_time(field_text(message, "created")) << ", "
      << (!waiting.empty() ? "waiting"
          : dead.empty()   ? "delivered"
                           : "dead")
      << '\n'
      << "payload: "
      << text::printable(answer.text.substr(payload.begin, payload.end - payload.begin), 2000)
      << '\n';
  for (const JsonValue& delivery : waiting) {
    out << "waiting: " << field_text(delivery, "endpoint") << ", due "
        << short_time(field_text(delivery, "due")) << ", after " << field_text(delivery, "attempts")
        << " attempts\n";
  }
  if (!dead.empty()) print_dead(out, dead);
  print_attempts(out, message.find("attempts")->items);
}

std::string redrive_body(const RedriveOptions& options) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  if (!options.endpoint.empty()) json.field("endpoint", options.endpoint);
  if (!options.message.empty()) json.field("message", options.message);
  if (!options.type.empty()) json.field("type", options.type);
  if (!options.reason.empty()) json.field("reason", options.reason);
  json.field("delete", options.discard);
  if (!options.from.empty()) json.field("from", options.from);
  if (!options.until.empty()) json.field("until", options.until);
  json.field("dry_run", options.dry_run);
  json.field("rate", options.rate);
  json.close('}');
  return out.str();
}

// Starts it and waits for its end.
int redrive(ApiClient& client, const RedriveOptions& options, bool json,
            const text::Stdio& streams) {
  const run::Interrupt interrupt;
  auto answer = client.post(client.of_application("/redrives"), redrive_body(options));
  const char* const what = options.discard ? "deleted" : "delivered again";
  while (answer && field_text(answer->json, "state") == "running") {
    if (run::Interrupt::flag().load()) {
      streams.out << "it continues in the dispatcher: GET "
                  << client.of_application("/redrives/" + field_text(answer->json, "id")) << '\n';
      return kOk;
    }
    std::this_thread::sleep_for(kRedriveInterval);
    answer = client.get(client.of_application("/redrives/" + field_text(answer->json, "id")));
  }
  if (!answer) return webhooks_failed(answer.error(), streams);
  if (json) {
    streams.out << answer->text;
  } else if (options.dry_run) {
    streams.out << field_text(answer->json, "total") << " dead letters would be " << what << '\n';
  } else {
    streams.out << field_text(answer->json, "count") << " of " << field_text(answer->json, "total")
                << " dead letters are " << what << '\n';
  }
  const std::string state = field_text(answer->json, "state");
  if (state == "dry_run" || state == "done") return kOk;
  return webhooks_failed(
      "the redrive has ended: " + state + ": " + field_text(answer->json, "error"), streams);
}

void print_stats(std::ostream& out, const JsonValue& stats) {
  constexpr std::size_t kWidth = 18;
  for (const auto& [name, value] : stats.fields) {
    if (name == "switches") continue;
    out << text::padded_right(name, kWidth)
        << text::padded_left(text::with_commas(value.as_integer().value_or(0)), 12) << '\n';
  }
  print_webhooks_switches(out, *stats.find("switches"));
}

// Gets `target` and prints the answer.
template <class Print>
int show(ApiClient& client, const std::string& target, bool json, const text::Stdio& streams,
         Print print) {
  const auto answer = client.get(target);
  if (!answer) return webhooks_failed(answer.error(), streams);
  if (json) {
    streams.out << answer->text;
  } else {
    print(*answer);
  }
  return kOk;
}

void add_paging(CLI::App& command, const std::shared_ptr<ListOptions>& list) {
  command.add_option("--limit", list->limit, "Of a page.")
      ->capture_default_str()
      ->check(CLI::Range(1, 250));
  command.add_option("--before", list->before, "The next page, as the last one printed it.")
      ->type_name("ID");
}

void add_messages(CLI::App& webhooks, const WebhooksOptionsPtr& options, const text::Stdio& streams,
                  int& status) {
  CLI::App* const command =
      webhooks.add_subcommand("messages", "List messages, or show one with its deliveries.");
  command->footer(
      "Examples:\n  damper webhooks messages --type invoice.paid\n"
      "  damper webhooks messages msg_0000000000001\n");
  const auto list = std::make_shared<ListOptions>();
  command->add_option("message", list->id, "Show this one.")->check(is_message_id);
  command->add_option("--type", list->type, "Only of this type.")->type_name("TYPE");
  add_paging(*command, list);
  command->callback(
      with_webhooks_client(options, streams, status, [options, list, streams](ApiClient& client) {
        const std::string base = client.of_application("/messages");
        if (!list->id.empty()) {
          return show(client, base + "/" + list->id, options->json, streams,
                      [&](const auto& answer) { print_message(streams.out, answer); });
        }
        return show(client, base + page_query(*list), options->json, streams,
                    [&](const auto& answer) { print_messages(streams.out, answer.json); });
      }));
}

void add_attempts(CLI::App& webhooks, const WebhooksOptionsPtr& options, const text::Stdio& streams,
                  int& status) {
  CLI::App* const command =
      webhooks.add_subcommand("attempts", "List the attempts of an endpoint or a message.");
  command->footer(
      "Examples:\n  damper webhooks attempts ep_0000000000001\n"
      "  damper webhooks attempts msg_0000000000001\n");
  const auto list = std::make_shared<ListOptions>();
  command->add_option("id", list->id, "Of an endpoint or a message.")
      ->required()
      ->check([](const std::string& id) {
        return is_endpoint_id(id).empty() || is_message_id(id).empty()
                   ? std::string()
                   : "must be the id of an endpoint or a message";
      });
  add_paging(*command, list);
  command->callback(
      with_webhooks_client(options, streams, status, [options, list, streams](ApiClient& client) {
        const char* const kind = is_message_id(list->id).empty() ? "/messages/" : "/endpoints/";
        const std::string target =
            client.of_application(kind + list->id + "/attempts" + page_query(*list));
        return show(client, target, options->json, streams, [&](const auto& answer) {
          print_attempts(streams.out, answer.json.find("data")->items);
          print_next(streams.out, answer.json);
        });
      }));
}

void add_dead(CLI::App& webhooks, const WebhooksOptionsPtr& options, const text::Stdio& streams,
              int& status) {
  CLI::App* const command =
      webhooks.add_subcommand("dead", "List the dead letters of an endpoint.");
  command->footer("Examples:\n  damper webhooks dead ep_0000000000001\n");
  const auto list = std::make_shared<ListOptions>();
  command->add_option("endpoint", list->id, "Its id.")->required()->check(is_endpoint_id);
  add_paging(*command, list);
  command->callback(
      with_webhooks_client(options, streams, status, [options, list, streams](ApiClient& client) {
        const std::string target =
            client.of_application("/endpoints/" + list->id + "/dead" + page_query(*list));
        return show(client, target, options->json, streams, [&](const auto& answer) {
          print_dead(streams.out, answer.json.find("data")->items);
          print_next(streams.out, answer.json);
        });
      }));
}

void add_redrive(CLI::App& webhooks, const WebhooksOptionsPtr& options, const text::Stdio& streams,
                 int& status) {
  CLI::App* const command =
      webhooks.add_subcommand("redrive", "Deliver dead letters again, or delete them.");
  command->footer(
      "Examples:\n  damper webhooks redrive --dry-run                   of all endpoints\n"
      "  damper webhooks redrive ep_0000000000001 --reason attempts_spent\n"
      "  damper webhooks redrive --type invoice.paid --until 2026-11-16T08:00:00Z --delete\n"
      "  damper webhooks redrive ep_0000000000001 --from 2026-11-16T08:00:00Z --rate 20\n"
      "  damper webhooks redrive ep_0000000000001 --message msg_0000000000001\n");
  const auto given = std::make_shared<RedriveOptions>();
  command->add_option("endpoint", given->endpoint, "Only of this one (default: of all).")
      ->check(is_endpoint_id);
  command->add_option("--message", given->message, "Only this message.")
      ->type_name("ID")
      ->check(is_message_id);
  command->add_option("--from", given->from, "Those that died at this time or later.")
      ->type_name("TIME");
  command->add_option("--until", given->until, "Those that died before.")->type_name("TIME");
  command->add_option("--rate", given->rate, "Deliveries a second.")
      ->type_name("NUMBER")
      ->capture_default_str();
  command->add_option("--type", given->type, "Only of this event type.")->type_name("TYPE");
  command->add_option("--reason", given->reason, "Only those with this reason.")
      ->type_name("REASON");
  command->add_flag("--delete", given->discard, "Delete them instead.");
  command->add_flag("--dry-run", given->dry_run, "Count only.");
  command->callback(
      with_webhooks_client(options, streams, status, [options, given, streams](ApiClient& client) {
        return redrive(client, *given, options->json, streams);
      }));
}

}  // namespace

void add_webhooks_lists(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                        const text::Stdio& streams, int& status) {
  add_messages(webhooks, options, streams, status);
  add_attempts(webhooks, options, streams, status);
  add_dead(webhooks, options, streams, status);
  add_redrive(webhooks, options, streams, status);
  webhooks.add_subcommand("stats", "Counts of the store and of the dispatcher.")
      ->callback(
          with_webhooks_client(options, streams, status, [options, streams](ApiClient& client) {
            return show(client, "/v1/stats", options->json, streams,
                        [&](const auto& answer) { print_stats(streams.out, answer.json); });
          }));
}

}  // namespace damper::cli
