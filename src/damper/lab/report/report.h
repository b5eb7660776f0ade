#ifndef DAMPER_LAB_REPORT_REPORT_H_
#define DAMPER_LAB_REPORT_REPORT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "damper/base/verdict.h"
#include "damper/lab/record/record.h"
#include "damper/lab/runs/interval.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// A Report is what has been run and what is to be shown of it. report_text.h, report_html.h,
// report_json.h and report_csv.h show it; each is a function of the report alone.

// One variant of a scenario, or one policy, run with one or more seeds.
struct RunSet {
  Scenario scenario{};            // Its name, variant and faults are shown.
  std::vector<Record> records{};  // By seed; the first one is charted, all count in the numbers.
};

struct Report {
  std::string title{};
  std::string about{};
  std::vector<RunSet> sets{};
  std::string command{};     // what to type for the same report
  std::string version{};     // of damper
  bool interrupted = false;  // then fewer runs are there than were asked for
  int asked_runs = 0;        // of all sets together
};

// What the columns are called: the variants, or the scenarios when they differ, or the policies
// when one scenario ran under several. No two are the same, and none is empty.
[[nodiscard]] std::vector<std::string> labels(const Report& report);

// A measure over the runs of a set. A run that cannot say it is left out.
[[nodiscard]] Summary summarize(const Measure& measure, const RunSet& set);

// How many runs of the set collapsed, of those that can say it.
[[nodiscard]] Proportion collapsed_runs(const RunSet& set);

// How the requests of the first clients ended, all runs together.
[[nodiscard]] std::array<std::uint64_t, kVerdictNames.size()> verdicts_of(const RunSet& set);

// The measures that say something here: at least one set has a number other than 0, or there was a
// fault to come back from, or a promise is about them. attempts_at_bottom only where services call
// services.
[[nodiscard]] std::vector<const Measure*> shown_measures(const Report& report);

// "3.99", or with several runs "3.99 ±0.02": half the 95 % interval of the mean. Of `collapsed`:
// "no", "yes", or "0.74 (0.73 to 0.75)" with Wilson's interval. "-" when no run could say it.
[[nodiscard]] std::string summary_text(const Measure& measure, const RunSet& set);

// A Promise is an expectation that has been looked at.
struct Promise {
  std::string sentence;
  bool held = false;
  bool checked = true;  // Not when the variant that it compares with is not there: it is held then.
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

}  // namespace damper::lab

#endif  // DAMPER_LAB_REPORT_REPORT_H_
