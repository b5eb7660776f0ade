#include "damper/proxy/config/tracing_schema.h"

#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Schema;
namespace form = config::form;

}  // namespace

void add_tracing(Schema<ProxyConfig>& s) {
  using Options = http::TraceExporterOptions;
  s.key<DAMPER_FIELD(tracing->collector)>(
      "tracing.collector", form::parsed(read_collector, kCollectorForms),
      "OpenTelemetry collector that gets the spans, as OTLP over "
      "HTTP (protobuf). A URL without a path: /v1/traces.");
  s.key<DAMPER_FIELD(tracing->ca_file)>(
      "tracing.ca_file", form::parsed(read_file_name, kFileForms),
      "Trusted CAs of an https collector, in PEM. Default: those of the system. The file is read "
      "when tracing begins or its configuration changes.");
  s.key<DAMPER_FIELD(tracing->service_name)>("tracing.service_name",
                                             form::parsed(read_service_name, kServiceNameForms),
                                             "service.name of the spans.");
  s.key<DAMPER_FIELD(tracing->tracer.sampling)>(
      "tracing.sampling", form::percent(observe::TracerOptions::kSampling),
      "Share of the traces that are exported; the decision of a trusted caller comes first.");
  s.key<DAMPER_FIELD(tracing->tracer.failures_per_second)>(
      "tracing.failures_per_second", form::integer(observe::TracerOptions::kFailures),
      "Failed requests that are exported although they are not sampled. 0: none.");
  s.key<DAMPER_FIELD(tracing->timeout)>("tracing.timeout", form::duration(Options::kTimeout),
                                        "Limit of an export with all its attempts.");
  s.key<DAMPER_FIELD(tracing->interval)>("tracing.interval", form::duration(Options::kInterval),
                                         "Longest time between exports.");
  s.key<DAMPER_FIELD(tracing->max_batch)>("tracing.max_batch_size", form::integer(Options::kBatch),
                                          "Spans of one export.");
  s.key<DAMPER_FIELD(tracing->queue)>(
      "tracing.max_queue_size", form::integer(Options::kQueue),
      "Spans that wait for their export, of all loops together; more are dropped and counted.");
  s.optional_section<DAMPER_FIELD(tracing)>(
      "tracing", "Spans for each request and each attempt, exported to a collector.");
  s.alias("tracing.random_sampling", "tracing.sampling");
}

}  // namespace damper::proxy
