#include "damper/lab/report/report.h"

#include <algorithm>
#include <ostream>

#include "damper/base/text/html_page.h"
#include "damper/base/text/plain_text.h"
#include "damper/lab/report/report_panels.h"

namespace damper::lab {
namespace {

std::string faults_html(const Scenario& scenario) {
  std::string html;
  for (const FaultSpec& fault : scenario.faults) {
    html += "<li><span class=\"when\">" + text::html_text(describe_time(fault)) + "</span>" +
            text::html_text(describe(fault)) + "</li>\n";
  }
  if (html.empty()) html = "<li>No fault.</li>\n";
  return "<ul class=\"plain\">\n" + html + "</ul>\n";
}

void print_plot(std::ostream& out, const Report& report) {
  if (report.sets.empty()) return;
  text::begin_section(out, "What happens", "");
  const std::string first = faults_html(report.sets.front().scenario);
  const bool same = std::ranges::all_of(
      report.sets, [&](const RunSet& set) { return faults_html(set.scenario) == first; });
  if (same) {
    out << first;
  } else {
    const std::vector<std::string> names = labels(report);
    for (std::size_t i = 0; i < names.size(); ++i) {
      out << "<p><b>" << text::html_text(names[i]) << "</b></p>\n"
          << faults_html(report.sets[i].scenario);
    }
  }
  out << "</section>\n";
}

void print_promises(std::ostream& out, const Report& report) {
  const std::vector<Promise> promises = check_expectations(report);
  if (promises.empty()) return;
  const auto held = std::ranges::count_if(
      promises, [](const Promise& promise) { return promise.held && promise.checked; });
  const auto checked = std::ranges::count_if(promises, &Promise::checked);
  text::begin_section(out, "What was promised",
                      std::to_string(held) + " of " + std::to_string(checked) + " held.");
  out << "<ul class=\"plain\">\n";
  for (const Promise& promise : promises) {
    const char* const word = !promise.checked ? "skipped" : promise.held ? "held" : "broken";
    const char* const sign = !promise.checked ? "" : promise.held ? "✓ " : "✗ ";
    out << "<li class=\"promise " << word << "\"><b>" << sign << word << "</b> "
        << text::html_text(promise.sentence) << "</li>\n";
  }
  out << "</ul>\n</section>\n";
}

void print_panel(std::ostream& out, const Panel& panel, bool with_faults) {
  text::begin_section(out, panel.title, panel.note);
  out << "<ul class=\"keys\">";
  for (const Panel::Key& key : panel.keys) {
    const auto is_line = [&](const text::ChartSeries& series) {
      return series.ink == key.ink && series.shape == text::Shape::line;
    };
    const bool thin = std::ranges::any_of(panel.figures, [&](const Panel::Figure& figure) {
      return std::ranges::any_of(figure.chart.series, is_line);
    });
    out << "<li><span class=\"swatch " << (thin ? "thin " : "") << key.ink << "\"></span>"
        << text::html_text(key.name) << "</li>";
  }
  if (with_faults) out << "<li><span class=\"swatch shade\"></span>a fault is on</li>";
  out << "</ul>\n<div class=\"charts" << (panel.figures.size() % 3 == 1 ? " pairs" : "") << "\">\n";
  for (const Panel::Figure& figure : panel.figures) {
    out << "<figure><figcaption>" << text::html_text(figure.label) << "</figcaption>"
        << text::draw_svg(figure.chart) << "</figure>\n";
  }
  out << "</div>\n</section>\n";
}

void print_rows(std::ostream& out, const Report& report, std::string_view caption,
                const std::vector<ReportRow>& rows) {
  std::vector<std::vector<text::HtmlCell>> table = {{{""}}};
  for (const std::string& name : labels(report)) table[0].push_back({name});
  for (const ReportRow& row : rows) {
    table.push_back({{row.name, row.note}});
    for (const std::string& cell : row.cells) table.back().push_back({cell});
  }
  text::print_html_table(out, caption, table);
  out << "</section>\n";
}

void print_again(std::ostream& out, const Report& report) {
  text::begin_section(out, "Run it again", "The same seed gives the same trace, on every machine.");
  text::print_command(out, report.command);
  std::vector<std::vector<text::HtmlCell>> rows = {
      {{""}, {"policy"}, {"seed"}, {"events"}, {"trace hash"}}};
  const std::vector<std::string> names = labels(report);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (report.sets[i].records.empty()) continue;
    const Record& record = report.sets[i].records.front();
    rows.push_back({{names[i]},
                    {record.policy},
                    {std::to_string(record.seed)},
                    {text::with_commas(static_cast<std::int64_t>(record.events))},
                    {hash_text(record.trace_hash)}});
  }
  text::print_html_table(out, "Charted runs", rows);
  out << "</section>\n";
}

}  // namespace

void print_html(std::ostream& out, const Report& report) {
  text::begin_page(out, report.title, report.about);
  if (const std::string text = interruption(report); !text.empty()) {
    out << "<section class=\"interrupted\">" << text::html_text(text) << "</section>\n";
  }
  print_plot(out, report);
  print_promises(out, report);
  const bool with_faults = std::ranges::any_of(
      report.sets, [](const RunSet& set) { return !set.scenario.faults.empty(); });
  for (const Panel& panel : panels(report)) print_panel(out, panel, with_faults);
  const bool many =
      std::ranges::any_of(report.sets, [](const RunSet& set) { return set.records.size() > 1; });
  text::begin_section(
      out, "Numbers",
      many ? "Means over all runs, with half of their 95 % interval; probabilities with "
             "Wilson's interval."
           : "");
  print_rows(out, report, "Measures", measure_rows(report));
  if (const std::vector<ReportRow> verdicts = verdict_rows(report); !verdicts.empty()) {
    text::begin_section(out, "How requests ended",
                        "Verdicts of the clients' requests, all runs together.");
    print_rows(out, report, "Verdicts", verdicts);
  }
  print_again(out, report);
  text::end_page(out, report.version);
}

}  // namespace damper::lab
