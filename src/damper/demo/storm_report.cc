#include "damper/demo/storm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ostream>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/plain_text.h"
#include "damper/demo/demo.h"

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

// The attempts of each bucket that were the first of a call, and those that were not.
struct Buckets {
  explicit Buckets(const LaneRecord& lane) : first_tries(lane.attempts), retries(lane.retries) {
    for (std::size_t i = 0; i < first_tries.size(); ++i) first_tries[i] -= retries[i];
  }
  [[nodiscard]] std::uint32_t tallest() const {
    std::uint32_t top = 1;
    for (const auto* values : {&first_tries, &retries}) {
      for (const std::uint32_t value : *values) top = std::max(top, value);
    }
    return top;
  }

  std::vector<std::uint32_t> first_tries;
  std::vector<std::uint32_t> retries;
};

void print_side(std::ostream& out, const std::string& name, const Buckets& buckets,
                const StormOptions& options, int group, std::uint32_t top, const Painter& paint) {
  const int columns = (static_cast<int>(buckets.retries.size()) + group - 1) / group;
  const std::array<text::MarkedTime, 1> outage = {
      {{.from = options.calm,
        .to = options.back_at(),
        .begin = format_duration(options.calm) + ": down",
        .end = format_duration(options.back_at()) + ": back"}}};
  const auto print = [&](const std::vector<std::uint32_t>& values, int rows, Ink ink) {
    const std::vector<double> tall(values.begin(), values.end());
    text::print_chart(out, text::draw_columns(tall, group, top, rows), std::to_string(top), ink,
                      paint);
  };
  out << '\n' << paint(Ink::strong, name) << ", first tries\n";
  print(buckets.first_tries, 2, Ink::calm);
  out << paint(Ink::strong, name) << ", retries\n";
  print(buckets.retries, 4, Ink::alarm);
  text::print_axis(out, static_cast<std::size_t>(columns), kDemoBucket * group * columns, outage,
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
      << "Their clients got the refusal at once and kept their schedule; the naive ones waited.\n";
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
         "  guarded  GuardedClient, default policy: 3 attempts, full jitter, a 10 % budget\n\n";
}

std::string progress_line(const StormOptions& options, const StormRecord& record) {
  const Duration at = kDemoBucket * static_cast<std::int64_t>(record.naive.attempts.size());
  const auto side = [](const LaneRecord& lane) {
    const auto sum = [](const std::vector<std::uint32_t>& counts) {
      return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    };
    const std::int64_t retries = sum(lane.retries);
    return padded_left(with_commas(sum(lane.attempts) - retries), 8) + " +" +
           padded_left(with_commas(retries), 7) + " retries";
  };
  return padded_left(text::fixed_text(std::chrono::duration<double>(at).count(), 1), 5) + "s " +
         (options.is_down(at) ? "down" : "up  ") + " naive" + side(record.naive) + "  guarded" +
         side(record.guarded);
}

void print_storm(std::ostream& out, const StormOptions& options, const StormRecord& record,
                 text::ReportStyle style) {
  const Painter paint(style);
  const Findings naive = find(record.naive, options);
  const Findings guarded = find(record.guarded, options);
  const Buckets naive_buckets(record.naive);
  const Buckets guarded_buckets(record.guarded);
  const std::uint32_t top = std::max(naive_buckets.tallest(), guarded_buckets.tallest());
  const int group = text::chart_group(naive_buckets.retries.size());
  out << "Arrivals in 100 ms";
  if (group > 1)
    out << "; a column is " << format_duration(kDemoBucket * group) << " and shows the most";
  out << ".\n";
  print_side(out, "naive", naive_buckets, options, group, top, paint);
  print_side(out, "guarded", guarded_buckets, options, group, top, paint);
  print_table(out, naive, guarded);
  print_verdicts(out, record.tally);
  print_words(out, options, naive, guarded, record.tally);
  out << '\n';
  for (const Promise& promise : promises(naive, guarded)) print_promise(out, promise, paint);
}

void print_storm_json(std::ostream& out, const StormOptions& options, const StormRecord& record) {
  const auto ms = [](Duration time) { return time / std::chrono::milliseconds(1); };
  const Findings naive = find(record.naive, options);
  const Findings guarded = find(record.guarded, options);
  text::JsonWriter json(out);
  json.open('{');
  json.field("clients", options.clients);
  json.field("down_from_ms", ms(options.calm));
  json.field("down_until_ms", ms(options.back_at()));
  const auto write_side = [&](std::string_view name, const Findings& found,
                              const LaneRecord& lane) {
    json.open('{', name);
    json.field("offered", found.offered);
    json.field("calls", found.calls);
    json.field("succeeded", found.succeeded);
    json.field("attempts", found.attempts);
    json.field("attempts_per_call_while_down", found.attempts_per_call);
    json.field("tallest_retries_in_100ms", found.tallest_retries);
    json.field("back_after_ms", found.back_after ? static_cast<double>(ms(*found.back_after))
                                                 : std::nan(""));  // null
    const Buckets buckets(lane);
    json.open('[', "first_tries_by_100ms");
    for (const std::uint32_t count : buckets.first_tries) json.element(count);
    json.close(']');
    json.open('[', "retries_by_100ms");
    for (const std::uint32_t count : buckets.retries) json.element(count);
    json.close(']');
    json.close('}');
  };
  write_side("naive", naive, record.naive);
  write_side("guarded", guarded, record.guarded);
  json.open('{', "verdicts");
  for (std::size_t i = 0; i < record.tally.verdicts.size(); ++i) {
    if (record.tally.verdicts[i] > 0) json.field(kVerdictNames[i], record.tally.verdicts[i]);
  }
  json.close('}');
  json.open('[', "promises");
  for (const Promise& promise : promises(naive, guarded)) {
    json.open('{');
    json.field("promise", promise.sentence);
    json.field("held", promise.held);
    json.close('}');
  }
  json.close(']');
  json.close('}');
  out << '\n';
}

}  // namespace damper::demo
