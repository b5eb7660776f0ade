#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <system_error>

#include "damper/cli/terminal.h"
#include "damper/demo/storm.h"
#include "damper/demo/storm_report.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper drill storm                   500 clients, an outage of 10 s
  damper drill storm --seconds 20      a longer outage
  damper drill storm --json | jq .guarded.attempts_per_call_while_down

Exit status: 0 when every promised bound held, 1 when one did not, 2 when the drill could not run.
)";

struct Options {
  demo::StormOptions storm;
  int seconds = 10;
  bool json = false;
};

// Tells how far it is: on a terminal in one line that changes, elsewhere in a few lines.
class Watcher {
 public:
  Watcher(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}

  void on_progress(const demo::StormProgress& progress) {
    if (terminal_) {
      out_ << '\r' << demo::progress_line(progress) << std::flush;
    } else if (progress.at >= next_) {
      out_ << demo::progress_line(progress) << std::endl;
      next_ += std::chrono::seconds(3);
    }
  }
  void finish() { out_ << (terminal_ ? "\r\x1b[K" : "\n"); }

 private:
  std::ostream& out_;
  const bool terminal_;
  Duration next_{0};
};

int storm(Options& options, const text::Stdio& streams) {
  demo::StormOptions& storm = options.storm;
  storm.down = std::chrono::seconds(options.seconds);
  storm.capacity_per_second = 3 * storm.clients;  // Half as much again as what is offered.
  const bool terminal = is_terminal(streams.out);
  demo::StormRecord record;
  try {
    if (options.json) {
      record = demo::run_storm(storm, [](const demo::StormProgress&) {});
      demo::print_storm_json(streams.out, storm, record);
    } else {
      demo::print_plot(streams.out, storm);
      Watcher watcher(streams.out, terminal);
      record = demo::run_storm(
          storm, [&](const demo::StormProgress& progress) { watcher.on_progress(progress); });
      watcher.finish();
      demo::print_storm(streams.out, storm, record, {.colour = wants_colour(streams.out)});
    }
  } catch (const std::system_error& error) {
    streams.err << "damper: cannot start " << 2 * storm.clients
                << " threads: " << error.code().message() << "; try fewer --clients\n";
    return kTrouble;
  }
  for (const demo::Promise& promise :
       demo::promises(demo::find(record.naive, storm), demo::find(record.guarded, storm))) {
    if (!promise.held) return kBroken;
  }
  return kOk;
}

}  // namespace

void add_drill(CLI::App& app, const text::Stdio& streams, int& status) {
  CLI::App* drill = app.add_subcommand("drill", "Rehearse an outage in real time.");
  drill->require_subcommand(1);
  drill->footer(kExamples);
  CLI::App* command = drill->add_subcommand(
      "storm", "A retry storm: naive and guarded clients side by side, and the load of each.");
  command->footer(kExamples);
  const auto options = std::make_shared<Options>();
  command->add_option("--clients", options->storm.clients, "Clients on each side.")
      ->capture_default_str()
      ->check(CLI::Range(100, 2000));
  command->add_option("--seconds", options->seconds, "Length of the outage in seconds.")
      ->capture_default_str()
      ->check(CLI::Range(10, 60));
  command->add_flag("--json", options->json, "Print one JSON object instead of charts.");
  command->callback([options, streams, &status] { status = storm(*options, streams); });
}

}  // namespace damper::cli
