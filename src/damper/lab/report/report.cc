#include "damper/lab/report/report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include "damper/base/duration_text.h"
#include "damper/base/text/plain_text.h"
#include "damper/decide/outcome.h"
#include "damper/lab/runs/pooled_quantile.h"

namespace damper::lab {
namespace {

bool all_same(const std::vector<std::string>& names) {
  return std::ranges::adjacent_find(names, std::not_equal_to{}) == names.end();
}

bool all_differ(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

// "naive", "naive 2", ...; "run" for what has no name.
std::vector<std::string> made_unique(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (std::string& name : names) {
    const std::string base = name.empty() ? "run" : name;
    name = base;
    for (int i = 2; !taken.insert(name).second; ++i) name = base + ' ' + std::to_string(i);
  }
  return names;
}

// Four significant digits, so that a broken bound is visible.
std::string precise(double number) {
  const std::string text = text::for_people(number);
  return std::abs(number) < 1000 && text.find('.') != std::string::npos
             ? text::for_programs(std::round(number * 1e4) / 1e4, "-")
             : text;
}

// Two significant digits: the interval itself is an estimate.
std::string two_digits(double number) {
  double power = 1;
  while (number / power >= 100) power *= 10;
  while (number > 0 && number / power < 10 && power > 1e-9) power /= 10;
  return text::for_people(std::round(number / power) * power);
}

std::string with_unit(const std::string& number, std::string_view unit) {
  if (unit.empty()) return number;
  return number + (unit == "/s" ? "" : " ") + std::string(unit);
}

const RunSet* find_variant(const Report& report, const RunSet& set, const std::string& variant) {
  for (const RunSet& other : report.sets) {
    if (other.scenario.name == set.scenario.name && other.scenario.variant == variant) {
      return &other;
    }
  }
  return nullptr;
}

std::string bounds_text(const Expectation& expectation, std::string_view unit) {
  const auto bound = [&](const char* word, double value) {
    return std::string(word) + with_unit(text::for_programs(value, "-"), unit);
  };
  std::string text;
  if (expectation.at_least) text += bound("at least ", *expectation.at_least);
  if (expectation.at_least && expectation.at_most) text += " and ";
  if (expectation.at_most) text += bound("at most ", *expectation.at_most);
  return text;
}

bool keeps(const Expectation& expectation, double value) {
  // NaN keeps no bound.
  return (!expectation.at_least || value >= *expectation.at_least) &&
         (!expectation.at_most || value <= *expectation.at_most);
}

bool says_something(const Measure& measure, const RunSet& set) {
  const Summary summary = summarize(measure, set);
  if (summary.n() == 0) return false;
  // After a fault, 0 is worth showing.
  if (measure.name == "back_after" || measure.name == "collapsed") {
    return !set.scenario.faults.empty();
  }
  if (measure.name == "attempts_at_bottom") {
    return std::ranges::any_of(set.scenario.services,
                               [](const ServiceSpec& service) { return !service.calls.empty(); });
  }
  return summary.min() != 0 || summary.max() != 0;
}

Promise check(const Report& report, const RunSet& set, const std::string& label,
              const Expectation& expectation) {
  const Measure* const measure = find_measure(expectation.measure);
  const std::string start = text::printable(label) + ": " + text::printable(expectation.measure);
  if (measure == nullptr) return {start + " is no measure", false};
  const double value = estimate(*measure, set).value;
  if (expectation.of.empty()) {
    return {start + " is " + with_unit(precise(value), measure->unit) + ", " +
                bounds_text(expectation, measure->unit),
            keeps(expectation, value)};
  }
  const std::string other_name = text::printable(expectation.of);
  const RunSet* const other = find_variant(report, set, expectation.of);
  if (other == nullptr) {
    return {start + " of " + other_name + "'s: not checked, " + other_name + " was not run", true,
            false};
  }
  const double share =
      value / estimate(*measure, *other).value;  // x / 0 is infinite, 0 / 0 no number.
  return {
      start + " is " + precise(share) + " of " + other_name + "'s, " + bounds_text(expectation, ""),
      keeps(expectation, share)};
}

}  // namespace

std::vector<std::string> labels(const Report& report) {
  std::vector<std::string> names;
  std::vector<std::string> variants;
  std::vector<std::string> titles;
  std::vector<std::string> policies;
  for (const RunSet& set : report.sets) {
    names.push_back(set.scenario.name);
    variants.push_back(set.scenario.variant);
    titles.push_back(set.scenario.title());
    policies.push_back(set.records.empty() ? "" : set.records.front().policy);
  }
  if (report.sets.size() == 1) return made_unique(titles);
  if (all_same(names) && all_differ(variants)) return made_unique(variants);
  if (all_differ(titles)) return made_unique(titles);
  if (all_same(titles)) return made_unique(policies);
  for (std::size_t i = 0; i < titles.size(); ++i) titles[i] += ' ' + policies[i];
  return made_unique(titles);
}

Summary summarize(const Measure& measure, const RunSet& set) {
  Summary summary;
  for (const Record& record : set.records) {
    const double value = measure.of(set.scenario, record);
    if (std::isfinite(value)) summary.add(value);
  }
  return summary;
}

Estimate estimate(const Measure& measure, const RunSet& set) {
  const Summary summary = summarize(measure, set);
  if (summary.n() == 0) {
    const double none = std::nan("");
    return {none, {none, none}};
  }
  if (measure.latencies == nullptr) return {summary.mean(), summary.interval()};
  std::vector<const LatencySketch*> runs;
  for (const Record& record : set.records) {
    if (const LatencySketch* const latencies = measure.latencies(record)) runs.push_back(latencies);
  }
  const PooledQuantile all = *pooled_quantile(runs, measure.share);
  const auto ms = [](Duration time) { return static_cast<double>(time.count()) / 1e6; };
  return {ms(all.value), {ms(all.low), ms(all.high)}};
}

Proportion collapsed_runs(const RunSet& set) {
  const Measure& measure = *find_measure("collapsed");
  Proportion collapsed;
  for (const Record& record : set.records) {
    if (std::isnan(measure.of(set.scenario, record))) continue;
    ++collapsed.n;
    if (is_collapsed(set.scenario, record)) ++collapsed.k;
  }
  return collapsed;
}

std::array<std::uint64_t, kVerdictNames.size()> verdicts_of(const RunSet& set) {
  std::array<std::uint64_t, kVerdictNames.size()> sums{};
  for (const Record& record : set.records) {
    if (record.clients.empty()) continue;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += record.clients.front().verdicts[i];
  }
  return sums;
}

std::vector<const Measure*> shown_measures(const Report& report) {
  std::vector<const Measure*> shown;
  for (const Measure& measure : measures()) {
    const bool says = std::ranges::any_of(report.sets, [&](const RunSet& set) {
      return says_something(measure, set) ||
             std::ranges::find(set.scenario.expect, measure.name, &Expectation::measure) !=
                 set.scenario.expect.end();
    });
    if (says) shown.push_back(&measure);
  }
  return shown;
}

std::string summary_text(const Measure& measure, const RunSet& set) {
  const Summary summary = summarize(measure, set);
  if (summary.n() == 0) return "-";
  if (measure.name == "collapsed") {
    if (summary.n() > 1) return to_text(collapsed_runs(set));
    return summary.mean() > 0 ? "yes" : "no";
  }
  const Estimate of_all = estimate(measure, set);
  std::string text = text::for_people(of_all.value);
  if (summary.n() > 1) text += " ±" + two_digits(of_all.interval.width() / 2);
  return with_unit(text, measure.unit);
}

std::vector<ReportRow> measure_rows(const Report& report) {
  std::vector<ReportRow> rows;
  const auto add = [&](std::string_view name, std::string_view note, const auto& cell_of) {
    ReportRow& row = rows.emplace_back(ReportRow{std::string(name), std::string(note), {}});
    for (const RunSet& set : report.sets) row.cells.push_back(cell_of(set));
  };
  if (std::ranges::any_of(report.sets, [](const RunSet& set) { return set.records.size() != 1; })) {
    add("runs", "", [](const RunSet& set) {
      return text::with_commas(static_cast<std::int64_t>(set.records.size()));
    });
  }
  for (const Measure* measure : shown_measures(report)) {
    add(measure->name, measure->what,
        [measure](const RunSet& set) { return summary_text(*measure, set); });
  }
  return rows;
}

std::vector<ReportRow> verdict_rows(const Report& report) {
  std::vector<ReportRow> rows;
  for (std::size_t i = 0; i < kVerdictNames.size(); ++i) {
    ReportRow row{.name = std::string(kVerdictNames[i])};
    bool any = false;
    for (const RunSet& set : report.sets) {
      const std::uint64_t count = verdicts_of(set)[i];
      any = any || count > 0;
      row.cells.push_back(text::with_commas(static_cast<std::int64_t>(count)));
    }
    if (any) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Promise> check_expectations(const Report& report) {
  std::vector<Promise> promises;
  const std::vector<std::string> names = labels(report);
  for (std::size_t i = 0; i < report.sets.size(); ++i) {
    for (const Expectation& expectation : report.sets[i].scenario.expect) {
      promises.push_back(check(report, report.sets[i], names[i], expectation));
    }
  }
  return promises;
}

std::string describe(const FaultSpec& fault) {
  std::string on = text::printable(fault.on);
  if (!fault.replicas.empty()) {
    on += fault.replicas.size() == 1 ? " replica " : " replicas ";
    for (std::size_t i = 0; i < fault.replicas.size(); ++i) {
      on += (i == 0 ? "" : ", ") + std::to_string(fault.replicas[i]);
    }
  }
  std::string text(fault.traits().sentence);
  const auto replace = [&text](std::string_view key, const std::string& value) {
    if (const auto at = text.find(key); at != std::string::npos) {
      text.replace(at, key.size(), value);
    }
  };
  replace("{share}", text::for_people(fault.amount * 100) + " %");
  replace("{times}", text::for_people(fault.amount) + " times");
  replace("{answer}", std::string(decide::name(fault.answer)));
  replace("{on}", on);  // Last: a name may contain any text.
  return text;
}

std::string describe_time(const FaultSpec& fault) {
  if (fault.requests > 0) {
    return "from " + format_duration(fault.at) + ", for " + text::with_commas(fault.requests) +
           " requests";
  }
  return format_duration(fault.at) + " to " + format_duration(fault.end());
}

std::string interruption(const Report& report) {
  if (!report.interrupted) {
    for (const RunSet& set : report.sets) {
      for (const Record& record : set.records) {
        if (!record.cut_short) continue;
        return "Cut short: too many requests were under way at once, and the rest of a run of " +
               record.title + " is missing.";
      }
    }
    return "";
  }
  std::size_t done = 0;
  for (const RunSet& set : report.sets) done += set.records.size();
  return "Interrupted: " + std::to_string(done) + " of " + std::to_string(report.asked_runs) +
         " runs are done.";
}

std::string hash_text(std::uint64_t hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4U) text[i] = kDigits[hash & 15U];
  return text;
}

}  // namespace damper::lab
