#pragma once

#include <string>
#include <vector>

#include "damper/base/text/chart_svg.h"
#include "damper/lab/report/report.h"

namespace damper::lab {

// A Panel is one quantity as a chart for each set of the report, all on the same axes.
//
// Model: charts are of each set's first run. Rates are per second. A point is the maximum of a
// group of buckets for queues, latency and the arrivals of at most 600 buckets, else the mean, of
// as many as make sixty points. Longer runs have a panel of their peaks.
struct Panel {
  struct Key {
    std::string ink;
    std::string name;
  };
  struct Figure {
    std::string label;  // of the set
    text::Chart chart;
  };

  std::string title;
  std::string note;       // one sentence
  std::vector<Key> keys;  // what the inks mean
  std::vector<Figure> figures;
};

inline constexpr std::size_t kMostChartedServices = 6;  // that have panels

// For each service arrivals, goodput against throughput, and the queue; for the first clients
// latency and budget; for the first controllers keys and, without clients, budget. A panel in which
// nothing ever happens is left out.
[[nodiscard]] std::vector<Panel> panels(const Report& report);

}  // namespace damper::lab
