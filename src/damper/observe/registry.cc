#include "damper/observe/registry.h"

#include <iterator>
#include <type_traits>
#include <utility>

#include "damper/base/check.h"

namespace damper::observe {
namespace {

constexpr std::string_view kDropped = "damper_metrics_dropped_series_total";
constexpr std::string_view kDroppedHelp =
    "Series that were not made, or samples not shown, because their family is at its limit.";

Labels all_other(Labels labels) {
  for (auto& label : labels) label.second = "other";
  return labels;
}

std::string names_of(const Labels& labels) {
  Labels names = labels;
  for (auto& label : names) label.second.clear();
  return render(names);
}

}  // namespace

std::optional<std::string> find_error(const RegistryOptions& options) {
  return BoundsCheck().field("most_series", options.most_series, options.kMostSeries).error();
}

Registry::Registry(const RegistryOptions& options) : options_(options) {
  DAMPER_CHECK_VALID(find_error(options));
}

Registry::~Registry() { DAMPER_CHECK(collectors_.empty()); }

template <class Metric, class Make>
Metric& Registry::overflow(Family<Metric>& family, const Labels& labels, Make make) {
  if constexpr (std::is_same_v<Metric, Gauge>) {
    if (!family.hidden) family.hidden = make();
    return *family.hidden;
  } else {
    const Labels other = all_other(labels);
    Series<Metric>& series = family.series[render(other)];
    if (!series.metric) {
      series.labels = other;
      series.metric = make();
    }
    return *series.metric;
  }
}

template <class Metric, class Make>
Metric& Registry::find_or_make(Families<Metric>& families, std::string_view name,
                               std::string_view help, const std::vector<double>& bounds,
                               const Labels& labels, Make make) {
  DAMPER_CHECK(is_metric_name(name) && name != kDropped);
  const std::string rendered = render(labels);
  const std::lock_guard lock(mutex_);
  auto found = families.find(name);
  if (found == families.end()) {
    DAMPER_CHECK(!counters_.contains(name) && !gauges_.contains(name) &&
                 !histograms_.contains(name));
    found = families.emplace(name, Family<Metric>{}).first;
    found->second.help = help;
    found->second.bounds = bounds;
    found->second.label_names = names_of(labels);
  }
  Family<Metric>& family = found->second;
  DAMPER_CHECK(family.help == help && family.bounds == bounds);
  DAMPER_CHECK(family.label_names == names_of(labels));
  if (const auto series = family.series.find(rendered); series != family.series.end()) {
    return *series->second.metric;
  }
  if (family.series.size() >= options_.most_series) {
    ++dropped_[std::string(name)];
    return overflow(family, labels, make);
  }
  Series<Metric> made;
  made.labels = labels;
  made.metric = make();
  return *family.series.emplace(rendered, std::move(made)).first->second.metric;
}

Counter& Registry::counter(std::string_view name, std::string_view help, const Labels& labels) {
  return find_or_make(counters_, name, help, {}, labels,
                      [] { return std::make_unique<Counter>(); });
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  return find_or_make(gauges_, name, help, {}, labels, [] { return std::make_unique<Gauge>(); });
}

Histogram& Registry::histogram(std::string_view name, std::string_view help,
                               const std::vector<double>& bounds, const Labels& labels) {
  return find_or_make(histograms_, name, help, bounds, labels,
                      [&] { return std::make_unique<Histogram>(bounds); });
}

Registry::Collection Registry::collect(Collector collector) {
  const std::lock_guard lock(mutex_);
  collectors_.push_back(std::move(collector));
  return {this, std::prev(collectors_.end())};
}

std::string Registry::expose() const {
  const std::lock_guard lock(mutex_);
  Exposition out(options_.most_series + 1);  // And "other".
  const auto for_each = [](const auto& families, auto write) {
    for (const auto& [name, family] : families) {
      for (const auto& [rendered, series] : family.series) {
        write(name, family.help, series.labels, *series.metric);
      }
    }
  };
  for_each(counters_,
           [&](const auto& name, const auto& help, const auto& labels, const Counter& counter) {
             out.counter(name, help, labels, counter.value());
           });
  for_each(gauges_, [&](const auto& name, const auto& help, const auto& labels,
                        const Gauge& gauge) { out.gauge(name, help, labels, gauge.value()); });
  for_each(histograms_,
           [&](const auto& name, const auto& help, const auto& labels, const Histogram& histogram) {
             out.histogram(name, help, labels, histogram.value());
           });
  for (const Collector& collector : collectors_) collector(out);
  for (const auto& [name, count] : out.dropped()) dropped_[name] += count;
  for (const auto& [name, count] : dropped_) {
    out.counter(kDropped, kDroppedHelp, {{"family", name}}, count);
  }
  return out.text();
}

Registry::Collection::Collection(Collection&& other) noexcept
    : registry_(std::exchange(other.registry_, nullptr)), place_(other.place_) {}

Registry::Collection& Registry::Collection::operator=(Collection&& other) noexcept {
  std::swap(registry_, other.registry_);
  std::swap(place_, other.place_);
  return *this;
}

Registry::Collection::~Collection() {
  if (registry_ == nullptr) return;
  const std::lock_guard lock(registry_->mutex_);
  registry_->collectors_.erase(place_);
}

}  // namespace damper::observe
