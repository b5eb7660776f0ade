#include "damper/lab/report/report.h"

#include <cmath>
#include <ostream>

#include "damper/base/text/plain_text.h"
#include "damper/lab/report/map_report.h"
#include "damper/lab/report/report_series.h"

namespace damper::lab {
namespace {

constexpr const char* kHeader = "set,seed,kind,name,series,time_seconds,value\n";

std::string time_text(Duration bucket, std::size_t i) {
  const Duration at = bucket * static_cast<std::int64_t>(i);
  return text::for_programs(static_cast<double>(at.count()) / 1e9, "");
}

template <typename Tick>
void print_series(std::ostream& out, const std::string& start, const std::vector<Tick>& ticks,
                  Duration bucket, std::span<const TickSeries<Tick>> all) {
  for (const TickSeries<Tick>& series : all) {
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      out << start << series.name << ',' << time_text(bucket, i) << ','
          << text::for_programs(series.of(ticks[i]), "") << '\n';
    }
  }
}

void print_clients(std::ostream& out, const std::string& run, const ClientsRecord& clients,
                   const Record& record) {
  const std::string name = text::csv_field(clients.name) + ',';
  for (std::size_t i = 0; i < clients.verdicts.size(); ++i) {
    if (clients.verdicts[i] == 0) continue;
    out << run << "verdict," << name << kVerdictNames[i] << ",," << clients.verdicts[i] << '\n';
  }
  const std::string start = run + "clients," + name;
  print_series(out, start, clients.ticks, record.bucket, clients_series());
  for (const LatencySeries& series : latency_series()) {
    for (std::size_t i = 0; i < clients.latency_ticks.size(); ++i) {
      out << start << series.name << ',' << time_text(record.latency_bucket, i) << ','
          << text::for_programs(latency_of(clients.latency_ticks[i], series), "") << '\n';
    }
  }
}

}  // namespace

void print_csv(std::ostream& out, const Report& report) {
  out << kHeader;
  const std::vector<std::string> names = labels(report);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const RunSet& set = report.sets[i];
    for (const Record& record : set.records) {
      const std::string run = text::csv_field(names[i]) + ',' + std::to_string(record.seed) + ',';
      for (const Measure& measure : measures()) {
        out << run << "measure,," << measure.name << ",,"
            << text::for_programs(measure.of(set.scenario, record), "") << '\n';
      }
      for (const ClientsRecord& clients : record.clients) {
        print_clients(out, run, clients, record);
      }
      for (const ControllersRecord& controllers : record.controllers) {
        print_series(out, run + "controllers," + text::csv_field(controllers.name) + ',',
                     controllers.ticks, record.bucket, controllers_series());
      }
      for (const ServiceRecord& service : record.services) {
        print_series(out, run + "service," + text::csv_field(service.name) + ',', service.ticks,
                     record.bucket, service_series());
      }
    }
  }
}

void print_map_csv(std::ostream& out, const MapResult& map) {
  out << "load,trigger,region,runs,collapsed,probability,low,high\n";
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      const MapCell cell = map.cell(trigger, load);
      const Interval interval = cell.collapsed.interval();
      out << text::for_programs(cell.load, "") << ',' << text::for_programs(cell.trigger, "") << ','
          << name(region_of(map, trigger, load)) << ',' << cell.collapsed.n << ','
          << cell.collapsed.k << ','
          << text::for_programs(cell.collapsed.n == 0 ? std::nan("") : cell.collapsed.share(), "")
          << ',' << text::for_programs(interval.low, "") << ','
          << text::for_programs(interval.high, "") << '\n';
    }
  }
}

}  // namespace damper::lab
