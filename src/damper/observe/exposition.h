#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "damper/observe/labels.h"
#include "damper/observe/metric.h"

namespace damper::observe {

// The value of the Content-Type header of the text.
inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

// An Exposition is one scrape: it collects samples in any order and writes them in Prometheus' text
// format 0.0.4.
//
// Why: the format requires all samples of a family together under one HELP and TYPE, and no series
// twice, while the sources of the samples (the dependencies of a process) are independent.
// Invariants:
//   (1) The text depends on the samples alone: families by name, series by labels.
//   (2) A series appears once: the first sample stands, a second one is dropped and counted.
//   (3) A family has at most `most_series` series; those over it are dropped and counted.
// Thread safety: none; it lives for one scrape.
class Exposition {
 public:
  explicit Exposition(std::size_t most_series) : most_series_(most_series) {}

  // REQUIRES, for each: the name is a metric's name, and always has the same kind and help.
  template <class T>
    requires std::is_arithmetic_v<T>
  void counter(std::string_view name, std::string_view help, const Labels& labels, T value) {
    add(name, "counter", help, labels, rendered(value));
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void gauge(std::string_view name, std::string_view help, const Labels& labels, T value) {
    add(name, "gauge", help, labels, rendered(value));
  }
  void histogram(std::string_view name, std::string_view help, const Labels& labels,
                 const HistogramValue& value);

  // Samples that were dropped, by family.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& dropped() const { return dropped_; }

  [[nodiscard]] std::string text() const;

 private:
  struct Family {
    std::string_view kind;
    std::string help;
    std::map<std::string, std::string> series;  // The lines of each, by its rendered labels.
  };

  template <class T>
  static std::string rendered(T value) {
    if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);  // Exact, also over 2^53.
    } else {
      return render(static_cast<double>(value));
    }
  }

  // The place for a new series' lines; null when it is dropped.
  [[nodiscard]] std::string* open(std::string_view name, std::string_view kind,
                                  std::string_view help, const std::string& labels);
  void add(std::string_view name, std::string_view kind, std::string_view help,
           const Labels& labels, const std::string& value);

  std::size_t most_series_;
  std::map<std::string, Family, std::less<>> families_;
  std::map<std::string, std::uint64_t> dropped_;
};

}  // namespace damper::observe
