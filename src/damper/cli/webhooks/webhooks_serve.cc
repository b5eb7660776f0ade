#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "damper/cli/webhooks/webhooks.h"
#include "damper/http/net/ip_address.h"
#include "damper/webhooks/process/serve.h"
#include "damper/webhooks/process/serve_options.h"
#include "damper/webhooks/seal/sealer.h"

namespace damper::cli {
namespace {

constexpr const char* kServeExamples = R"(Examples:
  damper webhooks serve                                 API on 127.0.0.1:8071, ./damper-webhooks.db
  damper webhooks serve --allow 127.0.0.0/8             delivers to this machine, too: to try it out
  damper webhooks serve -c webhooks.yaml                keys: docs/guide/webhooks-reference.md
  damper webhooks serve -c webhooks.yaml --validate     checks the file and exits

Private and other special addresses are refused unless --allow or the file's egress.allow has them.
Signals: TERM drains and exits, a second one exits at once; HUP reads file and tokens again.
Exit status: 0 after a drain, 2 it could not start.
)";

struct ServeFlags {
  std::string file;
  std::string listen;
  std::string store;
  std::string token_file;
  std::string secret_key_file;
  std::vector<std::string> allow;
  bool validate = false;
};

[[nodiscard]] Expected<webhooks::ServeOptions> read_file(const std::string& file) {
  if (file.empty()) return webhooks::ServeOptions{};
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return unexpected("the file " + file + " cannot be read");
  return webhooks::load_serve_options(text.str(), file);
}

// The file's options, and the flags over them; or one sentence.
[[nodiscard]] Expected<webhooks::ServeOptions> options_of(const ServeFlags& flags) {
  auto options = read_file(flags.file);
  if (!options) return options;
  if (!flags.listen.empty()) {
    const auto address = http::parse_listen_address(flags.listen);
    if (!address) return unexpected("--listen: " + address.error());
    options->listen = *address;
  }
  if (!flags.store.empty()) options->store = flags.store;
  if (!flags.token_file.empty()) options->token_file = flags.token_file;
  if (!flags.secret_key_file.empty()) options->secret_key_file = flags.secret_key_file;
  for (const std::string& text : flags.allow) {
    const auto network = http::Network::find(text);
    if (!network) {
      return unexpected("--allow must be a network such as 127.0.0.0/8 or fd00::/8, not \"" + text +
                        '"');
    }
    options->dispatcher.guard.allowed.push_back(*network);
  }
  if (auto error = find_error(*options)) return unexpected(*std::move(error));
  return options;
}

int serve(const ServeFlags& flags, const text::Stdio& streams) {
  const auto options = options_of(flags);
  if (!options) {
    streams.err << "damper: " << options.error() << '\n';
    return kTrouble;
  }
  if (!flags.validate) {
    return webhooks::run_webhooks(
        *options, [&flags] { return options_of(flags); }, streams);
  }
  streams.out << (flags.file.empty() ? "the command line" : flags.file) << " is valid\n";
  return kOk;
}

}  // namespace

void add_webhooks_serve(CLI::App& webhooks, const text::Stdio& streams, int& status) {
  CLI::App* const command = webhooks.add_subcommand(
      "serve", "Run the dispatcher: accept messages, keep them safe, deliver them.");
  command->footer(kServeExamples);
  const auto flags = std::make_shared<ServeFlags>();
  command->add_option("-c,--config", flags->file, "Configuration file.")->type_name("FILE");
  command->add_option("--listen", flags->listen, "Address of the API (default: 127.0.0.1:8071).")
      ->type_name("ADDRESS:PORT");
  command
      ->add_option("--store", flags->store,
                   "A SQLite file (default: damper-webhooks.db in this folder), or a postgres:// "
                   "URL that several dispatchers share.")
      ->type_name("FILE|URL");
  command->add_option("--tokens", flags->token_file, "File with the tokens of the API's clients.")
      ->type_name("FILE");
  command
      ->add_option("--secret-key-file", flags->secret_key_file,
                   "File with the keys that encrypt the endpoints' secrets in the store (default: "
                   "STORE.key, created with the store).")
      ->type_name("FILE");
  command
      ->add_option("--allow", flags->allow,
                   "A network that messages may be delivered to, besides public addresses; repeat "
                   "the option for more.")
      ->type_name("NETWORK");
  command->add_flag("--validate", flags->validate, "Check the file and the flags, and exit.");
  command->callback([flags, &streams, &status] { status = serve(*flags, streams); });

  webhooks
      .add_subcommand("key", "Print a new key file for serve --secret-key-file; keep it secret.")
      ->callback([&streams] { streams.out << webhooks::Sealer::make_key_file(); });
}

}  // namespace damper::cli
