#include "damper/policy/import/import_envoy_cluster.h"

#include <algorithm>

#include "damper/policy/import/import_terms.h"

namespace damper::policy {
namespace {

constexpr std::int64_t kMaxRetries = 3;
constexpr std::int64_t kMaxRequests = 1024;

void read_thresholds(const config::Tree& tree, Draft& draft, ImportNotes& notes) {
  Fields fields(tree, "thresholds", notes);
  fields.skip({"priority"});
  if (const config::Tree* budget = fields.take("retry_budget")) {
    Fields inner(*budget, "retry_budget", notes);
    set_retry_budget(draft, inner, "budget_percent", fields.place_of("retry_budget"), notes);
    fields.leave("max_retries", "Envoy itself follows retry_budget instead of it");
  } else {
    set_max_retries(draft, fields.integer("max_retries", kMaxRetries),
                    fields.place_of("max_retries"), notes);
  }
  set_max_requests(draft, fields.integer("max_requests", kMaxRequests));
  fields.leave("max_connections", "connections are the transport's");
  fields.leave("max_pending_requests", "a request over the limit is refused at once, not queued");
  fields.leave_rest();
}

// Of the thresholds for one priority the first counts; here there is one priority.
void read_circuit_breakers(const config::Tree& tree, Draft& draft, ImportNotes& notes) {
  Fields fields(tree, "circuit_breakers", notes);
  bool read = false;
  for (const config::Tree& thresholds : fields.list("thresholds")) {
    Fields inner(thresholds, "thresholds", notes);
    const std::string priority = inner.text("priority");
    const bool is_default = priority.empty() || priority == "DEFAULT" || priority == "0";
    if (is_default && !read) {
      read_thresholds(thresholds, draft, notes);
      read = true;
    } else {
      notes.note(thresholds.place,
                 is_default ? "Envoy uses the first thresholds of a priority: these are left out"
                            : "thresholds of another priority have no equivalent and are left out");
    }
  }
  fields.leave_rest();
}

// An enforcing_ field: a chance in percent, of which only none and all have an equivalent.
bool enforces(Fields& fields, std::string_view field, std::int64_t otherwise, ImportNotes& notes) {
  const Placed<std::int64_t> chance = fields.integer(field, otherwise);
  if (chance.value > 0 && chance.value < 100) {
    notes.note(chance.place, std::string(field) + " becomes 100: a breaker trips or does not");
  }
  return chance.value > 0;
}

void read_outliers(const config::Tree& tree, config::SourceLocation place, Draft& draft,
                   ImportNotes& notes) {
  Fields fields(tree, "outlier_detection", notes);
  Ejection ejection;
  const Placed<std::int64_t> any = fields.integer("consecutive_5xx", 5);
  const auto gateway = fields.integer("consecutive_gateway_failure");
  ejection.consecutive = any;
  if (!enforces(fields, "enforcing_consecutive_5xx", 100, notes)) ejection.consecutive.value = 0;
  const bool counts_gateway = enforces(fields, "enforcing_consecutive_gateway_failure", 0, notes);
  if (counts_gateway && gateway) {
    const bool sooner =
        ejection.consecutive.value == 0 || gateway->value < ejection.consecutive.value;
    if (sooner) ejection.consecutive = *gateway;
    notes.note(gateway->place,
               "consecutive_gateway_failure is joined with consecutive_5xx: failures in a row of "
               "any kind count, and the lower number holds");
  } else if (gateway) {
    notes.note(gateway->place,
               "consecutive_gateway_failure ejects nothing in Envoy unless "
               "enforcing_consecutive_gateway_failure is over 0; it is left out");
  }
  ejection.interval = fields.duration("interval", ejection.interval.value);
  ejection.base = fields.duration("base_ejection_time", ejection.base.value);
  ejection.most = fields.duration("max_ejection_time");
  const Placed<std::int64_t> percent = fields.integer("failure_percentage_threshold", 85);
  ejection.failure_volume = fields.integer("failure_percentage_request_volume", 50);
  if (enforces(fields, "enforcing_failure_percentage", 0, notes)) {
    ejection.failure_percent = percent;
  } else if (percent.place.line > 0) {
    notes.note(percent.place,
               "failure_percentage_threshold ejects nothing in Envoy unless "
               "enforcing_failure_percentage is over 0; it is left out");
  }
  set_ejection(draft, ejection, place, notes);
  fields.leave("max_ejection_percent", "there are no hosts here, only the dependency");
  fields.leave_rest();
}

}  // namespace

EnvoyCluster read_envoy_cluster(const config::Tree& tree, ImportNotes& notes) {
  Fields fields(tree, "the cluster", notes);
  EnvoyCluster cluster{.name = fields.text("name"), .draft = Draft(notes)};
  fields.skip({"@type"});
  if (const config::Tree* breakers = fields.take("circuit_breakers")) {
    read_circuit_breakers(*breakers, cluster.draft, notes);
  }
  if (const config::Tree* outliers = fields.take("outlier_detection")) {
    read_outliers(*outliers, fields.place_of("outlier_detection"), cluster.draft, notes);
  }
  if (!cluster.draft.has("concurrency_limit.initial")) {  // No thresholds.
    cluster.draft.add(default_envoy_cluster(tree.place, notes));
  }
  fields.leave("connect_timeout", "connecting is the transport's; per_try_timeout bounds both");
  fields.leave_rest();
  return cluster;
}

Draft default_envoy_cluster(config::SourceLocation where, ImportNotes& notes) {
  Draft draft(notes);
  set_max_retries(draft, {.value = kMaxRetries}, where, notes);
  set_max_requests(draft, {.value = kMaxRequests});
  return draft;
}

}  // namespace damper::policy
