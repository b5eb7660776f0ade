#include <algorithm>
#include <array>

#include "damper/base/text/words.h"
#include "damper/policy/import/import_envoy_terms.h"
#include "damper/proxy/import/field_table.h"
#include "damper/proxy/import/import_cluster.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;
using policy::Placed;
using namespace std::chrono_literals;

constexpr std::array<FieldRow, 5> kCheckRows = {{
    {"timeout", "health_checks.timeout", As::duration},
    {"interval", "health_checks.interval", As::duration},
    {"interval_jitter", "health_checks.interval_jitter", As::duration},
    {"unhealthy_threshold", "health_checks.unhealthy_threshold", As::integer},
    {"healthy_threshold", "health_checks.healthy_threshold", As::integer},
}};
constexpr std::array<FieldRow, 2> kHttpCheckRows = {{
    {"host", "health_checks.host", As::text},
    {"path", "health_checks.path", As::text},
}};
constexpr std::array<FieldRow, 2> kGrpcCheckRows = {{
    {"service_name", "health_checks.service", As::text},
    {"authority", "health_checks.host", As::text},
}};

// {start: 200, end: 300}, whose end is not in the range, as 200-299.
void read_statuses(Fields& fields, PartDraft& draft, ImportNotes& notes) {
  const config::SourceLocation place = fields.place_of("expected_statuses");
  std::vector<std::string> statuses;
  for (const Tree& range : fields.list("expected_statuses")) {
    Fields inner(range, "expected_statuses", notes);
    const auto start = inner.integer("start", 0);
    const auto end = inner.integer("end", 0);
    inner.leave_rest();
    const std::string first = std::to_string(start.value);
    statuses.push_back(end.value <= start.value + 1 ? first
                                                    : first + '-' + std::to_string(end.value - 1));
  }
  if (!statuses.empty()) draft.set("health_checks.expected_statuses", make_list(statuses, place));
}

void read_check(const Tree& tree, PartDraft& draft, ImportNotes& notes) {
  Fields fields(tree, "the health check", notes);
  if (const Tree* http = fields.take("http_health_check")) {
    draft.set("health_checks.type", "http", http->place);
    Fields inner(*http, "http_health_check", notes);
    take_rows(inner, kHttpCheckRows, draft, notes);
    read_statuses(inner, draft, notes);
    const std::string codec = inner.text("codec_client_type");
    if (codec == "HTTP2") {
      notes.left_out(inner.place_of("codec_client_type"),
                     "codec_client_type has no equivalent: the check has the cluster's protocol");
    }
    inner.leave_rest();
  } else if (const Tree* grpc = fields.take("grpc_health_check")) {
    draft.set("health_checks.type", "grpc", grpc->place);
    Fields inner(*grpc, "grpc_health_check", notes);
    take_rows(inner, kGrpcCheckRows, draft, notes);
    inner.leave_rest();
  } else if (const Tree* tcp = fields.take("tcp_health_check")) {
    draft.set("health_checks.type", "tcp", tcp->place);
    Fields inner(*tcp, "tcp_health_check", notes);
    inner.leave("send", "a check of TCP connects and sends nothing");
    inner.leave("receive", "a check of TCP connects and reads nothing");
    inner.leave_rest();
  } else {
    notes.left_out(tree.place, "a health check that is not of http, grpc or tcp is left out");
    return;
  }
  take_rows(fields, kCheckRows, draft, notes);
  // Envoy adds no jitter and probes an unhealthy host as often as a healthy one.
  draft.set("health_checks.interval_jitter", Placed<Duration>{.value = 0s, .place = {}});
  const auto unhealthy = fields.duration("unhealthy_interval");
  if (unhealthy) {
    draft.set("health_checks.unhealthy_interval", *unhealthy);
  } else if (draft.has("health_checks.interval")) {
    draft.set("health_checks.unhealthy_interval", draft.raw("health_checks.interval"));
  }
  fields.leave_rest();
}

}  // namespace

void read_health_checks(Fields& cluster, PartDraft& draft, ImportNotes& notes) {
  bool is_first = true;
  for (const Tree& check : cluster.list("health_checks")) {
    if (is_first) {
      read_check(check, draft, notes);
    } else {
      notes.left_out(check.place, "a cluster has one health check: this one is left out");
    }
    is_first = false;
  }
}

void read_outlier_detection(Fields& cluster, PartDraft& draft, ImportNotes& notes) {
  const config::SourceLocation place = cluster.place_of("outlier_detection");
  const Tree* tree = cluster.take("outlier_detection");
  constexpr std::int64_t kNever = 1'000'000;
  draft.set("outlier_detection.latency_factor", 0);
  if (tree == nullptr) {
    notes.note_once("outliers", place,
                    "without outlier_detection Envoy ejects nothing: consecutive_5xx and "
                    "latency_factor become off; without these lines failing and slow replicas are "
                    "ejected");
    draft.set("outlier_detection.consecutive_5xx", 0);
    draft.set("outlier_detection.failure_percentage_request_volume", kNever);
    return;
  }
  Fields fields(*tree, "outlier_detection", notes);
  Placed<std::int64_t> consecutive = fields.integer("consecutive_5xx", 5);
  if (!policy::enforces(fields, "enforcing_consecutive_5xx", 100, notes)) consecutive.value = 0;
  const auto gateway = fields.integer("consecutive_gateway_failure");
  const bool counts_gateway =
      policy::enforces(fields, "enforcing_consecutive_gateway_failure", 0, notes);
  if (gateway && !counts_gateway) {
    notes.note(gateway->place,
               "consecutive_gateway_failure ejects nothing in Envoy unless "
               "enforcing_consecutive_gateway_failure is over 0; it is left out");
  } else if (gateway) {
    if (consecutive.value == 0 || gateway->value < consecutive.value) consecutive = *gateway;
    notes.note(gateway->place,
               "consecutive_gateway_failure is joined with consecutive_5xx: the lower number "
               "counts");
  }
  draft.set("outlier_detection.consecutive_5xx", consecutive);
  const auto percent = fields.integer("failure_percentage_threshold", 85);
  const auto volume = fields.integer("failure_percentage_request_volume", 50);
  if (policy::enforces(fields, "enforcing_failure_percentage", 0, notes)) {
    draft.set("outlier_detection.failure_percentage_threshold",
              std::min<std::int64_t>(percent.value, 100) * 100, percent.place);
    draft.set("outlier_detection.failure_percentage_request_volume", volume);
  } else {
    draft.set("outlier_detection.failure_percentage_request_volume", kNever);
  }
  draft.set("outlier_detection.interval", fields.duration("interval", 10s));
  const auto base = fields.duration("base_ejection_time", 30s);
  draft.set("outlier_detection.base_ejection_time", base);
  auto most = fields.duration("max_ejection_time", std::max<Duration>(300s, base.value));
  most.value = std::max(most.value, base.value);
  draft.set("outlier_detection.max_ejection_time", most);
  fields.leave("max_ejection_percent", "here it bounds ejections for latency alone");
  fields.leave_rest();
}

}  // namespace damper::proxy
