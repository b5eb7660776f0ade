// The page of demo_report.h.
#include <algorithm>
#include <ostream>

#include "damper/base/duration_text.h"
#include "damper/base/text/chart_svg.h"
#include "damper/base/text/html_page.h"
#include "damper/base/text/plain_text.h"
#include "damper/demo/demo_acts.h"
#include "damper/demo/demo_report.h"

namespace damper::demo {
namespace {

using text::html_text;

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::vector<double> times_ten(std::vector<double> counts) {
  for (double& count : counts) count *= 10;  // A bucket is a tenth of a second.
  return counts;
}

void print_figure(std::ostream& out, const ActRecord& act, std::string_view label, std::string unit,
                  std::vector<double> guarded, std::vector<double> unguarded) {
  const std::size_t buckets = std::max<std::size_t>(guarded.size(), 1);
  double top = 0;
  for (const auto* series : {&guarded, &unguarded}) {
    for (const double value : *series) top = value > top ? value : top;
  }
  text::Chart chart{
      .title = std::string(plot(act.act).title) + ": " + std::string(label),
      .unit = std::move(unit),
      .seconds = in_seconds(kDemoBucket * static_cast<std::int64_t>(buckets)),
      .top = text::round_up(top),
      .series = {{.name = "without", .ink = "retry", .values = std::move(unguarded)},
                 {.name = "with damper", .ink = "good", .values = std::move(guarded)}},
      .shaded = {}};
  chart.shaded.push_back({.from = std::min(in_seconds(act.times.trouble), chart.seconds),
                          .to = std::min(in_seconds(act.times.over), chart.seconds)});
  out << "<figure><figcaption>" << html_text(label) << "</figcaption>" << draw_svg(chart)
      << "</figure>\n";
}

void print_act(std::ostream& out, const ActRecord& act) {
  text::begin_section(out, plot(act.act).title, plot(act.act).sentence);
  out << "<ul class=\"keys\"><li><span class=\"swatch thin good\"></span>with damper</li>"
         "<li><span class=\"swatch thin retry\"></span>without</li>"
         "<li><span class=\"swatch shade\"></span>the trouble</li></ul>\n<div class=\"charts\">\n";
  print_figure(out, act, "Good requests a second", "/s", times_ten(good_series(act.guarded)),
               times_ten(good_series(act.unguarded)));
  print_figure(out, act, "Attempts per request", "", attempts_series(act.guarded),
               attempts_series(act.unguarded));
  print_figure(out, act, "p99", "ms", p99_series(act.guarded), p99_series(act.unguarded));
  out << "</div>\n";
  if (const std::string sentence = switch_sentence(act); !sentence.empty())
    out << "<p>" << html_text(sentence) << "</p>\n";
  out << "</section>\n";
}

void print_promises(std::ostream& out, const DemoRecord& record) {
  text::begin_section(out, "What was promised", "");
  out << "<ul class=\"plain\">\n";
  for (const ActRecord& act : record.acts) {
    if (!act.whole) {
      out << "<li class=\"promise skipped\"><b>cut</b> " << html_text(plot(act.act).title)
          << " was interrupted.</li>\n";
      continue;
    }
    for (const DemoPromise& promise : promises(act)) {
      const char* const word = promise.held ? "held" : "broken";
      out << "<li class=\"promise " << word << "\"><b>" << (promise.held ? "✓ " : "✗ ") << word
          << "</b> " << html_text(promise.sentence) << "</li>\n";
    }
  }
  out << "</ul>\n</section>\n";
}

void print_numbers(std::ostream& out, const DemoRecord& record) {
  std::vector<std::vector<text::HtmlCell>> rows;
  for (const std::vector<std::string>& row : demo_rows(record)) {
    rows.emplace_back();
    for (const std::string& cell : row) rows.back().push_back({cell});
  }
  text::begin_section(out, "Numbers",
                      "From the beginning of each trouble to the end of its act. Good: answered "
                      "well within a second. Attempts: what reached a backend, for each request.");
  text::print_html_table(out, "Numbers", rows);
  out << "</section>\n";
}

}  // namespace

void print_demo_html(std::ostream& out, const DemoRecord& record, const std::string& command,
                     const std::string& version) {
  text::begin_page(out, "Damper: a bad minute, with and without",
                   "Two times three backends with the same clients, measured side by side in one "
                   "process. With damper the clients ask damper proxy, and it asks the backends. "
                   "Without, they ask them in turn and try what fails three times more.");
  for (const ActRecord& act : record.acts) print_act(out, act);
  print_numbers(out, record);
  print_promises(out, record);
  text::begin_section(out, "The proxy's policy",
                      "The whole file; what it does not say is default.");
  text::print_command(out, record.policy);
  out << "</section>\n";
  text::begin_section(out, "Run it again", "Real time and real sockets: numbers differ a little.");
  text::print_command(out, command);
  out << "</section>\n";
  text::end_page(out, version, "Measured on this machine, not simulated.");
}

}  // namespace damper::demo
