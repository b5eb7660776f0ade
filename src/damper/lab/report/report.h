#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "damper/base/text/chart_text.h"
#include "damper/base/verdict.h"
#include "damper/lab/record/record.h"
#include "damper/lab/runs/interval.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// A Report is the results of runs. print_text(), print_html(), print_json() and print_csv() show
// it; each is a function of the report alone.

// One variant of a scenario, or one policy, run with one or more seeds.
struct RunSet {
  Scenario scenario{};            // Its name, variant and faults are shown.
  std::vector<Record> records{};  // By seed; the first one is charted, all count in the numbers.
};

struct Report {
  std::string title{};
  std::string about{};
  std::vector<RunSet> sets{};
  std::string command{};     // the command line that gives it
  std::string version{};     // of damper
  bool interrupted = false;  // fewer runs were made than asked_runs
  int asked_runs = 0;        // of all sets together
};

// The names of the columns: the variants, or the scenarios when they differ, or the policies
// when one scenario ran under several. No two are the same, and none is empty.
[[nodiscard]] std::vector<std::string> labels(const Report& report);

// A measure over the runs of a set, without those in which it is undefined.
[[nodiscard]] Summary summarize(const Measure& measure, const RunSet& set);

// The mean over the runs. Of a percentile of latencies: that of all runs' latencies together
// (pooled_quantile.h). NaN: undefined in all runs.
[[nodiscard]] Estimate estimate(const Measure& measure, const RunSet& set);

// The runs of the set that collapsed, of those in which that is defined.
[[nodiscard]] Proportion collapsed_runs(const RunSet& set);

// How the requests of the first clients ended, all runs together.
[[nodiscard]] std::array<std::uint64_t, kVerdictNames.size()> verdicts_of(const RunSet& set);

// The measures worth showing: a set has a number other than 0, there was a fault to recover from,
// or a promise is about them. attempts_at_bottom only where services call
// services.
[[nodiscard]] std::vector<const Measure*> shown_measures(const Report& report);

// "3.99", or with several runs "3.99 ±0.02": half the 95 % interval of estimate(). Of `collapsed`:
// "no", "yes", or "0.74 (0.73 to 0.75)" with Wilson's interval. "-": undefined in all runs.
[[nodiscard]] std::string summary_text(const Measure& measure, const RunSet& set);

// The rows of a table with a column for each set: the number of runs, if a set has not exactly one,
// and the shown measures; how the requests ended, without verdicts that no set has.
struct ReportRow {
  std::string name{};
  std::string note{};  // what a measure is
  std::vector<std::string> cells{};
};
[[nodiscard]] std::vector<ReportRow> measure_rows(const Report& report);
[[nodiscard]] std::vector<ReportRow> verdict_rows(const Report& report);

// A Promise is a checked expectation.
struct Promise {
  std::string sentence;
  bool held = false;
  bool checked = true;  // false: the variant that it compares with was not run
};

// Every expectation of every set, by the mean over its runs. What is not a number keeps no bound.
// The variant of a ratio is that of the same scenario.
[[nodiscard]] std::vector<Promise> check_expectations(const Report& report);

// "api is down: transient, at once" and the like; without the time.
[[nodiscard]] std::string describe(const FaultSpec& fault);
// "2s to 12s", or "from 2s, for 1,000 requests".
[[nodiscard]] std::string describe_time(const FaultSpec& fault);

// "Interrupted: 3 of 200 runs are done.", or that a run was cut short, or nothing.
[[nodiscard]] std::string interruption(const Report& report);

// 16 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

// For a terminal of 100 columns: the faults; charts of each set's first run, all on the same scale,
// of the service that the clients call and of the end of the chain of calls; then the measures side
// by side over all runs, the verdicts, and the promises.
void print_text(std::ostream& out, const Report& report, text::ReportStyle style);
// The promises alone, a line for each.
void print_promises(std::ostream& out, const Report& report, text::ReportStyle style);

// One self-contained HTML page (html_page.h): faults, promises, charts (report_panels.h), measures
// side by side, verdicts, and the command to run it again.
//
// Invariants:
//   (1) No script, no request to a network, every name escaped.
//   (2) The same report gives the same bytes.
void print_html(std::ostream& out, const Report& report);

// All data of a report as one JSON object on one line, its fields always in this order:
//
//   kind         "report"
//   title, about, command, version
//   interrupted  whether fewer runs were made than asked_runs
//   promises     [{sentence, held, checked}]
//   sets         [{label, scenario, variant, policy, faults, measures, collapsed, verdicts, runs}]
//     faults       [{kind, on, at_seconds, length_seconds, requests, amount}]
//     measures     {name: {unit, runs, mean, low, high, values}}: low to high is the 95 % interval
//                  of the mean; of a percentile `mean` is that of all runs together (and its
//                  interval, of one run, what the sketch knows); values are those of the runs,
//                  null if undefined
//     collapsed    {runs, collapsed, probability, low, high}: Wilson's 95 % interval
//     verdicts     {verdict: requests of the first clients}, all runs together, none with 0
//     runs         [{seed, trace_hash, events, last_end_seconds, bucket_seconds,
//                    latency_bucket_seconds, clients, services}]
//       trace_hash   16 hexadecimal digits: equal when the runs were
//       clients      [{name, requests, attempts, succeeded, failed, unfinished, requests_in_fault,
//                      attempts_in_fault, latency, series, latency_series}]: latency is of the
//                    whole run, {p50_ms, p99_ms, p999_ms}
//       services     [{name, first_tries, attempts, hedges, served, good, refused, series}]
//         series       {name: [a value for each bucket]}; record.h documents the names
void print_json(std::ostream& out, const Report& report);

// All numbers of a report as CSV (RFC 4180) in long format: one number a row, as data frames in R
// and pandas want it, because clients and services have different series.
//
//   set           the label of the variant or the policy
//   seed          of the run
//   kind          measure: a number of the whole run (measure.h)
//                 verdict: requests of the clients `name` with that verdict
//                 clients, service: a bucket of a series (record.h)
//   name          of the clients or the service; empty for a measure
//   series        the name of the measure, the verdict or the series
//   time_seconds  the start of the bucket; empty for a number of the whole run
//   value         empty if undefined
//
//   df[df.kind == "service"].pivot_table(index="time_seconds", columns=["set", "series"],
//                                        values="value")
void print_csv(std::ostream& out, const Report& report);

}  // namespace damper::lab
