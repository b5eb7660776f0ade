#include "damper/demo/storm_report.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/base/text/plain_text.h"

namespace damper::demo {
namespace {

using text::Ink;
using text::padded_left;
using text::padded_right;
using text::Painter;
using text::with_commas;

std::string two_decimals(double number) { return text::fixed_text(number, 2); }

std::string back_text(const Findings& findings) {
  return findings.back_after ? format_duration(*findings.back_after) : "never";
}

void print_columns(std::ostream& out, const std::vector<int>& values, int group, int top, int rows,
                   Ink ink, const Painter& paint) {
  const std::vector<double> tall(values.begin(), values.end());
  text::print_chart(out, text::draw_columns(tall, group, top, rows), std::to_string(top), ink,
                    paint);
}

void print_fleet(std::ostream& out, const std::string& name, const Buckets& buckets,
                 const StormOptions& options, int group, int top, const Painter& paint) {
  const int columns = (static_cast<int>(buckets.retries.size()) + group - 1) / group;
  const std::array<text::MarkedTime, 1> outage = {
      {{.from = options.calm,
        .to = options.back_at(),
        .begin = format_duration(options.calm) + ": down",
        .end = format_duration(options.back_at()) + ": back"}}};
  out << '\n' << paint(Ink::strong, name) << ", first tries\n";
  print_columns(out, buckets.first_tries, group, top, 2, Ink::calm, paint);
  out << paint(Ink::strong, name) << ", retries\n";
  print_columns(out, buckets.retries, group, top, 4, Ink::alarm, paint);
  text::print_axis(out, static_cast<std::size_t>(columns), kBucket * group * columns, outage,
                   paint);
}

void print_row(std::ostream& out, const char* what, const std::string& naive,
               const std::string& guarded) {
  out << "  " << padded_right(what, 50) << padded_left(naive, 12) << padded_left(guarded, 12)
      << '\n';
}

void print_table(std::ostream& out, const Findings& naive, const Findings& guarded) {
  const auto row = [&](const char* what, std::int64_t a, std::int64_t b) {
    print_row(out, what, with_commas(a), with_commas(b));
  };
  out << '\n';
  print_row(out, "", "naive", "guarded");
  row("calls offered: every client, every tick", naive.offered, guarded.offered);
  row("calls made: who sits in a backoff makes none", naive.calls, guarded.calls);
  row("calls that succeeded", naive.succeeded, guarded.succeeded);
  row("retries made", naive.attempts - naive.calls, guarded.attempts - guarded.calls);
  print_row(out, "attempts for each call while it was down", two_decimals(naive.attempts_per_call),
            two_decimals(guarded.attempts_per_call));
  row("tallest 100 ms of retries", naive.tallest_retries, guarded.tallest_retries);
  print_row(out, "after the return, back to 99 % of the offered in", back_text(naive),
            back_text(guarded));
}

void print_verdicts(std::ostream& out, const engine::Tally& tally) {
  out << "\nHow the guarded calls ended:";
  const char* separator = " ";
  for (std::size_t i = 0; i < tally.verdicts.size(); ++i) {
    if (tally.verdicts[i] == 0) continue;
    out << separator << kVerdictNames[i] << ' '
        << with_commas(static_cast<std::int64_t>(tally.verdicts[i]));
    separator = ", ";
  }
  out << ".\n";
}

void print_words(std::ostream& out, const StormOptions& options, const Findings& naive,
                 const Findings& guarded, const engine::Tally& tally) {
  out << "\nIn words: the dependency was down for " << format_duration(options.down)
      << ". A naive call cost it " << two_decimals(naive.attempts_per_call)
      << " attempts,\nand all clients came back at the same instants, up to "
      << with_commas(naive.tallest_retries) << " retries in 100 ms.\nA guarded call cost it "
      << two_decimals(guarded.attempts_per_call) << ", never more than "
      << with_commas(guarded.tallest_retries) << " retries in 100 ms: jitter spread\n"
      << "them, and the budget ended "
      << with_commas(static_cast<std::int64_t>(tally.of(Verdict::budget_spent)))
      << " calls instead of trying them again.\n"
      << "Their clients heard so at once and kept to their schedule; the naive ones waited.\n";
}

}  // namespace

void print_plot(std::ostream& out, const StormOptions& options) {
  out << with_commas(options.clients) << " clients start at the same instant; each calls the same "
      << "dependency every " << format_duration(options.every) << ".\nIt serves "
      << with_commas(options.capacity_per_second) << " calls a second. From "
      << format_duration(options.calm) << " to " << format_duration(options.back_at())
      << " it is down: 503, at once.\n\nTwo such fleets run side by side, for real, for "
      << format_duration(options.end()) << ":\n  naive    tries a failure again after ";
  Duration delay = options.naive_delay;
  for (std::uint32_t attempt = 1; attempt < options.naive_attempts; ++attempt) {
    out << format_duration(delay) << ", ";
    delay = std::min(delay * 2, options.naive_cap);
  }
  out << "without jitter\n"
         "  guarded  damper::call(), default policy: 3 attempts, full jitter, a 10 % budget\n\n";
}

std::string progress_line(const StormProgress& progress) {
  std::ostringstream out;
  const auto fleet = [&](const Backend::Count& count) {
    out << padded_left(with_commas(static_cast<std::int64_t>(count.first_tries)), 8) << " +"
        << padded_left(with_commas(static_cast<std::int64_t>(count.retries)), 7) << " retries";
  };
  const std::int64_t tenths = progress.at / std::chrono::milliseconds(100);
  out << std::setw(3) << tenths / 10 << '.' << tenths % 10 << "s "
      << (progress.down ? "down" : "up  ") << " naive";
  fleet(progress.naive);
  out << "  guarded";
  fleet(progress.guarded);
  return out.str();
}

void print_storm(std::ostream& out, const StormOptions& options, const StormRecord& record,
                 ReportStyle style) {
  const Painter paint(style);
  const Findings naive = find(record.naive, options);
  const Findings guarded = find(record.guarded, options);
  const Buckets naive_buckets = bucketed(record.naive, options);
  const Buckets guarded_buckets = bucketed(record.guarded, options);
  int top = 1;
  for (const Buckets* buckets : {&naive_buckets, &guarded_buckets}) {
    for (const std::vector<int>* values : {&buckets->first_tries, &buckets->retries}) {
      top = std::max(top, *std::max_element(values->begin(), values->end()));
    }
  }
  const int group = text::chart_group(naive_buckets.retries.size());
  out << "Arrivals in 100 ms";
  if (group > 1)
    out << "; a column is " << format_duration(kBucket * group) << " and shows the most";
  out << ".\n";
  print_fleet(out, "naive", naive_buckets, options, group, top, paint);
  print_fleet(out, "guarded", guarded_buckets, options, group, top, paint);
  print_table(out, naive, guarded);
  print_verdicts(out, record.tally);
  print_words(out, options, naive, guarded, record.tally);
  out << '\n';
  for (const Promise& promise : promises(naive, guarded)) {
    out << (promise.held ? paint(Ink::good, "held    ") : paint(Ink::alarm, "BROKEN  "))
        << promise.sentence << '\n';
  }
}

}  // namespace damper::demo
