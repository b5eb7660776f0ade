#include "damper/proxy/config/health_check_schema.h"

#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Schema;
namespace form = config::form;

}  // namespace

void add_health_check(Schema<ClusterConfig>& schema) {
  using Options = HealthCheckOptions;
  schema.key<DAMPER_FIELD(health_check->type)>(
      "health_checks.type", form::choice(kHealthCheckTypeNames),
      "http: a GET. grpc: grpc.health.v1.Health/Check over HTTP/2. tcp: a connection.");
  schema.key<DAMPER_FIELD(health_check->path)>("health_checks.path",
                                               form::parsed(read_target, kTargetForms),
                                               "Path of the GET, and its query.");
  schema.key<DAMPER_FIELD(health_check->host)>("health_checks.host",
                                               form::parsed(read_authority, kAuthorityForms),
                                               "Host of the probe. Default: the endpoint's.");
  schema.key<DAMPER_FIELD(health_check->expected_statuses)>(
      "health_checks.expected_statuses",
      form::parsed_list(read_status_range, kStatusForms, 1, kMostTexts), "Statuses that pass.");
  schema.key<DAMPER_FIELD(health_check->service)>("health_checks.service",
                                                  form::parsed(read_service, kServiceForms),
                                                  "gRPC service. Default: the server as a whole.");
  schema.key<DAMPER_FIELD(health_check->timeout)>(
      "health_checks.timeout", form::duration(Options::kTimeout),
      "Limit for connection, request and response together.");
  schema.key<DAMPER_FIELD(health_check->interval)>("health_checks.interval",
                                                   form::duration(Options::kInterval),
                                                   "Time from the end of a probe to the next one.");
  schema.key<DAMPER_FIELD(health_check->interval_jitter)>(
      "health_checks.interval_jitter", form::duration(Options::kJitter),
      "A random part of this is added to each interval.");
  schema.key<DAMPER_FIELD(health_check->unhealthy_interval)>(
      "health_checks.unhealthy_interval", form::duration(Options::kInterval),
      "Longest interval between probes of an unhealthy replica, to which it doubles.");
  schema.key<DAMPER_FIELD(health_check->unhealthy_threshold)>(
      "health_checks.unhealthy_threshold", form::integer(Options::kThreshold),
      "A replica is unhealthy after this number of consecutive failed probes.");
  schema.key<DAMPER_FIELD(health_check->healthy_threshold)>(
      "health_checks.healthy_threshold", form::integer(Options::kThreshold),
      "An unhealthy replica is healthy after this number of consecutive passed probes.");
  schema.key<DAMPER_FIELD(replicas.panic_threshold)>(
      "health_checks.panic_threshold", form::percent(balance::ReplicaOptions::kPanicThreshold),
      "Verdicts are ignored while less than this percentage of the replicas is healthy, and while "
      "none is.");
}

}  // namespace damper::proxy
