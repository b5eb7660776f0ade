#include "damper/lab/report/report_panels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "damper/base/duration_text.h"
#include "damper/base/text/chart_text.h"
#include "damper/base/text/plain_text.h"
#include "damper/lab/report/report_series.h"

namespace damper::lab {
namespace {

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

double good(const ServiceTick& tick) { return std::min(tick.good, tick.served); }
double unwanted(const ServiceTick& tick) { return tick.served - std::min(tick.good, tick.served); }
double waiting(const ControllersTick& tick) {
  return tick.waiting - std::min(tick.failing, tick.waiting);
}

using enum text::Shape;
using enum text::Reduction;

// How a series is drawn from the ticks.
template <typename Tick>
struct Drawn {
  const char* name;
  const char* ink;
  text::Shape shape;
  text::Reduction reduction;
  double (*of)(const Tick& tick);
};

constexpr auto kArrivals = std::to_array<Drawn<ServiceTick>>({
    {"first tries", "first", area, greatest, field<&ServiceTick::first_tries>},
    {"retries", "retry", area, greatest, field<&ServiceTick::retries>},
    {"hedges", "hedge", area, greatest, field<&ServiceTick::hedges>},
});
constexpr auto kServed = std::to_array<Drawn<ServiceTick>>({
    {"goodput: served and still wanted", "good", area, mean, good},
    {"served, but wanted no more", "unwanted", area, mean, unwanted},
    {"offered: first tries", "offered", line, mean, field<&ServiceTick::first_tries>},
});
constexpr auto kQueue = std::to_array<Drawn<ServiceTick>>({
    {"queued", "queued", area, greatest, field<&ServiceTick::queued>},
    {"in work", "working", line, greatest, field<&ServiceTick::working>},
    {"concurrency limit", "limit", line, greatest, field<&ServiceTick::limit>},
});
constexpr auto kBudget = std::to_array<Drawn<ClientsTick>>({
    {"retries that would be granted", "budget", area, mean, field<&ClientsTick::budget>},
});

constexpr auto kKeys = std::to_array<Drawn<ControllersTick>>({
    {"failed, and wait for a retry", "retry", area, greatest, field<&ControllersTick::failing>},
    {"others that wait, the broken ones included", "queued", area, greatest, waiting},
    {"parked", "limit", line, greatest, field<&ControllersTick::parked>},
});
constexpr auto kControllersBudget = std::to_array<Drawn<ControllersTick>>({
    {"retries that would be granted", "budget", area, mean, field<&ControllersTick::budget>},
});

// Few points: means of synchronised arrivals would oscillate.
constexpr std::size_t kMostMeans = 60;
// Rates of more buckets than these are drawn as means, and their peaks apart.
constexpr std::size_t kMostTicks = 2 * text::kMostPoints;

std::vector<double> points_of(const std::vector<double>& values, text::Reduction reduction) {
  return text::reduced(values, reduction == mean ? kMostMeans : text::kMostPoints, reduction);
}

bool is_drawn(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return value > 0; });
}

text::Chart empty_chart(const RunSet& set) {
  text::Chart chart;
  chart.seconds = std::max(seconds(set.records.front().length), 1e-3);
  for (const FaultSpec& fault : set.scenario.faults) {
    chart.shaded.push_back({seconds(fault.at), seconds(fault.end())});
  }
  return chart;
}

template <typename Tick>
text::Chart chart_of(const RunSet& set, const std::vector<Tick>& ticks,
                     std::span<const Drawn<Tick>> drawn, bool rate) {
  const Duration bucket = set.records.front().bucket;
  const double scale = rate && bucket > Duration{0} ? 1 / seconds(bucket) : 1;
  text::Chart chart = empty_chart(set);
  for (const Drawn<Tick>& each : drawn) {
    // Peaks of 100 ms are meaningless in a run of an hour.
    const bool peaks = each.reduction == greatest && !(rate && ticks.size() > kMostTicks);
    std::vector<double> values = points_of(values_of(ticks, each.of), peaks ? greatest : mean);
    for (double& value : values) value *= scale;
    if (is_drawn(values)) {
      chart.series.push_back({each.name, each.ink, each.shape, std::move(values)});
    }
  }
  return chart;
}

double greatest_of(const text::Chart& chart) {
  double most = 0;
  std::vector<double> stack;
  for (const text::ChartSeries& series : chart.series) {
    if (series.shape == area) {
      stack.resize(std::max(stack.size(), series.values.size()), 0);
    }
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (std::isnan(series.values[i])) continue;
      if (series.shape == area) stack[i] += series.values[i];
      most = std::max({most, series.values[i], series.shape == area ? stack[i] : 0});
    }
  }
  return most;
}

// "Arrivals at api, naive: first tries up to 20/s, retries up to 40/s over 10 s"
std::string spoken(const Panel& panel, const Panel::Figure& figure) {
  std::string text = panel.title + ", " + figure.label + ':';
  const char* separator = " ";
  for (const text::ChartSeries& series : figure.chart.series) {
    const double most = text::reduced(series.values, 1, greatest).front();
    text += separator + series.name + " up to " + text::for_people(most) + figure.chart.unit;
    separator = ", ";
  }
  if (figure.chart.series.empty()) text += " nothing";
  return text + " over " + text::for_people(figure.chart.seconds) + " s";
}

// The keys of what is drawn in any of the figures, in the order of `inks`.
void add_keys(Panel& panel, std::span<const char* const> inks) {
  for (const char* const ink : inks) {
    for (const Panel::Figure& figure : panel.figures) {
      const auto found = std::ranges::find(figure.chart.series, ink, &text::ChartSeries::ink);
      if (found == figure.chart.series.end()) continue;
      panel.keys.push_back({found->ink, found->name});
      break;
    }
  }
}

// The same axis for all.
void set_top(Panel& panel) {
  double most = 0;
  for (const Panel::Figure& figure : panel.figures) {
    most = std::max(most, greatest_of(figure.chart));
  }
  for (Panel::Figure& figure : panel.figures) figure.chart.top = text::round_up(most);
}

// The same axis, on which a budget that is never short does not flatten one that is: the top is at
// most four times the smallest budget's greatest.
void set_budget_top(Panel& panel) {
  double least = std::numeric_limits<double>::infinity();
  for (const Panel::Figure& figure : panel.figures) {
    const double most = greatest_of(figure.chart);
    if (most > 0) least = std::min(least, most);
  }
  for (Panel::Figure& figure : panel.figures) {
    figure.chart.top = std::min(figure.chart.top, text::round_up(4 * least));
  }
}

template <typename Tick>
std::vector<const char*> inks_of(std::span<const Drawn<Tick>> drawn) {
  std::vector<const char*> inks;
  for (const Drawn<Tick>& each : drawn) inks.push_back(each.ink);
  return inks;
}

const ServiceRecord* find_service(const Record& record, std::string_view name) {
  const auto found = std::ranges::find(record.services, name, &ServiceRecord::name);
  return found == record.services.end() ? nullptr : &*found;
}

// A figure for each set whose first record has a chart.
template <typename ChartOf>
Panel panel_of(const Report& report, ChartOf chart_of_set) {
  Panel panel;
  const std::vector<std::string> names = labels(report);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const RunSet& set = report.sets[i];
    if (set.records.empty()) continue;
    std::optional<text::Chart> chart = chart_of_set(set, set.records.front());
    if (chart) panel.figures.push_back({names[i], std::move(*chart)});
  }
  return panel;
}

// The same for the ticks that ticks_of(record) finds; null: none.
template <typename Tick, typename TicksOf>
Panel ticks_panel(const Report& report, std::span<const Drawn<Tick>> drawn, bool rate,
                  TicksOf ticks_of) {
  Panel panel =
      panel_of(report, [&](const RunSet& set, const Record& record) -> std::optional<text::Chart> {
        const std::vector<Tick>* const ticks = ticks_of(record);
        if (ticks == nullptr) return std::nullopt;
        return chart_of(set, *ticks, drawn, rate);
      });
  set_top(panel);
  add_keys(panel, inks_of(drawn));
  return panel;
}

Panel service_panel(const Report& report, const std::string& service,
                    std::span<const Drawn<ServiceTick>> drawn, bool rate) {
  return ticks_panel(report, drawn, rate, [&service](const Record& record) {
    const ServiceRecord* const found = find_service(record, service);
    return found == nullptr ? nullptr : &found->ticks;
  });
}

std::vector<std::string> charted_services(const Report& report) {
  std::vector<std::string> names;
  for (const RunSet& set : report.sets) {
    if (set.records.empty()) continue;
    for (const ServiceRecord& service : set.records.front().services) {
      if (names.size() < kMostChartedServices &&
          std::ranges::find(names, service.name) == names.end()) {
        names.push_back(service.name);
      }
    }
  }
  return names;
}

// The bucket of a run whose length makes its rates means.
std::optional<Duration> long_bucket(const Report& report) {
  for (const RunSet& set : report.sets) {
    if (set.records.empty()) continue;
    const Record& record = set.records.front();
    if (!record.services.empty() && record.services.front().ticks.size() > kMostTicks) {
      return record.bucket;
    }
  }
  return std::nullopt;
}

// Both ends are powers of ten, at least one apart.
void set_decades(Panel& panel) {
  double least = 1e9;
  double most = 0;
  for (const Panel::Figure& figure : panel.figures) {
    for (const text::ChartSeries& series : figure.chart.series) {
      for (const double value : series.values) {
        if (value > 0) least = std::min(least, value);
        if (value > 0) most = std::max(most, value);
      }
    }
  }
  double bottom = 1e-3;  // A microsecond.
  while (bottom * 10 <= least && bottom < 1e6) bottom *= 10;
  double top = bottom * 10;
  while (top < most && top < 1e9) top *= 10;
  for (Panel::Figure& figure : panel.figures) {
    figure.chart.bottom = bottom;
    figure.chart.top = top;
  }
}

Panel latency_panel(const Report& report) {
  constexpr std::array<const char*, 3> kNames = {"p50", "p99", "p99.9"};
  constexpr std::array<const char*, 3> kInks = {"low", "high", "highest"};
  Panel panel =
      panel_of(report, [&](const RunSet& set, const Record& record) -> std::optional<text::Chart> {
        if (record.clients.empty()) return std::nullopt;
        text::Chart chart = empty_chart(set);
        for (std::size_t j = kNames.size(); j-- > 0;) {  // The highest is drawn first.
          std::vector<double> values;
          for (const LatencySketch& sketch : record.clients.front().latency_ticks) {
            values.push_back(latency_of(sketch, latency_series()[j]));
          }
          values = text::reduced(values, kMostMeans, greatest);
          if (!is_drawn(values)) continue;
          chart.series.push_back({kNames[j], kInks[j], line, std::move(values)});
        }
        return chart;
      });
  set_decades(panel);
  add_keys(panel, kInks);
  return panel;
}

// A panel of the first clients, or the first controllers, of each set.
template <typename Tick, typename Group>
Panel group_panel(const Report& report, std::vector<Group> Record::*groups,
                  std::span<const Drawn<Tick>> drawn) {
  return ticks_panel(report, drawn, false, [groups](const Record& record) {
    return (record.*groups).empty() ? nullptr : &(record.*groups).front().ticks;
  });
}

Panel budget_panel(const Report& report) {
  const std::span<const Drawn<ClientsTick>> of_clients = kBudget;
  const std::span<const Drawn<ControllersTick>> of_controllers = kControllersBudget;
  Panel panel = group_panel(report, &Record::clients, of_clients);
  if (panel.figures.empty()) panel = group_panel(report, &Record::controllers, of_controllers);
  set_budget_top(panel);
  return panel;
}

Panel keys_panel(const Report& report) {
  const std::span<const Drawn<ControllersTick>> drawn = kKeys;
  return group_panel(report, &Record::controllers, drawn);
}

}  // namespace

std::vector<Panel> panels(const Report& report) {
  std::vector<Panel> all;
  const auto add = [&](Panel panel, std::string title, std::string note, const char* unit) {
    panel.title = std::move(title);
    panel.note = std::move(note);
    for (Panel::Figure& figure : panel.figures) {
      figure.chart.unit = unit;
      figure.chart.title = spoken(panel, figure);
    }
    if (!panel.keys.empty()) all.push_back(std::move(panel));
  };
  const std::vector<std::string> services = charted_services(report);
  const auto bucket = long_bucket(report);
  for (const std::string& service : services) {
    add(service_panel(report, service, kArrivals, true), "Arrivals at " + service,
        "Attempts that reached the service, first tries and retries apart.", "/s");
    if (!bucket) continue;
    add(service_panel(report, service, kArrivals, false), "Peaks at " + service,
        "The same: the most that arrived in " + format_duration(*bucket) + '.', "");
  }
  for (const std::string& service : services) {
    add(service_panel(report, service, kServed, true), "Goodput against throughput of " + service,
        "What it worked on to the end, and how much of that was still wanted.", "/s");
  }
  add(latency_panel(report), "Latency", "Of requests that succeeded, by when they ended.", " ms");
  for (const std::string& service : services) {
    add(service_panel(report, service, kQueue, false), "Queue of " + service,
        "Requests that waited, and those in work.", "");
  }
  add(keys_panel(report), "Keys of controllers",
      "Of the first controllers, all together: keys that wait for a worker or for their time.", "");
  add(budget_panel(report), "Retry budget",
      "Retries that a process could still afford, on average; what is over the top is cut off.",
      "");
  return all;
}

}  // namespace damper::lab
