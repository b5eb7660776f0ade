#include "damper/demo/webhook_report.h"

#include <algorithm>
#include <ostream>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/base/text/plain_text.h"
#include "damper/demo/demo.h"

namespace damper::demo {
namespace {

using text::Ink;
using text::MarkedTime;
using text::padded_left;
using text::padded_right;
using text::Painter;
using text::with_commas;

constexpr int kRows = 3;
constexpr double kBucketsPerSecond = std::chrono::seconds(1) / kWebhookBucket;

std::string seconds_text(Duration time) {
  return text::fixed_text(std::chrono::duration<double>(time).count(), 1) + "s";
}

std::string describe(const ReceiverPlan& plan) {
  if (plan.down > Duration{0}) return "503 for " + format_duration(plan.down);
  if (plan.answer > Duration{0}) return "answers after " + format_duration(plan.answer);
  return "healthy";
}

// The outage of the endpoint, if it has one, and when the dispatcher did not run.
std::vector<MarkedTime> marks_of(const WebhookLane& lane, const WebhookDemoRecord& record) {
  std::vector<MarkedTime> marks;
  if (lane.plan.down > Duration{0} && record.down) {
    const Duration back = *record.down + lane.plan.down;
    return {{.from = *record.down,
             .to = back,
             .begin = seconds_text(*record.down) + ": down",
             .end = seconds_text(back) + ": back"}};
  }
  if (record.killed && record.restarted) {
    marks.push_back({.from = *record.killed,
                     .to = *record.restarted,
                     .begin = "",
                     .end = "killed at " + seconds_text(*record.killed) + ", runs at " +
                            seconds_text(*record.restarted)});
  }
  return marks;
}

// Arrivals per second in each bucket.
std::vector<double> per_second(const std::vector<std::uint32_t>& counts) {
  std::vector<double> rates;
  rates.reserve(counts.size());
  for (const std::uint32_t count : counts) rates.push_back(count * kBucketsPerSecond);
  return rates;
}

void print_lane(std::ostream& out, const WebhookLane& lane, const WebhookDemoRecord& record,
                const Painter& paint) {
  const int group = text::chart_group(lane.first.size());
  const int columns = (static_cast<int>(lane.first.size()) + group - 1) / group;
  const auto print = [&](const char* what, const std::vector<std::uint32_t>& counts, Ink ink) {
    const std::vector<double> rates = per_second(counts);
    const double top = std::max(1.0, *std::ranges::max_element(rates));
    out << paint(Ink::strong, lane.plan.name) << " (" << describe(lane.plan) << "), " << what
        << '\n';
    text::print_chart(out, text::draw_columns(rates, group, top, kRows),
                      std::to_string(static_cast<std::int64_t>(top)), ink, paint);
  };
  out << '\n';
  print("first attempts", lane.first, Ink::calm);
  if (std::ranges::any_of(lane.again, [](std::uint32_t count) { return count > 0; })) {
    print("retries", lane.again, Ink::alarm);
  }
  text::print_axis(out, static_cast<std::size_t>(columns), kWebhookBucket * group * columns,
                   marks_of(lane, record), paint);
}

void print_count(std::ostream& out, const char* what, std::int64_t count, const std::string& rest,
                 const Painter& paint, Ink ink) {
  out << padded_right(what, 11) << paint(ink, padded_left(with_commas(count), 8))
      << (rest.empty() ? "" : "  ") << rest << '\n';
}

std::string plural(std::int64_t count, const std::string& noun) {
  return with_commas(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

void print_webhook_plot(std::ostream& out, const WebhookDemoOptions& options) {
  out << with_commas(options.messages) << " messages, "
      << with_commas(static_cast<std::int64_t>(options.rate))
      << " a second, for three endpoints: shop, which answers 503 for "
      << format_duration(options.down) << ",\nand two healthy ones, billing and search. Every "
      << "tenth is also for two others: slow, which\nanswers after "
      << format_duration(options.slow) << ", and dead, where nothing listens. After "
      << format_duration(options.kill_at)
      << " the dispatcher\nis killed (kill -9); it is started again "
      << format_duration(options.absent) << " later.\n\n";
}

std::string webhook_line(const WebhookDemoRecord& record) {
  const std::size_t buckets = record.lanes.empty() ? 0 : record.lanes.front().first.size();
  std::string line =
      padded_left(seconds_text(kWebhookBucket * static_cast<std::int64_t>(buckets)), 6) +
      (record.killed && !record.restarted ? " KILLED " : "        ") + "accepted" +
      padded_left(with_commas(record.accepted), 6) + "  delivered:";
  for (const WebhookLane& lane : record.lanes) {
    line += " " + lane.plan.name + padded_left(with_commas(lane.counts.accepted), 6);
  }
  return line;
}

void print_webhook_report(std::ostream& out, const WebhookDemoOptions& options,
                          const WebhookDemoRecord& record, text::ReportStyle style) {
  const Painter paint(style);
  out << "Arrivals per second, in intervals of " << format_duration(kWebhookBucket) << ".\n";
  for (const WebhookLane& lane : record.lanes) {
    if (!lane.plan.refuses && !lane.first.empty()) print_lane(out, lane, record, paint);
  }
  out << "\nshop has a rate limit of " << with_commas(static_cast<std::int64_t>(options.shop_rate))
      << " a second, with a burst of as many;\nits breaker sent single probes during the outage.\n";
  if (record.restarted && record.resumed) {
    out << "After the restart the first attempt arrived within "
        << spent_text(*record.resumed - *record.restarted + kWebhookBucket) << ".\n";
  }
  out << "\nDeliveries, counted by the receivers and in the store:\n";
  print_count(out, "accepted", expected(record),
              "of " + plural(record.accepted, "message") + ", each answered 202; " +
                  plural(record.repeated, "request") + " sent again with the same key",
              paint, Ink::calm);
  print_count(out, "delivered", delivered(record), "", paint, Ink::good);
  print_count(out, "waiting", record.waiting, "in the store: nothing listens on dead", paint,
              Ink::calm);
  print_count(out, "dead", record.dead, "dead letters", paint, Ink::calm);
  print_count(out, "lost", record.lost, "", paint, record.lost == 0 ? Ink::good : Ink::alarm);
  print_count(out, "duplicates", duplicates(record), "in flight when the dispatcher was killed",
              paint, Ink::calm);
  if (!record.whole) out << "It was stopped before all was delivered.\n";
}

}  // namespace damper::demo
