#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>

#include "damper/cli/terminal.h"
#include "damper/cli/webhooks/webhooks.h"
#include "damper/demo/webhook_demo.h"
#include "damper/demo/webhook_report.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

constexpr const char* kDemoExamples = R"(Examples:
  damper webhooks demo             about twenty seconds
  damper webhooks demo --quick     the same in a few seconds

The dispatcher is a process of its own with a store in a temporary folder; the receivers are in
this one. All of it is on loopback.
Exit status: 0 nothing was lost, 1 something was, 2 it could not run.
)";

struct WebhooksDemoOptions {
  bool quick = false;
  bool no_color = false;
};

// Shows the progress: on a terminal in one line that changes, elsewhere a line each second.
class DemoWatcher {
 public:
  explicit DemoWatcher(std::ostream& out) : out_(out), terminal_(is_terminal(out)) {}

  void on_progress(const demo::WebhookDemoRecord& record) {
    if (terminal_) {
      out_ << '\r' << demo::webhook_line(record) << std::flush;
    } else if (record.lanes.front().first.size() % 10 == 0) {
      out_ << demo::webhook_line(record) << std::endl;
    }
  }
  void finish() { out_ << (terminal_ ? "\r\x1b[K" : "\n"); }

 private:
  std::ostream& out_;
  const bool terminal_;
};

int run_demo(const WebhooksDemoOptions& given, const text::Stdio& streams) {
  auto options = given.quick ? demo::WebhookDemoOptions::quick() : demo::WebhookDemoOptions{};
  std::error_code error;
  options.program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return webhooks_failed("its own program is not found in /proc", streams);
  demo::print_webhook_plot(streams.out, options);
  const run::Interrupt interrupt;
  DemoWatcher watcher(streams.out);
  const auto record = demo::run_webhook_demo(
      options, [&](const demo::WebhookDemoRecord& seen) { watcher.on_progress(seen); },
      run::Interrupt::flag());
  if (!record) return webhooks_failed("the demo cannot run: " + record.error(), streams);
  watcher.finish();
  demo::print_webhook_report(streams.out, options, *record,
                             {.colour = !given.no_color && wants_colour(streams.out)});
  if (run::Interrupt::flag().load()) return run::kInterrupted;
  return kept_its_promise(*record) ? kOk : webhooks::ApiClientError::kRefused;
}

}  // namespace

void add_webhooks_demo(CLI::App& webhooks, const text::Stdio& streams, int& status) {
  CLI::App* const command = webhooks.add_subcommand(
      "demo", "Show an outage, a dead and a slow endpoint, and a kill of the dispatcher.");
  command->footer(kDemoExamples);
  const auto options = std::make_shared<WebhooksDemoOptions>();
  command->add_flag("--quick", options->quick, "Run it in a few seconds.");
  command->add_flag("--no-color", options->no_color, "Print without colours.");
  command->callback([options, streams, &status] { status = run_demo(*options, streams); });
}

}  // namespace damper::cli
