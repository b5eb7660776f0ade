#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "damper/base/text/json_reader.h"
#include "damper/cli/program.h"
#include "damper/webhooks/api/api_client.h"

namespace damper::cli {

// What the clients of the webhook dispatcher have in common.

struct WebhooksOptions {
  webhooks::ApiClient::Options client{};
  bool json = false;
};
using WebhooksOptionsPtr = std::shared_ptr<WebhooksOptions>;

// Each adds one subcommand of `damper webhooks`.
void add_webhooks_send(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                       const text::Stdio& streams, int& status);
void add_webhooks_endpoints(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                            const text::Stdio& streams, int& status);
// messages, attempts, dead, redrive, stats
void add_webhooks_lists(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                        const text::Stdio& streams, int& status);
// deliveries, retries, switches
void add_webhooks_switches(CLI::App& webhooks, const WebhooksOptionsPtr& options,
                           const text::Stdio& streams, int& status);
void add_webhooks_serve(CLI::App& webhooks, const text::Stdio& streams, int& status);
void add_webhooks_listen(CLI::App& webhooks, const text::Stdio& streams, int& status);
void add_webhooks_demo(CLI::App& webhooks, const text::Stdio& streams, int& status);

// Prints the switches that are off, one in a line.
void print_webhooks_switches(std::ostream& out, const text::JsonValue& switches);

// Prints the sentence of an error and returns the exit status.
int webhooks_failed(const webhooks::ApiClientError& error, const text::Stdio& streams);
int webhooks_failed(const std::string& sentence, const text::Stdio& streams);

// Runs `run` with a client.
[[nodiscard]] std::function<void()> with_webhooks_client(
    WebhooksOptionsPtr options, const text::Stdio& streams, int& status,
    std::function<int(webhooks::ApiClient&)> run);

// A field as text, made printable: "-" if it is missing, null or empty.
[[nodiscard]] std::string field_text(const text::JsonValue& object, std::string_view name);
// "2026-11-16 20:15:00" of the API's time.
[[nodiscard]] std::string short_time(std::string_view time);
// A duration of the API in about three digits: 2775.995us is 2.78ms, 29.99999m is 30m.
[[nodiscard]] std::string short_duration(const std::string& duration);

}  // namespace damper::cli
