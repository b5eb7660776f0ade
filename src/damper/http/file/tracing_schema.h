#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/config/schema.h"
#include "damper/http/file/file_name.h"
#include "damper/http/trace/trace_exporter.h"

namespace damper::http {

// Of an OpenTelemetry collector, with a path or without.
inline constexpr std::string_view kCollectorForms = "a URL such as http://127.0.0.1:4318";
[[nodiscard]] Expected<std::string> read_collector(std::string_view text);
inline constexpr std::string_view kServiceNameForms = "1 to 256 printable ASCII characters";
[[nodiscard]] Expected<std::string> read_service_name(std::string_view text);

// The keys of the section `tracing`, for each file that has one.
// REQUIRES: T has a member std::optional<TraceExporterOptions> `tracing`; nothing: no tracing.
template <class T>
void add_tracing(config::Schema<T>& s) {
  using Options = TraceExporterOptions;
  namespace form = config::form;
  s.template key<DAMPER_FIELD(tracing->collector)>(
      "tracing.collector", form::parsed(read_collector, kCollectorForms),
      "OpenTelemetry collector that gets the spans, as OTLP over "
      "HTTP (protobuf). A URL without a path: /v1/traces.");
  s.template key<DAMPER_FIELD(tracing->ca_file)>(
      "tracing.ca_file", form::parsed(read_file_name, kFileForms),
      "Trusted CAs of an https collector, in PEM. Default: those of the system. The file is read "
      "when tracing begins or its configuration changes.");
  s.template key<DAMPER_FIELD(tracing->service_name)>(
      "tracing.service_name", form::parsed(read_service_name, kServiceNameForms),
      "service.name of the spans.");
  s.template key<DAMPER_FIELD(tracing->tracer.sampling)>(
      "tracing.sampling", form::percent(observe::TracerOptions::kSampling),
      "Share of the traces that are exported; the decision of a trusted caller comes first.");
  s.template key<DAMPER_FIELD(tracing->tracer.failures_per_second)>(
      "tracing.failures_per_second", form::integer(observe::TracerOptions::kFailures),
      "Failed requests that are exported although they are not sampled. 0: none.");
  s.template key<DAMPER_FIELD(tracing->timeout)>("tracing.timeout",
                                                 form::duration(Options::kTimeout),
                                                 "Limit of an export with all its attempts.");
  s.template key<DAMPER_FIELD(tracing->interval)>(
      "tracing.interval", form::duration(Options::kInterval), "Longest time between exports.");
  s.template key<DAMPER_FIELD(tracing->max_batch)>(
      "tracing.max_batch_size", form::integer(Options::kBatch), "Spans of one export.");
  s.template key<DAMPER_FIELD(tracing->queue)>(
      "tracing.max_queue_size", form::integer(Options::kQueue),
      "Spans that wait for their export, of all loops together; more are dropped and counted.");
  s.template optional_section<DAMPER_FIELD(tracing)>(
      "tracing", "Spans for each request and each attempt, exported to a collector.");
}

}  // namespace damper::http
