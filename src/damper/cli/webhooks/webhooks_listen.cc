#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"
#include "damper/cli/webhooks/webhooks.h"
#include "damper/cli/webhooks/webhooks_receiver.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

constexpr const char* kListenExamples = R"(Examples:
  damper webhooks listen                                  print what arrives on port 9000
  damper webhooks listen --secret-file secret             check signatures, too
  damper webhooks listen --fail 503 --for 10s             an outage of ten seconds
  damper webhooks listen --slow 3s                        a slow receiver
  damper webhooks listen --reset                          closes every connection

A line has the time, the id, the type in the payload, which attempt of this id it is, whether its
signature is valid, and the status of the answer. ^C prints a summary.
)";

struct ListenOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 9000;
  std::vector<std::string> secrets;
  std::string secret_file;
  int fail = 0;
  std::string slow;
  std::string trouble;
  bool reset = false;
  std::uint64_t count = 0;
};

// Ends the loop at ^C, and after --count requests.
class ListenEnd final : public http::Loop::Timer {
 public:
  ListenEnd(http::Loop& loop, const WebhookReceiver& receiver, std::uint64_t count)
      : Timer(loop), receiver_(receiver), count_(count) {
    again();
  }

 private:
  void again() { arm(add(loop().now(), std::chrono::milliseconds(50))); }
  void on_timer(Instant /*now*/) override {
    const bool enough = count_ > 0 && receiver_.counts().received >= count_;
    if (enough || run::Interrupt::flag().load()) return loop().stop();
    again();
  }
  const WebhookReceiver& receiver_;
  const std::uint64_t count_;
};

// One sentence: an option is invalid.
std::optional<std::string> read_listen_options(const ListenOptions& from, ReceiverOptions& to) {
  to.address = from.address;
  to.port = from.port;
  to.reset = from.reset;
  if (from.fail != 0) to.fail = from.fail;
  if (!from.slow.empty()) {
    const auto slow = parse_duration(from.slow);
    if (!slow) return "--slow: " + slow.error();
    to.slow = *slow;
  }
  if (!from.trouble.empty()) {
    const auto trouble = parse_duration(from.trouble);
    if (!trouble) return "--for: " + trouble.error();
    if (!to.fail && !to.reset && to.slow == Duration{0}) {
      return "--for needs --fail, --slow or --reset";
    }
    to.trouble = *trouble;
  }
  std::vector<std::string> secrets = from.secrets;
  if (!from.secret_file.empty()) {
    std::ifstream in(from.secret_file);
    std::string secret;
    while (in >> secret) secrets.push_back(secret);
    if (secrets.size() == from.secrets.size()) {
      return "--secret-file " + text::in_quotes(from.secret_file) + " has no secret";
    }
  }
  for (const std::string& secret : secrets) {
    auto key = webhooks::VerifyingKey::parse(secret);
    if (!key) return "the secret is invalid: " + key.error();
    to.keys.push_back(*std::move(key));
  }
  return std::nullopt;
}

int listen(const ListenOptions& options, const text::Stdio& streams) {
  ReceiverOptions receiver_options;
  if (const auto error = read_listen_options(options, receiver_options)) {
    return webhooks_failed(*error, streams);
  }
  http::ServerOptions server;
  server.address = options.address;
  if (const auto error = http::find_error(server)) return webhooks_failed(*error, streams);
  const run::Interrupt interrupt;
  http::Loop loop;
  const bool checks = !receiver_options.keys.empty();
  WebhookReceiver receiver(loop, std::move(receiver_options), streams.out);
  if (const auto error = receiver.listen()) return webhooks_failed(*error, streams);
  streams.out << "listening on http://" << options.address << ':' << receiver.port() << "/, "
              << (checks ? "signatures are checked"
                         : "signatures are not checked: --secret whsec_... checks them")
              << '\n'
              << std::flush;
  const ListenEnd end(loop, receiver, options.count);
  loop.run();
  receiver.print_summary();
  return kOk;
}

}  // namespace

void add_webhooks_listen(CLI::App& webhooks, const text::Stdio& streams, int& status) {
  CLI::App* const command = webhooks.add_subcommand(
      "listen", "Receive webhooks: check signatures, print a line for each, fail on request.");
  command->footer(kListenExamples);
  const auto options = std::make_shared<ListenOptions>();
  command->add_option("--port", options->port, "0: a free one.")->capture_default_str();
  command->add_option("--address", options->address, "0.0.0.0 listens on all interfaces.")
      ->capture_default_str();
  command
      ->add_option(
          "--secret", options->secrets,
          "whsec_... or whpk_..., to check signatures; may be repeated. Other users of the "
          "machine can see it: --secret-file hides it.")
      ->type_name("SECRET");
  command->add_option("--secret-file", options->secret_file, "A file with secrets.")
      ->type_name("FILE");
  command->add_option("--fail", options->fail, "Answer with this status.")
      ->type_name("STATUS")
      ->check(CLI::Range(200, 599));
  command->add_option("--slow", options->slow, "Answer after this time.")->type_name("DURATION");
  command->add_flag("--reset", options->reset, "Close the connection instead of an answer.");
  command
      ->add_option("--for", options->trouble,
                   "End --fail, --slow and --reset this long after the first request.")
      ->type_name("DURATION");
  command->add_option("--count", options->count, "Exit after this number of requests.")
      ->type_name("NUMBER");
  command->callback([options, streams, &status] { status = listen(*options, streams); });
}

}  // namespace damper::cli
