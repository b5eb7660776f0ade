#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "damper/cli/terminal.h"
#include "damper/demo/storm.h"

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

constexpr std::size_t kBucketsALine = 30;  // three seconds

// Shows the progress: on a terminal in one line that changes, elsewhere in a few lines.
class Watcher {
 public:
  explicit Watcher(std::ostream& out) : out_(out), terminal_(is_terminal(out)) {}

  void on_progress(const demo::StormOptions& options, const demo::StormRecord& record) {
    if (terminal_) {
      out_ << '\r' << demo::progress_line(options, record) << std::flush;
    } else if (record.naive.attempts.size() % kBucketsALine == 1) {
      out_ << demo::progress_line(options, record) << std::endl;
    }
  }
  void finish() { out_ << (terminal_ ? "\r\x1b[K" : "\n"); }

 private:
  std::ostream& out_;
  const bool terminal_;
};

int storm(Options& options, const text::Stdio& streams) {
  demo::StormOptions& storm = options.storm;
  storm.down = std::chrono::seconds(options.seconds);
  storm.capacity_per_second = 3 * storm.clients;  // Half as much again as what is offered.
  Watcher watcher(streams.out);
  if (!options.json) demo::print_plot(streams.out, storm);
  const auto record = demo::run_storm(storm, [&](const demo::StormRecord& seen) {
    if (!options.json) watcher.on_progress(storm, seen);
  });
  if (!record) {
    streams.err << "damper: the drill cannot start: " << record.error() << '\n';
    return kTrouble;
  }
  if (options.json) {
    demo::print_storm_json(streams.out, storm, *record);
  } else {
    watcher.finish();
    demo::print_storm(streams.out, storm, *record, {.colour = wants_colour(streams.out)});
  }
  for (const demo::Promise& promise :
       demo::promises(demo::find(record->naive, storm), demo::find(record->guarded, storm))) {
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
