#include "damper/lab/published/published_study.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/text/plain_text.h"
#include "damper/lab/scenario/builtin.h"

namespace damper::lab {

Estimator mean_of(std::size_t i) {
  return [i](std::span<const Sample> samples) {
    Summary summary;
    for (const Sample& sample : samples) summary.add(sample.values.at(i));
    return Estimate{summary.mean(), summary.interval()};
  };
}

Estimator share_of(std::size_t k, std::size_t n, double scale) {
  return [=](std::span<const Sample> samples) {
    Proportion all;
    for (const Sample& sample : samples) {
      all.k += static_cast<std::int64_t>(sample.values.at(k));
      all.n += static_cast<std::int64_t>(sample.values.at(n));
    }
    const Interval interval = all.interval();
    return Estimate{scale * all.share(), {scale * interval.low, scale * interval.high}};
  };
}

Estimator quantile_of(Percent share) {
  return [share](std::span<const Sample> samples) {
    LatencySketch all;
    for (const Sample& sample : samples) all.merge(sample.latency);
    if (all.count() == 0) return Estimate{};
    const auto bounds_at = [&all](double ratio) {
      const double hundredths = std::clamp(ratio, 0.0, 1.0) * Percent::kDenominator;
      return *all.quantile_bounds(
          Percent::from_hundredths(static_cast<std::int32_t>(std::lround(hundredths))));
    };
    const auto ms = [](Duration time) { return static_cast<double>(time.count()) / 1e6; };
    // The rank of the quantile has a binomial distribution.
    const double q = share.ratio();
    const double count = std::max(1.0, static_cast<double>(all.count()));
    const double reach = 1.96 * std::sqrt(q * (1 - q) / count);
    return Estimate{ms(*all.quantile(share)),
                    {ms(bounds_at(q - reach).low), ms(bounds_at(q + reach).high)}};
  };
}

Study study_of(Scenario scenario, std::size_t runs, Sampler sampler, std::vector<StudyRow> rows,
               std::string_view detail, bool latency_over_time) {
  DAMPER_CHECK(!find_error(scenario));
  Study study{.rows = std::move(rows),
              .of = scenario.title() + std::string(detail),
              .runs = runs,
              .run = {}};
  study.run = [scenario = std::move(scenario), sampler = std::move(sampler),
               latency_over_time](PlayOptions options) {
    options.latency_over_time = latency_over_time;
    const Record record = play(scenario, options);
    Sample sample = sampler(scenario, record);
    sample.whole = !record.cut_short;
    return sample;
  };
  return study;
}

std::vector<Study> joined(std::vector<std::vector<Study>> parts) {
  std::vector<Study> all;
  for (std::vector<Study>& part : parts) std::ranges::move(part, std::back_inserter(all));
  return all;
}

Scenario builtin_variant(std::string_view name, std::string_view variant) {
  const auto scenarios = load_builtin(name);
  DAMPER_CHECK(static_cast<bool>(scenarios));
  const auto found = std::find_if(scenarios->begin(), scenarios->end(),
                                  [&](const Scenario& each) { return each.variant == variant; });
  DAMPER_CHECK(found != scenarios->end());
  return *found;
}

engine::Policy& policy_of(Scenario& scenario, std::string_view service) {
  auto& routes = scenario.policy.routes;
  auto found = std::find_if(routes.begin(), routes.end(),
                            [&](const policy::Route& each) { return each.name == service; });
  if (found == routes.end() && routes.size() == 1) found = routes.begin();
  DAMPER_CHECK(found != routes.end());
  return found->settings.policy;
}

PublishedRow within_percent(PublishedRow row, double percent) {
  row.low = row.theirs * (1 - percent / 100);
  row.high = row.theirs * (1 + percent / 100);
  row.tolerance = "± " + text::for_people(percent) + " %";
  return row;
}

PublishedRow within_amount(PublishedRow row, double amount) {
  row.low = row.theirs - amount;
  row.high = row.theirs + amount;
  row.tolerance = "± " + text::for_programs(amount, "-");
  if (row.unit == "%") row.tolerance += amount == 1 ? " point" : " points";
  return row;
}

PublishedRow between_bounds(PublishedRow row, double low, double high) {
  row.low = low;
  row.high = high;
  row.tolerance = text::for_programs(low, "-") + " to " + text::for_programs(high, "-");
  return row;
}

std::vector<Study> all_studies() {
  return joined(
      {backoff_studies(), collapse_studies(), queue_studies(), retry_studies(), tail_studies()});
}

}  // namespace damper::lab
