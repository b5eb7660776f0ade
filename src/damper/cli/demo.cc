#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "damper/cli/files.h"
#include "damper/cli/terminal.h"
#include "damper/demo/demo.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper demo                        four acts in about a minute
  damper demo --quick                the same in eight seconds
  damper demo --html /tmp/demo.html  write the page to another file

Exit status: 0 when every promised bound held, 1 when one did not, 2 when the demo could not run.
)";

constexpr const char* kNext = R"(What to try next:
  damper proxy --listen :8080 --to http://127.0.0.1:9000    proxy a service of your own
  damper proxy --help                                       configuration, TLS, reload, admin API
  damper ctl top                                            live view of a running proxy
)";

struct Options {
  int seconds = 12;
  bool quick = false;
  std::string html = "damper-demo.html";
};

// Shows each act as it goes: on a terminal in a frame that changes, elsewhere a line each second.
class Stage {
 public:
  explicit Stage(std::ostream& out)
      : out_(out), terminal_(is_terminal(out)), style_{.colour = wants_colour(out)} {}

  void on_progress(const demo::ActRecord& act) {
    const std::size_t buckets = act.guarded.started.size();
    if (!terminal_) {
      if (buckets % 10 == 0) out_ << demo::demo_line(act) << std::endl;
      return;
    }
    if (buckets == 1) drawn_ = 0;  // A new act, under the last one.
    std::string frame;
    if (drawn_ > 0) frame += "\x1b[" + std::to_string(drawn_) + 'A';
    const std::vector<std::string> lines = demo::demo_frame(act, style_);
    for (const std::string& line : lines) frame += "\r" + line + "\x1b[K\n";
    if (act.whole) frame += '\n';
    out_ << frame << std::flush;
    drawn_ = lines.size();
  }
  void finish() { out_ << '\n'; }

 private:
  std::ostream& out_;
  const bool terminal_;
  const text::ReportStyle style_;
  std::size_t drawn_ = 0;  // lines
};

int demo(const Options& options, const text::Stdio& streams) {
  const auto act = std::chrono::seconds(options.quick ? 2 : options.seconds);
  demo::print_demo_plot(streams.out, act);
  const run::Interrupt interrupt;
  Stage stage(streams.out);
  const auto record = demo::run_demo(
      {.act = act}, [&](const demo::ActRecord& seen) { stage.on_progress(seen); },
      run::Interrupt::flag());
  if (!record) {
    streams.err << "damper: the demo cannot start: " << record.error() << '\n';
    return kTrouble;
  }
  stage.finish();
  demo::print_demo_summary(streams.out, *record, {.colour = wants_colour(streams.out)});
  const std::string command =
      options.quick ? "damper demo --quick"
                    : "damper demo --seconds-per-act " + std::to_string(options.seconds);
  if (!write_output(options.html, streams, [&](std::ostream& out) {
        demo::print_demo_html(out, *record, command, DAMPER_VERSION);
      })) {
    return kTrouble;
  }
  streams.out << "\nThe same with charts: " << options.html << "\n\n" << kNext;
  if (run::Interrupt::flag().load()) return run::kInterrupted;
  const bool held = std::ranges::all_of(record->acts, [](const demo::ActRecord& one) {
    return std::ranges::all_of(demo::promises(one), &demo::Promise::held);
  });
  return held ? kOk : kBroken;
}

}  // namespace

void add_demo(CLI::App& app, const text::Stdio& streams, int& status) {
  CLI::App* command = app.add_subcommand(
      "demo", "Show an outage, an overload and more, with the proxy and without it side by side.");
  command->footer(kExamples);
  const auto options = std::make_shared<Options>();
  command->add_option("--seconds-per-act", options->seconds, "Length of each of the four acts.")
      ->capture_default_str()
      ->check(CLI::Range(2, 600));
  command->add_flag("--quick", options->quick, "Run acts of two seconds.");
  command
      ->add_option("--html", options->html,
                   "The HTML report to write; an existing file is replaced.")
      ->capture_default_str();
  command->callback([options, streams, &status] { status = demo(*options, streams); });
}

}  // namespace damper::cli
