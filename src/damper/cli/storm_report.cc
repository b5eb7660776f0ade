#include "damper/cli/storm_report.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>

#include "damper/base/duration_text.h"

namespace damper::cli {
namespace {

constexpr int kColumns = 75;  // With the scale at their left, 80.
constexpr int kScale = 4;     // The scale's digits.

constexpr std::string_view kFirstTries = "36";  // ANSI colours
constexpr std::string_view kRetries = "31";
constexpr std::string_view kGood = "32";
constexpr std::string_view kBold = "1";

// Puts what a terminal needs around a text, or nothing.
class Painter {
 public:
  explicit Painter(ReportStyle style) : style_(style) {}
  [[nodiscard]] std::string operator()(std::string_view colour, const std::string& text) const {
    if (!style_.colour) return text;
    return "\x1b[" + std::string(colour) + "m" + text + "\x1b[0m";
  }

 private:
  ReportStyle style_;
};

std::string two_decimals(double number) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << number;
  return text.str();
}

std::string back_text(const Findings& findings) {
  return findings.back_after ? format_duration(*findings.back_after) : "never";
}

std::string padded(const std::string& text, int width) {
  std::ostringstream out;
  out << std::setw(width) << text;
  return out.str();
}

void print_chart(std::ostream& out, const std::vector<int>& values, int group, int top, int rows,
                 std::string_view colour, const Painter& paint) {
  bool first = true;
  for (std::string& line : draw_columns(values, group, top, rows)) {
    line.erase(line.find_last_not_of(' ') + 1);
    out << padded(first ? std::to_string(top) : "", kScale) << "│";
    if (!line.empty()) out << paint(colour, line);
    out << '\n';
    first = false;
  }
}

// The time under a chart, with the outage drawn thick.
void print_axis(std::ostream& out, const StormOptions& options, int columns, int group,
                const Painter& paint) {
  out << padded("0", kScale) << "└";
  std::string marks;
  const auto mark = [&](int column, const std::string& text) {
    marks.resize(std::max(marks.size(), static_cast<std::size_t>(column)), ' ');
    marks += text;
  };
  std::array<std::string, 3> lines;  // before, while down, after
  bool was_down = false;
  mark(0, "0s");
  for (int column = 0; column < columns; ++column) {
    const Duration at = kBucket * (column * group);
    const bool down = at < options.back_at() && at + kBucket * group > options.calm;
    if (down && !was_down) mark(column, format_duration(options.calm) + ": down");
    if (!down && was_down) mark(column, format_duration(options.back_at()) + ": back");
    was_down = down;
    lines[down ? 1 : at < options.calm ? 0 : 2] += down ? "━" : "─";
  }
  out << lines[0] << paint(kRetries, lines[1]) << lines[2] << '\n'
      << std::string(kScale + 1, ' ') << marks << '\n';
}

void print_fleet(std::ostream& out, const std::string& name, const Buckets& buckets,
                 const StormOptions& options, int group, int top, const Painter& paint) {
  const auto columns = (static_cast<int>(buckets.retries.size()) + group - 1) / group;
  out << '\n' << paint(kBold, name) << ", first tries\n";
  print_chart(out, buckets.first_tries, group, top, 2, kFirstTries, paint);
  out << paint(kBold, name) << ", retries\n";
  print_chart(out, buckets.retries, group, top, 4, kRetries, paint);
  print_axis(out, options, columns, group, paint);
}

void print_row(std::ostream& out, const char* what, const std::string& naive,
               const std::string& guarded) {
  out << "  " << std::left << std::setw(50) << what << std::right << std::setw(12) << naive
      << std::setw(12) << guarded << '\n';
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

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, ",");
  return text;
}

std::vector<std::string> draw_columns(const std::vector<int>& values, int group, int top,
                                      int rows) {
  static constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                              "▅", "▆", "▇", "█"};
  std::vector<std::string> lines(static_cast<std::size_t>(rows));
  const auto step = static_cast<std::size_t>(group);
  for (std::size_t i = 0; i < values.size(); i += step) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
    const std::int64_t tallest = *std::max_element(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(step, values.size() - i)));
    std::int64_t eighths = (tallest * rows * 8 + top / 2) / top;
    if (tallest > 0) eighths = std::max<std::int64_t>(eighths, 1);
    for (int row = 0; row < rows; ++row) {
      const std::int64_t above = eighths - std::int64_t{8} * (rows - 1 - row);
      lines[static_cast<std::size_t>(row)] +=
          kBlocks[static_cast<std::size_t>(std::clamp<std::int64_t>(above, 0, 8))];
    }
  }
  return lines;
}

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
    out << std::setw(8) << with_commas(static_cast<std::int64_t>(count.first_tries)) << " +"
        << std::setw(7) << with_commas(static_cast<std::int64_t>(count.retries)) << " retries";
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
  const int group = (static_cast<int>(naive_buckets.retries.size()) + kColumns - 1) / kColumns;
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
    out << (promise.held ? paint(kGood, "held    ") : paint(kRetries, "BROKEN  "))
        << promise.sentence << '\n';
  }
}

}  // namespace damper::cli
