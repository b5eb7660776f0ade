#include "damper/policy/import/import_istio_rule.h"

#include <utility>

#include "damper/policy/import/import_terms.h"

namespace damper::policy {
namespace {

constexpr std::string_view kConnections = "connections are the transport's";

void read_pool(const config::Tree& tree, IstioTraffic& traffic, ImportNotes& notes) {
  Draft& retries = traffic.retries.emplace(notes);
  Draft& requests = traffic.requests.emplace(notes);
  Fields fields(tree, "connectionPool", notes);
  if (const config::Tree* http = fields.take("http")) {
    Fields inner(*http, "connectionPool.http", notes);
    if (const auto most = inner.integer("max_retries")) {
      set_max_retries(retries, *most, most->place, notes);
    }
    if (const auto most = inner.integer("http2_max_requests")) set_max_requests(requests, *most);
    inner.leave("http1_max_pending_requests",
                "a request over the limit is refused at once, not queued");
    inner.leave("max_requests_per_connection", kConnections);
    inner.leave("idle_timeout", kConnections);
    inner.leave_rest();
  }
  if (const config::Tree* tcp = fields.take("tcp")) {
    Fields inner(*tcp, "connectionPool.tcp", notes);
    inner.leave("max_connections", kConnections);
    inner.leave("connect_timeout", "connecting is the transport's; per_try_timeout bounds both");
    inner.leave("tcp_keepalive", kConnections);
    inner.leave_rest();
  }
  fields.leave_rest();
}

Draft read_outliers(const config::Tree& tree, config::SourceLocation place, ImportNotes& notes) {
  Draft draft(notes);
  Fields fields(tree, "outlierDetection", notes);
  Ejection ejection;
  const auto old = fields.integer("consecutive_errors");
  ejection.consecutive = fields.integer("consecutive_5xx_errors", 5);
  if (old && ejection.consecutive.place.line == 0) ejection.consecutive = *old;
  const auto gateway = fields.integer("consecutive_gateway_errors", 0);
  if (gateway.value > 0) {
    const bool sooner =
        ejection.consecutive.value == 0 || gateway.value < ejection.consecutive.value;
    if (sooner) ejection.consecutive = gateway;
    notes.note(gateway.place,
               "consecutiveGatewayErrors is joined with consecutive5xxErrors: failures in a row "
               "of any kind count, and the lower number holds");
  }
  ejection.interval = fields.duration("interval", ejection.interval.value);
  ejection.base = fields.duration("base_ejection_time", ejection.base.value);
  set_ejection(draft, ejection, place, notes);
  constexpr std::string_view kHosts = "there are no hosts here, only the dependency";
  fields.leave("max_ejection_percent", kHosts);
  fields.leave("min_health_percent", kHosts);
  fields.leave_rest();
  return draft;
}

IstioTraffic read_traffic(const config::Tree& tree, ImportNotes& notes) {
  IstioTraffic traffic;
  Fields fields(tree, "trafficPolicy", notes);
  if (const config::Tree* pool = fields.take("connection_pool")) read_pool(*pool, traffic, notes);
  if (const config::Tree* budget = fields.take("retry_budget")) {
    Fields inner(*budget, "retryBudget", notes);
    set_retry_budget(traffic.budget.emplace(notes), inner, "percent",
                     fields.place_of("retry_budget"), notes);
  }
  if (const config::Tree* outliers = fields.take("outlier_detection")) {
    traffic.outliers = read_outliers(*outliers, fields.place_of("outlier_detection"), notes);
  }
  fields.leave("port_level_settings", "a dependency has one port here");
  fields.leave_rest();
  return traffic;
}

}  // namespace

Draft IstioRule::traffic_of(std::string_view subset, ImportNotes& notes) const {
  Draft draft(notes);
  const auto found = subsets.find(subset);
  const IstioTraffic nothing;
  const IstioTraffic& own = found == subsets.end() ? nothing : found->second;
  const auto part = [&](std::optional<Draft> IstioTraffic::*member) -> const std::optional<Draft>& {
    return own.*member ? own.*member : traffic.*member;
  };
  const auto& budget = part(&IstioTraffic::budget);
  const auto& retries = part(&IstioTraffic::retries);
  const auto& requests = part(&IstioTraffic::requests);
  const auto& outliers = part(&IstioTraffic::outliers);
  if (budget || retries) draft.add(budget ? *budget : *retries);
  if (requests) draft.add(*requests);
  if (outliers) draft.add(*outliers);
  return draft;
}

bool IstioRule::is_about(std::string_view full_host) const {
  if (host == full_host) return true;
  return host.starts_with('*') && full_host.ends_with(std::string_view(host).substr(1));
}

IstioRule read_istio_rule(const config::Tree& spec, std::string_view space, ImportNotes& notes) {
  IstioRule rule;
  rule.place = spec.place;
  Fields fields(spec, "the rule", notes);
  rule.host = full_host(fields.text("host"), space);
  if (const config::Tree* traffic = fields.take("traffic_policy")) {
    rule.traffic = read_traffic(*traffic, notes);
  }
  std::size_t subsets = 0;
  for (const config::Tree& tree : fields.list("subsets")) {
    Fields subset(tree, "the subset", notes);
    const std::string name = subset.text("name");
    subset.skip({"labels"});
    if (const config::Tree* traffic = subset.take("traffic_policy")) {
      if (++subsets > kMostRoutes) {
        notes.fail(tree.place, "a rule has at most " + std::to_string(kMostRoutes) + " subsets");
        break;
      }
      rule.subsets.emplace(name, read_traffic(*traffic, notes));
    }
    subset.leave_rest();
  }
  fields.leave_rest();
  return rule;
}

std::string full_host(std::string_view host, std::string_view space) {
  if (host.find('.') != std::string_view::npos || host.empty()) return std::string(host);
  return std::string(host) + '.' + std::string(space) + ".svc.cluster.local";
}

}  // namespace damper::policy
