#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/observe/exposition.h"
#include "damper/observe/labels.h"
#include "damper/observe/metric.h"

namespace damper::observe {

struct RegistryOptions {
  static constexpr Range<std::size_t> kMostSeries{1, 100'000};

  std::size_t most_series = 1000;  // of one family
};

// The first invalid field, with its value and bound; nothing when the options are valid.
[[nodiscard]] std::optional<std::string> find_error(const RegistryOptions& options);

// A Registry owns the metrics of a process and writes them for Prometheus.
//
// Why: a label with values from traffic (a host, a key) grows without bound in most client
// libraries, until the process is out of memory. Here a family has a limit.
// Model: a family is a name with a kind and a help text; a series is one set of labels in it. A
// second request for a series returns the same object. A series over the limit is not created: a
// counter or histogram is then the family's series whose labels all are "other", so that sums over
// the family stay right; a gauge, which cannot be summed with another, is one that is not shown.
// Each such request counts in damper_metrics_dropped_series_total{family}. Numbers that are kept
// elsewhere (a dependency's budget, breaker and histogram) are read at each scrape by a Collector
// instead of being counted twice.
// Invariants:
//   (1) A reference stays valid as long as the registry, and two requests for one series give one
//       object.
//   (2) A family has at most most_series series, and "other".
//   (3) When ~Collection() returns, its function is not running and never will again.
// Thread safety: all methods may be called concurrently; requests and scrapes take a lock, the
// metrics themselves do not. A Collector runs under the lock: it may not use the registry.
// Cost: a request is a lookup of the labels; keep the reference.
class Registry {
 public:
  using Collector = std::function<void(Exposition&)>;

  // Registers a Collector for as long as it lives.
  class [[nodiscard]] Collection {
   public:
    Collection() = default;
    Collection(Collection&& other) noexcept;
    Collection& operator=(Collection&& other) noexcept;
    ~Collection();

   private:
    friend class Registry;
    Collection(Registry* registry, std::list<Collector>::iterator place)
        : registry_(registry), place_(place) {}
    Registry* registry_ = nullptr;
    std::list<Collector>::iterator place_;
  };

  explicit Registry(const RegistryOptions& options = {});
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry();

  // REQUIRES, for each: valid names, at most kMostLabels labels, and for one name always the same
  // kind, help, bounds and names of labels.
  [[nodiscard]] Counter& counter(std::string_view name, std::string_view help,
                                 const Labels& labels = {});
  [[nodiscard]] Gauge& gauge(std::string_view name, std::string_view help,
                             const Labels& labels = {});
  [[nodiscard]] Histogram& histogram(std::string_view name, std::string_view help,
                                     const std::vector<double>& bounds, const Labels& labels = {});

  // The function is called at each scrape, and adds its samples. REQUIRES: the Collection does not
  // outlive the registry.
  Collection collect(Collector collector);

  // All metrics, in text format 0.0.4 (Content-Type: kExpositionType).
  [[nodiscard]] std::string expose() const;

 private:
  template <class Metric>
  struct Series {
    Labels labels;
    std::unique_ptr<Metric> metric;
  };
  template <class Metric>
  struct Family {
    std::string help;
    std::vector<double> bounds;
    std::string label_names;
    std::map<std::string, Series<Metric>> series;  // by rendered labels; "other" is one of them
    std::unique_ptr<Metric> hidden;                // where gauges over the limit go
  };
  template <class Metric>
  using Families = std::map<std::string, Family<Metric>, std::less<>>;

  template <class Metric, class Make>
  Metric& overflow(Family<Metric>& family, const Labels& labels, Make make);
  template <class Metric, class Make>
  Metric& find_or_make(Families<Metric>& families, std::string_view name, std::string_view help,
                       const std::vector<double>& bounds, const Labels& labels, Make make);

  const RegistryOptions options_;
  mutable std::mutex mutex_;
  Families<Counter> counters_;
  Families<Gauge> gauges_;
  Families<Histogram> histograms_;
  std::list<Collector> collectors_;
  mutable std::map<std::string, std::uint64_t> dropped_;  // by family
};

}  // namespace damper::observe
