#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "damper/base/text/json_writer.h"
#include "damper/base/text/plain_text.h"
#include "damper/base/text/words.h"
#include "damper/cli/commands.h"
#include "damper/cli/ctl/ctl_table.h"
#include "damper/cli/terminal.h"
#include "damper/cli/webhooks/webhooks.h"
#include "damper/webhooks/dispatch/deliveries.h"
#include "damper/webhooks/model/id.h"

namespace damper::cli {
namespace {

using text::Ink;
using text::JsonValue;
using webhooks::ApiClient;

constexpr const char* kEndpointsExamples = R"(Examples:
  damper webhooks endpoints                                    list them
  damper webhooks endpoints add http://127.0.0.1:9000/hook     prints its secret
  damper webhooks endpoints add https://example.com/hook --type 'invoice.*' --rate 10
  damper webhooks endpoints show ep_0000000000001
  damper webhooks endpoints test ep_0000000000001              send it a message
  damper webhooks endpoints disable ep_0000000000001 --reason "customer asked"
  damper webhooks endpoints rotate ep_0000000000001 --grace 24h
  damper webhooks endpoints remove ep_0000000000001
)";

struct EndpointOptions {
  std::string id;
  std::string url;
  std::string description;
  std::vector<std::string> types;
  std::vector<std::string> channels;
  std::vector<std::string> headers;
  std::vector<std::string> retries;
  std::string timeout;
  std::string ordering;
  std::string schedule;
  std::string max_age;
  std::vector<std::string> filter;
  std::string secret_file;
  std::string reason;
  std::string grace = "24h";
  int concurrency = 0;
  double rate = 0;
};

// "all", "the application", "the endpoint"
std::string held_scope(const JsonValue& status) {
  const std::string scope = field_text(status, "held_scope");
  return scope == webhooks::kAllScope ? scope : "the " + scope;
}

int list_endpoints(ApiClient& client, bool json, const text::Stdio& streams) {
  const auto answer = client.get(client.of_application("/endpoints?limit=250"));
  if (!answer) return webhooks_failed(answer.error(), streams);
  if (json) {
    streams.out << answer->text;
    return kOk;
  }
  Table table({{"endpoint", Table::Side::left},
               {"url", Table::Side::left},
               {"types", Table::Side::left},
               {"state", Table::Side::left},
               {"in flight"},
               {"delivered"},
               {"failed"},
               {"last error", Table::Side::left}});
  for (const JsonValue& endpoint : answer->json.find("data")->items) {
    const JsonValue& status = *endpoint.find("status");
    std::string types;
    for (const JsonValue& type : endpoint.find("types")->items) {
      types.append(types.empty() ? "" : ",").append(type.text);
    }
    const bool disabled = endpoint.find("disabled")->boolean;
    const std::string breaker = field_text(status, "breaker");
    const bool held = field_text(status, "held") != "-";
    const bool good = !disabled && !held && breaker == "closed";
    const std::string state =
        disabled ? "disabled: " + field_text(endpoint, "disabled_reason")
        : held   ? "held: " + field_text(status, "held") + " of " + held_scope(status)
        : good   ? "ok"
                 : "breaker " + breaker;
    table.add({{field_text(endpoint, "id")},
               {field_text(endpoint, "url")},
               {types.empty() ? "all" : types},
               {state, good ? Ink::calm : Ink::alarm},
               {field_text(status, "in_flight")},
               {field_text(status, "delivered")},
               {field_text(status, "failed")},
               {field_text(status, "last_error")}});
  }
  if (table.empty()) {
    streams.out << "no endpoints; add one with\n"
                   "  damper webhooks endpoints add http://127.0.0.1:9000/hook\n";
    return kOk;
  }
  table.print(streams.out, {.colour = wants_colour(streams.out)});
  if (field_text(answer->json, "next") != "-") streams.out << "(there are more: see --json)\n";
  return kOk;
}

void write_list(text::JsonWriter& json, const char* key, const std::vector<std::string>& items) {
  if (items.empty()) return;
  json.open('[', key);
  for (const std::string& item : items) json.element(item);
  json.close(']');
}

// "Name: value" as a field. False: it has no colon.
bool write_header(text::JsonWriter& json, const std::string& header) {
  const std::size_t colon = header.find(':');
  if (colon == std::string::npos) return false;
  json.field(text::trimmed(std::string_view(header).substr(0, colon)),
             text::trimmed(std::string_view(header).substr(colon + 1)));
  return true;
}

Expected<std::string> endpoint_body(const EndpointOptions& options) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("url", options.url);
  if (!options.description.empty()) json.field("description", options.description);
  write_list(json, "types", options.types);
  write_list(json, "channels", options.channels);
  write_list(json, "retries", options.retries);
  if (!options.timeout.empty()) json.field("timeout", options.timeout);
  if (!options.ordering.empty()) json.field("ordering", options.ordering);
  if (!options.schedule.empty()) json.field("schedule", options.schedule);
  if (!options.max_age.empty()) json.field("max_age", options.max_age);
  if (!options.filter.empty()) {
    json.open('{', "filter");
    for (const std::string& field : options.filter) {
      const std::size_t equals = field.find('=');
      if (equals == std::string::npos) {
        return unexpected("--filter " + text::in_quotes(field) + " is not PATH=VALUE");
      }
      json.field(field.substr(0, equals), field.substr(equals + 1));
    }
    json.close('}');
  }
  if (options.concurrency != 0) json.field("concurrency", options.concurrency);
  if (options.rate != 0) json.field("rate", options.rate);
  if (!options.headers.empty()) {
    json.open('{', "headers");
    for (const std::string& header : options.headers) {
      if (!write_header(json, header)) {
        return unexpected("--header " + text::in_quotes(header) + " is not \"Name: value\"");
      }
    }
    json.close('}');
  }
  if (!options.secret_file.empty()) {
    std::ifstream in(options.secret_file);
    std::string secret;
    if (!(in >> secret)) {
      return unexpected("--secret-file " + text::in_quotes(options.secret_file) +
                        " cannot be read");
    }
    json.field("secret", secret);
  }
  json.close('}');
  return out.str();
}

int add_endpoint(ApiClient& client, const EndpointOptions& options, bool json,
                 const text::Stdio& streams) {
  auto body = endpoint_body(options);
  if (!body) return webhooks_failed(body.error(), streams);
  const auto answer = client.post(client.of_application("/endpoints"), *std::move(body));
  if (!answer) return webhooks_failed(answer.error(), streams);
  if (json) {
    streams.out << answer->text;
    return kOk;
  }
  const std::string id = field_text(answer->json, "id");
  const std::string secret = field_text(answer->json, "secret");
  streams.out << id << ": added, for " << field_text(answer->json, "url") << "\nsecret: " << secret
              << "\n\nGive the secret to the receiver: it is not shown again by the list. Next:\n"
              << "  damper webhooks listen --secret " << secret << '\n'
              << "  damper webhooks send invoice.paid '{\"id\": 7}' --wait\n";
  return kOk;
}

// A line for each field of the answer.
void print_fields(std::ostream& out, const webhooks::ApiAnswer& answer) {
  constexpr std::size_t kWidth = 19;
  for (const auto& [name, value] : answer.json.fields) {
    if (value.kind == JsonValue::Kind::object && value.find("breaker") != nullptr) {
      for (const auto& [part, state] : value.fields) {
        out << text::padded_right(part, kWidth) << field_text(value, part) << '\n';
      }
      continue;
    }
    const bool nested =
        value.kind == JsonValue::Kind::array || value.kind == JsonValue::Kind::object;
    out << text::padded_right(name, kWidth)
        << (nested ? text::printable(answer.text.substr(value.begin, value.end - value.begin))
                   : field_text(answer.json, name))
        << '\n';
  }
}

using Action = std::function<ApiClient::Result(ApiClient&, const EndpointOptions&)>;

std::string path_of_endpoint(const ApiClient& client, const EndpointOptions& options,
                             const std::string& rest = {}) {
  return client.of_application("/endpoints/" + options.id + rest);
}

// {"disabled": true, "disabled_reason": "..."}
std::string disabled_body(bool disabled, const std::string& reason) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("disabled", disabled);
  if (disabled && !reason.empty()) json.field("disabled_reason", reason);
  json.close('}');
  return out.str();
}

// A subcommand for one endpoint: it prints the fields of the answer, or `done` if there is none.
CLI::App* add_action(CLI::App& endpoints, const char* name, const char* description,
                     const WebhooksOptionsPtr& options,
                     const std::shared_ptr<EndpointOptions>& given, const text::Stdio& streams,
                     int& status, Action action) {
  CLI::App* const command = endpoints.add_subcommand(name, description);
  command->add_option("endpoint", given->id, "Its id, such as ep_0000000000001.")
      ->required()
      ->check([](const std::string& id) {
        return webhooks::parse_id(webhooks::kEndpointPrefix, id) ? std::string()
                                                                 : "must be the id of an endpoint";
      });
  command->callback(with_webhooks_client(
      options, streams, status,
      [options, given, streams, action = std::move(action)](ApiClient& client) {
        const auto answer = action(client, *given);
        if (!answer) return webhooks_failed(answer.error(), streams);
        if (options->json) {
          streams.out << answer->text;
        } else if (answer->json.fields.empty()) {
          streams.out << given->id << ": done\n";
        } else {
          print_fields(streams.out, *answer);
        }
        return kOk;
      }));
  return command;
}

void add_actions(CLI::App& endpoints, const WebhooksOptionsPtr& options,
                 const std::shared_ptr<EndpointOptions>& given, const text::Stdio& streams,
                 int& status) {
  const auto add = [&](const char* name, const char* description, Action action) {
    return add_action(endpoints, name, description, options, given, streams, status,
                      std::move(action));
  };
  add("show", "Show an endpoint and its status.", [](ApiClient& client, const EndpointOptions& of) {
    return client.get(path_of_endpoint(client, of));
  });
  add("test", "Send a message of the type damper.test to it.",
      [](ApiClient& client, const EndpointOptions& of) {
        return client.post(path_of_endpoint(client, of, "/test"), {});
      });
  add("secret", "Print its secret.", [](ApiClient& client, const EndpointOptions& of) {
    return client.get(path_of_endpoint(client, of, "/secret"));
  });
  CLI::App* const rotate =
      add("rotate", "Make a new secret; the old one signs as well until the grace ends.",
          [](ApiClient& client, const EndpointOptions& of) {
            std::ostringstream out;
            text::JsonWriter json(out);
            json.open('{');
            json.field("grace", of.grace);
            json.close('}');
            return client.post(path_of_endpoint(client, of, "/secret/rotate"), out.str());
          });
  rotate->add_option("--grace", given->grace, "0s revokes the old secret now.")
      ->type_name("DURATION")
      ->capture_default_str();
  add("revoke", "Only its newest secret signs from now on.",
      [](ApiClient& client, const EndpointOptions& of) {
        return client.post(path_of_endpoint(client, of, "/secret/revoke"), {});
      });
  CLI::App* const disable =
      add("disable", "Stop sending to it; new messages are not for it.",
          [](ApiClient& client, const EndpointOptions& of) {
            return client.patch(path_of_endpoint(client, of), disabled_body(true, of.reason));
          });
  disable->add_option("--reason", given->reason, "Why, for people.")->type_name("TEXT");
  add("enable", "Send to it again.", [](ApiClient& client, const EndpointOptions& of) {
    return client.patch(path_of_endpoint(client, of), disabled_body(false, {}));
  });
  add("remove", "Remove it with its waiting deliveries and dead letters.",
      [](ApiClient& client, const EndpointOptions& of) {
        return client.del(path_of_endpoint(client, of));
      });
}

void add_add(CLI::App& endpoints, const WebhooksOptionsPtr& options,
             const std::shared_ptr<EndpointOptions>& given, const text::Stdio& streams,
             int& status) {
  CLI::App* const command =
      endpoints.add_subcommand("add", "Add an endpoint; prints its secret and the next steps.");
  command->footer(kEndpointsExamples);
  command->add_option("url", given->url, "http or https.")->required();
  command->add_option("--type", given->types, "An event type, or invoice.*; may be repeated.")
      ->type_name("TYPE");
  command->add_option("--channel", given->channels, "A channel; may be repeated.")
      ->type_name("NAME");
  command->add_option("--header", given->headers, "\"Name: value\"; may be repeated.")
      ->type_name("HEADER");
  command->add_option("--description", given->description, "For people.")->type_name("TEXT");
  command->add_option("--rate", given->rate, "Attempts a second (default: unbounded).")
      ->type_name("NUMBER");
  command->add_option("--concurrency", given->concurrency, "Attempts in flight (default: 16).")
      ->type_name("NUMBER");
  command->add_option("--timeout", given->timeout, "Of an attempt.")->type_name("DURATION");
  command
      ->add_option("--retry", given->retries,
                   "A mean delay; repeated, the schedule (default: the dispatcher's).")
      ->type_name("DURATION");
  command
      ->add_option("--schedule", given->schedule,
                   "listed, or an exponential one: full, equal, decorrelated.")
      ->type_name("SCHEDULE");
  command->add_option("--max-age", given->max_age, "Of a delivery.")->type_name("DURATION");
  command->add_option("--filter", given->filter, "Only payloads with this field; repeatable.")
      ->type_name("PATH=VALUE");
  command->add_option("--ordering", given->ordering, "none, by_key or by_key_skip.")
      ->type_name("ORDERING");
  command
      ->add_option("--secret-file", given->secret_file, "A secret of yours (default: a new one).")
      ->type_name("FILE");
  command->callback(
      with_webhooks_client(options, streams, status, [options, given, streams](ApiClient& client) {
        return add_endpoint(client, *given, options->json, streams);
      }));
}

}  // namespace

void add_webhooks_endpoints(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                            const text::Stdio& streams, int& status) {
  CLI::App* const command =
      webhooks.add_subcommand("endpoints", "List, add, change and remove endpoints.");
  command->footer(kEndpointsExamples);
  command->require_subcommand(0, 1);
  command->fallthrough();
  const auto given = std::make_shared<EndpointOptions>();
  add_add(*command, options, given, streams, status);
  add_actions(*command, options, given, streams, status);
  command->callback([command, options, streams, &status] {
    if (!command->get_subcommands().empty()) return;
    with_webhooks_client(options, streams, status, [options, streams](ApiClient& client) {
      return list_endpoints(client, options->json, streams);
    })();
  });
}

}  // namespace damper::cli
