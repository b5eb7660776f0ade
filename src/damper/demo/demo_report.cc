#include "damper/demo/demo.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "damper/base/duration_text.h"
#include "damper/base/text/chart_svg.h"
#include "damper/base/text/html_page.h"
#include "damper/base/text/plain_text.h"
#include "damper/demo/demo_acts.h"

namespace damper::demo {
namespace {

using text::Ink;
using text::padded_left;
using text::padded_right;
using text::Painter;

constexpr std::size_t kLabel = 17;
constexpr int kSpark = 22;
constexpr std::size_t kNumber = 8;
constexpr int kRows = 2;
constexpr std::size_t kWidth = 80;
constexpr std::size_t kStoryLines = 3;  // The last is empty.
constexpr Duration kSecond = std::chrono::seconds(1);

std::int64_t whole(double number) { return static_cast<std::int64_t>(std::llround(number)); }

Duration at_of(const ActRecord& act) {
  return kDemoBucket * static_cast<std::int64_t>(act.guarded.started.size());
}

LaneFindings last_second(const LaneRecord& lane, Duration at) {
  return findings(lane, std::max(Duration{0}, at - kSecond), at);
}

std::string phase_of(const ActRecord& act, Duration at) {
  if (at <= act.times.trouble) return "calm";
  if (at > act.times.over) return "after";
  if (act.times.flip && at > *act.times.flip) return "retries off";
  return std::string(plot(act.act).trouble);
}

std::string ratio_text(double ratio) { return text::fixed_text(ratio, 2); }

// One measure: a label, then for each side its columns and its last value.
struct Measure {
  std::string_view label;
  std::vector<double> guarded, unguarded;
  std::string guarded_now, unguarded_now;
};

void add_measure(std::vector<std::string>& lines, const Measure& measure, std::size_t buckets,
                 const Painter& paint) {
  double top = 1;
  for (const auto* series : {&measure.guarded, &measure.unguarded}) {
    for (const double value : *series) top = std::max(top, value);
  }
  const int group = text::chart_group(buckets, kSpark);
  const auto left = text::draw_columns(measure.guarded, group, top, kRows);
  const auto right = text::draw_columns(measure.unguarded, group, top, kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    const bool last = row + 1 == kRows;
    lines.push_back(padded_right(last ? measure.label : "", kLabel) +
                    paint(Ink::good, padded_right(left[row], kSpark)) +
                    padded_left(last ? measure.guarded_now : "", kNumber) + "  " +
                    paint(Ink::alarm, padded_right(right[row], kSpark)) +
                    padded_left(last ? measure.unguarded_now : "", kNumber));
  }
}

std::vector<double> without_gaps(std::vector<double> values) {
  for (double& value : values) {
    if (std::isnan(value)) value = 0;
  }
  return values;
}

std::vector<double> per_second(std::vector<double> counts) {
  for (double& count : counts) count *= static_cast<double>(kSecond / kDemoBucket);
  return counts;
}

std::string axis_of(const ActRecord& act, std::size_t buckets) {
  const auto group = static_cast<std::size_t>(text::chart_group(buckets, kSpark));
  std::string line;
  for (std::size_t i = 0; i < buckets; i += group) {
    const Duration from = kDemoBucket * static_cast<std::int64_t>(i);
    line += act.times.trouble <= from && from < act.times.over ? "━" : "─";
  }
  return line;
}

std::string recovery_text(const LaneRecord& lane, const ActRecord& act) {
  if (!act.whole) return "-";
  const auto back = find_recovery(lane, act.times);
  return back ? spent_text(*back) : "never";
}

std::vector<std::string> row_of(const ActRecord& act, const LaneRecord& lane, std::string name) {
  const LaneFindings found = findings(lane, act.times.trouble, act.times.end);
  return {std::move(name),
          text::with_commas(static_cast<std::int64_t>(found.offered)),
          std::to_string(whole(found.good_ratio * 100)) + " %",
          ratio_text(found.attempts_per_request),
          spent_text(found.p99),
          recovery_text(lane, act)};
}

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
    for (const Promise& promise : promises(act)) {
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

std::string spent_text(Duration spent) {
  const double ms = std::chrono::duration<double, std::milli>(spent).count();
  if (ms < 10 && ms > 0) return text::fixed_text(ms, 1) + " ms";
  if (ms < 1000) return std::to_string(whole(ms)) + " ms";
  return text::fixed_text(ms / 1000, 1) + " s";
}

void print_promise(std::ostream& out, const Promise& promise, const Painter& paint) {
  out << (promise.held ? paint(Ink::good, "held    ") : paint(Ink::alarm, "BROKEN  "))
      << promise.sentence << '\n';
}

void print_demo_plot(std::ostream& out, Duration act) {
  out << "Two groups of three backends with the same clients, all real, in this process:\n"
         "  with damper   the clients send to damper proxy, which forwards to the backends\n"
         "  without       the clients send to the backends in turn, with three retries\n"
         "Four acts of "
      << format_duration(act) << ". ^C ends it early and shows the results so far.\n\n";
}

std::vector<std::string> demo_frame(const ActRecord& act, text::ReportStyle style) {
  const Painter paint(style);
  const Duration at = at_of(act);
  const auto number = static_cast<std::size_t>(act.act) + 1;
  const std::string title = "Act " + std::to_string(number) + " of " +
                            std::to_string(kActs.size()) + ": " + std::string(plot(act.act).title);
  const std::string phase = phase_of(act, at);
  std::vector<std::string> lines;
  lines.push_back(
      paint(Ink::strong, padded_right(title, 40)) +
      padded_left(text::fixed_text(std::chrono::duration<double>(at).count(), 1) + " s of " +
                      format_duration(act.times.end),
                  22) +
      paint(phase == "calm" || phase == "after" ? Ink::calm : Ink::alarm, padded_left(phase, 18)));
  std::vector<std::string> story = text::wrapped(plot(act.act).sentence, kWidth);
  story.resize(kStoryLines);
  lines.insert(lines.end(), story.begin(), story.end());
  lines.push_back(padded_right("", kLabel) +
                  paint(Ink::strong, padded_right("with damper", kSpark + kNumber + 2)) +
                  paint(Ink::strong, "without"));

  const auto buckets = static_cast<std::size_t>(act.times.end / kDemoBucket);
  const LaneFindings with = last_second(act.guarded, at);
  const LaneFindings without = last_second(act.unguarded, at);
  const auto good_now = [&](const LaneFindings& found) {
    return std::to_string(
        whole(static_cast<double>(found.good) /
              std::chrono::duration<double>(std::clamp(at, kDemoBucket, kSecond)).count()));
  };
  add_measure(lines,
              {.label = "good a second",
               .guarded = per_second(good_series(act.guarded)),
               .unguarded = per_second(good_series(act.unguarded)),
               .guarded_now = good_now(with),
               .unguarded_now = good_now(without)},
              buckets, paint);
  add_measure(lines,
              {.label = "attempts/request",
               .guarded = attempts_series(act.guarded),
               .unguarded = attempts_series(act.unguarded),
               .guarded_now = ratio_text(with.attempts_per_request),
               .unguarded_now = ratio_text(without.attempts_per_request)},
              buckets, paint);
  add_measure(lines,
              {.label = "p99",
               .guarded = without_gaps(p99_series(act.guarded)),
               .unguarded = without_gaps(p99_series(act.unguarded)),
               .guarded_now = spent_text(with.p99),
               .unguarded_now = spent_text(without.p99)},
              buckets, paint);
  const std::string axis = axis_of(act, buckets);
  lines.push_back(padded_right("", kLabel) +
                  paint(Ink::faint, padded_right(axis, kSpark + kNumber + 2) + axis));
  return lines;
}

std::string demo_line(const ActRecord& act) {
  const Duration at = at_of(act);
  const auto side = [&](const LaneRecord& lane) {
    const LaneFindings found = last_second(lane, at);
    return std::to_string(found.good) + " good, " + ratio_text(found.attempts_per_request) +
           " attempts, " + spent_text(found.p99);
  };
  return std::string(plot(act.act).title) + ", " + format_duration(at) + ", " + phase_of(act, at) +
         ": with " + side(act.guarded) + "; without " + side(act.unguarded);
}

std::vector<std::vector<std::string>> demo_rows(const DemoRecord& record) {
  std::vector<std::vector<std::string>> rows = {
      {"from the trouble on", "requests", "good", "attempts", "p99", "well again"}};
  for (const ActRecord& act : record.acts) {
    rows.push_back(row_of(act, act.guarded, std::string(plot(act.act).title) + ", with damper"));
    rows.push_back(row_of(act, act.unguarded, std::string(plot(act.act).title) + ", without"));
  }
  return rows;
}

std::string switch_sentence(const ActRecord& act) {
  const auto side = [](const LaneRecord& lane) {
    return text::with_commas(static_cast<std::int64_t>(lane.waiting)) + " calls waited, " +
           (lane.waiting_ended ? "the last of them for " + spent_text(*lane.waiting_ended) + " more"
                               : std::string("not all of them to the end of the act"));
  };
  if (act.guarded.waiting == 0) return "";
  return "When the switch was flipped: with damper " + side(act.guarded) +
         "; without, where there is none, " + side(act.unguarded) + ".";
}

void print_demo_summary(std::ostream& out, const DemoRecord& record, text::ReportStyle style) {
  const Painter paint(style);
  out << "What was seen, from the beginning of each trouble to the end of its act. Good:\n"
         "answered well within "
      << format_duration(kDemoPatience)
      << ". Attempts: what reached a backend, for each request.\n\n";
  text::print_table(out, demo_rows(record), kWidth, paint);
  out << '\n';
  for (const ActRecord& act : record.acts) {
    if (!act.whole) {
      out << paint(Ink::warning, "cut     ") << plot(act.act).title << " was interrupted.\n";
      continue;
    }
    for (const Promise& promise : promises(act)) print_promise(out, promise, paint);
    if (const std::string sentence = switch_sentence(act); !sentence.empty()) {
      for (const std::string& line : text::wrapped(sentence, kWidth - 8))
        out << "        " << line << '\n';
    }
  }
}

void print_demo_html(std::ostream& out, const DemoRecord& record, const std::string& command,
                     const std::string& version) {
  text::begin_page(
      out, "Damper: a bad minute, with and without",
      "Two groups of three backends with the same clients, measured side by side in one "
      "process. With damper, the clients send to damper proxy, which forwards to the "
      "backends. Without, they send to the backends in turn, with three retries.");
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
