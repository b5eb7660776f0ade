#include "damper/lab/report/report.h"

#include <algorithm>
#include <ostream>
#include <span>

#include "damper/base/duration_text.h"
#include "damper/base/text/chart_text.h"
#include "damper/base/text/plain_text.h"
#include "damper/lab/report/report_series.h"

namespace damper::lab {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kTextWidth = 90;

double retries_and_hedges(const ServiceTick& tick) {
  return static_cast<double>(tick.retries) + tick.hedges;
}
constexpr auto kFirstTries = field<&ServiceTick::first_tries, ServiceTick>;
constexpr auto kServed = field<&ServiceTick::served, ServiceTick>;
constexpr auto kFailing = field<&ControllersTick::failing, ControllersTick>;

// A service in the first run of a set.
struct Charted {
  std::string label;
  const Scenario* scenario = nullptr;
  const Record* record = nullptr;
  const ServiceRecord* service = nullptr;
};

// As many values as there are columns: the most of their buckets, or the mean. Few buckets are
// several columns wide each.
template <typename Tick>
std::vector<double> columns_of(const std::vector<Tick>& ticks, double (*of)(const Tick&),
                               text::Reduction reduction) {
  const std::vector<double> values = values_of(ticks, of);
  std::vector<double> columns;
  for (const double value : text::reduced(values, text::kChartColumns, reduction)) {
    columns.insert(columns.end(), std::max<std::size_t>(text::kChartColumns / values.size(), 1),
                   value);
  }
  return columns;
}

// The tallest column that these values have in all charts.
double tallest(std::span<const Charted> charts, double (*of)(const ServiceTick&),
               text::Reduction reduction) {
  double top = 0;
  for (const Charted& chart : charts) {
    for (const double value : columns_of(chart.service->ticks, of, reduction)) {
      top = std::max(top, value);
    }
  }
  return top;
}

void print_columns(std::ostream& out, const std::vector<double>& values, double top, int rows,
                   text::Ink ink, const text::Painter& paint) {
  text::print_chart(out, text::draw_columns(values, 1, top, rows), text::compact(top), ink, paint);
}

std::vector<text::MarkedTime> marks_of(const Scenario& scenario) {
  std::vector<text::MarkedTime> marks;
  for (const FaultSpec& fault : scenario.faults) {
    const std::string kind(kFaultNames[fault.kind]);
    marks.push_back({fault.at, fault.end(), format_duration(fault.at) + ": " + kind,
                     format_duration(fault.end()) + ": over"});
  }
  return marks;
}

void print_time_axis(std::ostream& out, const Scenario& scenario, const Record& record,
                     std::size_t columns, std::size_t ticks, const text::Painter& paint) {
  // The last column may be of fewer buckets than the others.
  const int group = text::chart_group(ticks);
  const std::size_t buckets = group > 1 ? columns * static_cast<std::size_t>(group) : ticks;
  text::print_axis(out, columns, record.bucket * static_cast<std::int64_t>(buckets),
                   marks_of(scenario), paint);
}

void print_service(std::ostream& out, const Charted& chart, double top, double top_served,
                   const text::Painter& paint) {
  const std::vector<ServiceTick>& ticks = chart.service->ticks;
  const std::string name = paint(text::Ink::strong, text::printable(chart.label, 40));
  out << '\n' << name << ", first tries\n";
  print_columns(out, columns_of(ticks, kFirstTries, text::Reduction::greatest), top, 2,
                text::Ink::calm, paint);
  out << name << (chart.service->hedges > 0 ? ", retries and hedges\n" : ", retries\n");
  print_columns(out, columns_of(ticks, retries_and_hedges, text::Reduction::greatest), top, 3,
                text::Ink::alarm, paint);
  const std::vector<double> whole = columns_of(ticks, kServed, text::Reduction::mean);
  if (top_served > 0) {
    out << name << ", served\n";
    text::print_chart(out,
                      text::draw_parts(columns_of(ticks, field<&ServiceTick::good, ServiceTick>,
                                                  text::Reduction::mean),
                                       whole, 1, top_served, 3),
                      text::compact(top_served), text::Ink::good, paint);
  }
  print_time_axis(out, *chart.scenario, *chart.record, whole.size(), ticks.size(), paint);
}

using FindService = std::optional<std::size_t>(const Scenario&, const Record&);

std::vector<Charted> charted(const Report& report, FindService* find) {
  std::vector<Charted> charts;
  const std::vector<std::string> names = labels(report);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const RunSet& set = report.sets[i];
    if (set.records.empty()) continue;
    const Record& record = set.records.front();
    const auto at = find(set.scenario, record);
    if (!at || record.services[*at].ticks.empty() || record.bucket <= Duration{0}) continue;
    charts.push_back({names[i], &set.scenario, &record, &record.services[*at]});
  }
  return charts;
}

void print_charts(std::ostream& out, const std::vector<Charted>& charts,
                  const text::Painter& paint) {
  if (charts.empty()) return;
  const Charted& first = charts.front();
  const double top = std::max({1.0, tallest(charts, kFirstTries, text::Reduction::greatest),
                               tallest(charts, retries_and_hedges, text::Reduction::greatest)});
  const double top_served = tallest(charts, kServed, text::Reduction::mean);
  const int group = text::chart_group(first.service->ticks.size());
  out << "\nAt " << text::printable(first.service->name, 40) << " in "
      << format_duration(first.record->bucket);
  if (group > 1) {
    out << "; a column is " << format_duration(first.record->bucket * group)
        << " and shows the most,\nserved the mean";
  }
  out << (top_served > 0 ? ". Served: █ still wanted, ░ no more.\n" : ".\n");
  for (const Charted& chart : charts) print_service(out, chart, top, top_served, paint);
}

// The keys of the first controllers whose last run failed, over time.
void print_keys(std::ostream& out, const Report& report, const text::Painter& paint) {
  const std::vector<std::string> names = labels(report);
  std::string group;
  double top = 0;
  for (const RunSet& set : report.sets) {
    if (set.records.empty() || set.records.front().controllers.empty()) continue;
    const ControllersRecord& all = set.records.front().controllers.front();
    group = all.name;
    for (const double keys : values_of(all.ticks, kFailing)) top = std::max(top, keys);
  }
  if (top <= 0) return;
  out << "\nKeys of " << text::printable(group, 40)
      << " whose last run failed, without the broken ones.\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (report.sets[i].records.empty()) continue;
    const Record& record = report.sets[i].records.front();
    if (record.controllers.empty() || record.bucket <= Duration{0}) continue;
    const std::vector<ControllersTick>& ticks = record.controllers.front().ticks;
    const std::vector<double> columns = columns_of(ticks, kFailing, text::Reduction::greatest);
    out << '\n' << paint(text::Ink::strong, text::printable(names[i], 40)) << ", failing\n";
    print_columns(out, columns, top, 3, text::Ink::alarm, paint);
    print_time_axis(out, report.sets[i].scenario, record, columns.size(), ticks.size(), paint);
  }
}

std::string faults_text(const Scenario& scenario, const std::string& indent) {
  std::size_t width = 0;
  for (const FaultSpec& fault : scenario.faults) {
    width = std::max(width, text::text_width(describe_time(fault)));
  }
  std::string text;
  for (const FaultSpec& fault : scenario.faults) {
    text +=
        indent + text::padded_right(describe_time(fault), width) + "  " + describe(fault) + '\n';
  }
  return text;
}

// Once if it is the same for all, and else for each.
void print_faults(std::ostream& out, const Report& report) {
  if (report.sets.empty()) return;
  const std::string first = faults_text(report.sets.front().scenario, "  ");
  const bool same = std::ranges::all_of(
      report.sets, [&](const RunSet& set) { return faults_text(set.scenario, "  ") == first; });
  if (same) {
    out << (first.empty() ? "" : "\n") << first;
    return;
  }
  const std::vector<std::string> names = labels(report);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string text = faults_text(report.sets[i].scenario, "    ");
    out << "\n  " << text::printable(names[i], 40) << '\n'
        << (text.empty() ? "    no fault\n" : text);
  }
}

void print_rows(std::ostream& out, const Report& report, const std::string& corner,
                const std::vector<ReportRow>& rows, const text::Painter& paint) {
  std::vector<std::vector<std::string>> table = {{corner}};
  for (const std::string& name : labels(report)) table[0].push_back(text::printable(name, 24));
  for (const ReportRow& row : rows) {
    table.push_back({row.name});
    table.back().insert(table.back().end(), row.cells.begin(), row.cells.end());
  }
  out << '\n';
  text::print_table(out, table, kWidth, paint);
}

void print_again(std::ostream& out, const Report& report) {
  const std::vector<std::string> names = labels(report);
  out << '\n';
  if (!report.command.empty()) out << "Again: " << text::printable(report.command) << '\n';
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (report.sets[i].records.empty()) continue;
    const Record& record = report.sets[i].records.front();
    out << "Charted: " << text::printable(names[i], 40) << ", seed " << record.seed << ", trace "
        << hash_text(record.trace_hash) << '\n';
  }
}

}  // namespace

void print_promises(std::ostream& out, const Report& report, text::ReportStyle style) {
  const text::Painter paint(style);
  for (const Promise& promise : check_expectations(report)) {
    out << (!promise.checked ? paint(text::Ink::faint, "skipped ")
            : promise.held   ? paint(text::Ink::good, "held    ")
                             : paint(text::Ink::alarm, "BROKEN  "))
        << promise.sentence << '\n';
  }
}

void print_text(std::ostream& out, const Report& report, text::ReportStyle style) {
  const text::Painter paint(style);
  out << paint(text::Ink::strong, text::printable(report.title)) << '\n';
  for (const std::string& line : text::wrapped(report.about, kTextWidth)) out << line << '\n';
  print_faults(out, report);
  const std::vector<Charted> called = charted(report, called_service);
  const std::vector<Charted> bottom = charted(report, bottom_service);
  print_charts(out, called, paint);
  const bool deeper = std::ranges::any_of(bottom, [&](const Charted& chart) {
    return std::ranges::find(called, chart.service, &Charted::service) == called.end();
  });
  if (deeper) print_charts(out, bottom, paint);
  print_keys(out, report, paint);
  print_rows(out, report, "", measure_rows(report), paint);
  const std::vector<ReportRow> verdicts = verdict_rows(report);
  if (!verdicts.empty()) print_rows(out, report, "how requests ended", verdicts, paint);
  print_again(out, report);
  if (const std::string text = interruption(report); !text.empty()) {
    out << '\n' << paint(text::Ink::warning, text) << '\n';
  }
  if (!check_expectations(report).empty()) out << '\n';
  print_promises(out, report, style);
}

}  // namespace damper::lab
