#include "damper/lab/report/report.h"

#include <cmath>
#include <ostream>

#include "damper/base/text/json_writer.h"
#include "damper/lab/report/map_report.h"
#include "damper/lab/report/report_series.h"

namespace damper::lab {
namespace {

using text::JsonWriter;

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

void write_proportion(JsonWriter& json, std::string_view key, const Proportion& proportion,
                      double z = Proportion::kZ) {
  const Interval interval = proportion.interval(z);
  json.open('{', key);
  json.field("runs", proportion.n);
  json.field("collapsed", proportion.k);
  json.field("probability", proportion.share());
  json.field("low", interval.low);
  json.field("high", interval.high);
  json.close('}');
}

// What a report and a map have in common.
template <class Result>
void open_result(JsonWriter& json, const char* kind, const Result& result) {
  json.open('{');
  json.field("kind", kind);
  json.field("title", result.title);
  json.field("about", result.about);
  json.field("command", result.command);
  json.field("version", result.version);
  json.field("interrupted", result.interrupted);
}

template <typename Tick>
void write_series(JsonWriter& json, const std::vector<Tick>& ticks,
                  std::span<const TickSeries<Tick>> all) {
  json.open('{', "series");
  for (const TickSeries<Tick>& series : all) {
    json.open('[', series.name);
    for (const Tick& tick : ticks) json.element(series.of(tick));
    json.close(']');
  }
  json.close('}');
}

void write_latency(JsonWriter& json, std::string_view name, const LatencySketch& latency) {
  json.open('{', name);
  for (const LatencySeries& series : latency_series()) {
    json.field(series.name, latency_of(latency, series));
  }
  json.close('}');
}

// The counts of a group or a service, by name.
template <class Group>
struct Count {
  std::string_view name;
  std::uint64_t Group::*member;
};
constexpr auto kClientsCounts = std::to_array<Count<ClientsRecord>>({
    {"requests", &ClientsRecord::requests},
    {"attempts", &ClientsRecord::attempts},
    {"succeeded", &ClientsRecord::succeeded},
    {"failed", &ClientsRecord::failed},
    {"unfinished", &ClientsRecord::unfinished},
    {"requests_in_fault", &ClientsRecord::requests_in_fault},
    {"attempts_in_fault", &ClientsRecord::attempts_in_fault},
});
constexpr auto kControllersCounts = std::to_array<Count<ControllersRecord>>({
    {"events", &ControllersRecord::events},
    {"runs", &ControllersRecord::runs},
    {"retries", &ControllersRecord::retries},
    {"succeeded", &ControllersRecord::succeeded},
    {"failed", &ControllersRecord::failed},
    {"events_in_fault", &ControllersRecord::events_in_fault},
    {"runs_in_fault", &ControllersRecord::runs_in_fault},
});
constexpr auto kServiceCounts = std::to_array<Count<ServiceRecord>>({
    {"first_tries", &ServiceRecord::first_tries},
    {"attempts", &ServiceRecord::attempts},
    {"hedges", &ServiceRecord::hedges},
    {"served", &ServiceRecord::served},
    {"good", &ServiceRecord::good},
    {"refused", &ServiceRecord::refused},
});

template <class Group>
void open_group(JsonWriter& json, const Group& group, std::span<const Count<Group>> counts) {
  json.open('{');
  json.field("name", group.name);
  for (const Count<Group>& count : counts) json.field(count.name, group.*count.member);
}

void write_clients(JsonWriter& json, const ClientsRecord& clients) {
  open_group<ClientsRecord>(json, clients, kClientsCounts);
  write_latency(json, "latency", clients.latency);
  write_series(json, clients.ticks, clients_series());
  json.open('{', "latency_series");
  for (const LatencySeries& series : latency_series()) {
    json.open('[', series.name);
    for (const LatencySketch& tick : clients.latency_ticks) json.element(latency_of(tick, series));
    json.close(']');
  }
  json.close('}');
  json.close('}');
}

void write_controllers(JsonWriter& json, const ControllersRecord& controllers) {
  open_group<ControllersRecord>(json, controllers, kControllersCounts);
  write_latency(json, "queued", controllers.queued);
  write_latency(json, "settled", controllers.settled);
  write_series(json, controllers.ticks, controllers_series());
  json.close('}');
}

void write_service(JsonWriter& json, const ServiceRecord& service) {
  open_group<ServiceRecord>(json, service, kServiceCounts);
  write_series(json, service.ticks, service_series());
  json.close('}');
}

void write_run(JsonWriter& json, const Record& record) {
  json.open('{');
  json.field("seed", record.seed);
  json.field("trace_hash", hash_text(record.trace_hash));
  json.field("events", record.events);
  json.field("last_end_seconds", seconds(record.last_end));
  json.field("bucket_seconds", seconds(record.bucket));
  json.field("latency_bucket_seconds", seconds(record.latency_bucket));
  json.open('[', "clients");
  for (const ClientsRecord& clients : record.clients) write_clients(json, clients);
  json.close(']');
  if (!record.controllers.empty()) {
    json.open('[', "controllers");
    for (const ControllersRecord& all : record.controllers) write_controllers(json, all);
    json.close(']');
  }
  json.open('[', "services");
  for (const ServiceRecord& service : record.services) write_service(json, service);
  json.close(']');
  json.close('}');
}

void write_fault(JsonWriter& json, const FaultSpec& fault) {
  json.open('{');
  json.field("kind", kFaultNames[fault.kind]);
  json.field("on", fault.on);
  json.field("at_seconds", seconds(fault.at));
  json.field("length_seconds", seconds(fault.length));
  json.field("requests", fault.requests);
  json.field("amount", fault.amount);
  json.close('}');
}

void write_measures(JsonWriter& json, const RunSet& set) {
  json.open('{', "measures");
  for (const Measure& measure : measures()) {
    const Estimate of_all = estimate(measure, set);
    json.open('{', measure.name);
    json.field("unit", measure.unit);
    json.field("runs", summarize(measure, set).n());
    json.field("mean", of_all.value);
    json.field("low", of_all.interval.low);
    json.field("high", of_all.interval.high);
    json.open('[', "values");
    for (const Record& record : set.records) json.element(measure.of(set.scenario, record));
    json.close(']');
    json.close('}');
  }
  json.close('}');
}

void write_verdicts(JsonWriter& json, const RunSet& set) {
  const auto verdicts = verdicts_of(set);
  json.open('{', "verdicts");
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i] > 0) json.field(kVerdictNames[i], verdicts[i]);
  }
  json.close('}');
}

void write_set(JsonWriter& json, const RunSet& set, const std::string& label) {
  json.open('{');
  json.field("label", label);
  json.field("scenario", set.scenario.name);
  json.field("variant", set.scenario.variant);
  json.field("policy", set.records.empty() ? "" : set.records.front().policy);
  json.open('[', "faults");
  for (const FaultSpec& fault : set.scenario.faults) write_fault(json, fault);
  json.close(']');
  write_measures(json, set);
  write_proportion(json, "collapsed", collapsed_runs(set));
  write_verdicts(json, set);
  json.open('[', "runs");
  for (const Record& record : set.records) write_run(json, record);
  json.close(']');
  json.close('}');
}

double known(double number) { return number > 0 ? number : std::nan(""); }

void write_list(JsonWriter& json, std::string_view key, const std::vector<double>& values) {
  json.open('[', key);
  for (const double value : values) json.element(value);
  json.close(']');
}

void write_end(JsonWriter& json, std::string_view name, const std::optional<BorderEnd>& end) {
  if (!end) return json.field(name, std::nan(""));
  json.open('{', name);
  json.field("load", end->load);
  json.field("next_load", end->next.value_or(std::nan("")));
  write_proportion(json, "collapsed", end->collapsed, kLooksZ);
  json.close('}');
}

void write_border(JsonWriter& json, const MapResult& map) {
  if (!map.sure) return;
  json.open('{', "border");
  json.field("trigger", map.sure->trigger);
  json.field("runs", map.sure->runs);
  json.field("cut_short", map.sure->cut_short);
  write_end(json, "safe", map.sure->safe);
  write_end(json, "sure", map.sure->sure);
  json.close('}');
}

}  // namespace

void print_json(std::ostream& out, const Report& report) {
  JsonWriter json(out);
  open_result(json, "report", report);
  json.field("asked_runs", report.asked_runs);
  json.open('[', "promises");
  for (const Promise& promise : check_expectations(report)) {
    json.open('{');
    json.field("sentence", promise.sentence);
    json.field("held", promise.held);
    json.field("checked", promise.checked);
    json.close('}');
  }
  json.close(']');
  json.open('[', "sets");
  const std::vector<std::string> names = labels(report);
  for (std::size_t i = 0; i < names.size(); ++i) write_set(json, report.sets[i], names[i]);
  json.close(']');
  json.close('}');
  out << '\n';
}

void print_map_json(std::ostream& out, const MapResult& map) {
  JsonWriter json(out);
  open_result(json, "map", map);
  json.field("load_unit", map.load_unit);
  json.field("trigger_unit", map.trigger_unit);
  json.field("trigger_name", map.trigger_name);
  json.field("trigger_scale", map.trigger_scale);
  write_list(json, "loads", map.loads);
  write_list(json, "triggers", map.triggers);
  json.field("capacity", known(map.capacity));
  json.field("hidden_capacity", known(map.hidden_capacity));
  json.field("capacity_at_most", known(map.capacity_at_most));
  json.field("capacity_doubt", map.capacity_doubt);
  json.open('[', "borders");
  for (const Border& border : map.borders) {
    json.open('{');
    json.field("trigger", border.trigger);
    json.field("none_collapsed_up_to", border.calm.value_or(std::nan("")));
    json.field("most_collapsed_from", border.metastable.value_or(std::nan("")));
    json.close('}');
  }
  json.close(']');
  write_border(json, map);
  json.open('[', "cells");
  for (std::size_t trigger = 0; trigger < map.triggers.size(); ++trigger) {
    for (std::size_t load = 0; load < map.loads.size(); ++load) {
      const MapCell cell = map.cell(trigger, load);
      json.open('{');
      json.field("load", cell.load);
      json.field("trigger", cell.trigger);
      json.field("region", name(region_of(map, trigger, load)));
      write_proportion(json, "collapsed", cell.collapsed);
      json.close('}');
    }
  }
  json.close(']');
  json.close('}');
  out << '\n';
}

}  // namespace damper::lab
