#include "damper/policy/import/import_envoy_terms.h"

#include <algorithm>
#include <string>

#include "damper/policy/import/import_terms.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kEnvoyName = "Envoy";
constexpr std::int64_t kMaxRetries = 3;
constexpr std::int64_t kMaxRequests = 1024;

void read_thresholds(const config::Tree& tree, Draft& draft, ImportNotes& notes,
                     const std::function<void(Fields&)>& transport) {
  Fields fields(tree, "thresholds", notes);
  fields.skip({"priority"});
  if (transport) transport(fields);
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

}  // namespace

void read_envoy_retry_policy(const config::Tree& tree, Draft& draft, ImportNotes& notes) {
  Fields fields(tree, "retry_policy", notes);
  const config::SourceLocation words_place = fields.place_of("retry_on");
  const std::string words = fields.text("retry_on");
  if (words.empty()) {
    notes.note(tree.place, "retry_policy has no retry_on: Envoy retries nothing, nor does this");
  }
  set_retry_on(draft, words, words_place, fields.list("retriable_status_codes"), notes);
  const auto retries = fields.integer("num_retries", 1);
  if (retries.place.line == 0) {
    notes.note_once("num_retries", tree.place, "without num_retries Envoy retries once");
  }
  draft.set("retry_policy.num_retries", retries);
  if (const auto each = fields.duration("per_try_timeout")) {
    draft.set("retry_policy.per_try_timeout", *each);
  }
  if (const config::Tree* back_off = fields.take("retry_back_off")) {
    Fields inner(*back_off, "retry_back_off", notes);
    const auto base = inner.duration("base_interval", 25ms);
    draft.set("retry_policy.retry_back_off.base_interval", base);
    draft.set("retry_policy.retry_back_off.max_interval",
              inner.duration("max_interval", std::min(10 * base.value, kLongest)));
    inner.leave_rest();
  } else {
    notes.note_once("retry_back_off", tree.place,
                    "without retry_back_off Envoy waits up to 25ms, doubled to at most 250ms");
    set_envoy_backoff(draft);
  }
  constexpr std::string_view kHosts = "another host is the load balancer's choice";
  fields.leave("retry_host_predicate", kHosts);
  fields.leave("retry_priority", kHosts);
  fields.leave("host_selection_retry_max_attempts", kHosts);
  fields.leave("rate_limited_retry_back_off",
               "the server's Retry-After is always followed, and never cut short");
  fields.leave("per_try_idle_timeout", "an attempt has one timeout, per_try_timeout");
  fields.leave_rest();
  note_idempotency(tree.place, kEnvoyName, notes);
}

// Whether a hedge is sent at the per-try timeout, and the location of that field.
std::optional<config::SourceLocation> read_envoy_hedge_policy(const config::Tree& tree,
                                                              ImportNotes& notes) {
  Fields fields(tree, "hedge_policy", notes);
  const auto on = fields.boolean("hedge_on_per_try_timeout");
  const auto initial = fields.integer("initial_requests", 1);
  if (initial.value != 1) {
    notes.note(initial.place,
               "initial_requests has no equivalent but 1, and Envoy sends no more either");
  }
  fields.leave("additional_request_chance", "Envoy does not act on it either");
  fields.leave_rest();
  return on && on->value ? std::optional(on->place) : std::nullopt;
}

// Envoy leaves the slow attempt running and sends another one beside it.
void hedge_at_timeout(Draft& draft, config::SourceLocation place, ImportNotes& notes) {
  const auto each = draft.raw("retry_policy.per_try_timeout");
  const auto retries = draft.raw("retry_policy.num_retries").value_or(0);
  if (!each || *each == 0 || retries == 0) {
    notes.note(place,
               "hedge_on_per_try_timeout needs a per_try_timeout and retries; without "
               "them nothing is hedged, as in Envoy");
    return;
  }
  const config::SourceLocation where = draft.place_of("retry_policy.per_try_timeout");
  set_hedge(draft, std::min<std::int64_t>(retries, 3), {Duration{*each}, where});
  draft.set("retry_policy.per_try_timeout", 0, where);
  notes.note(place,
             "hedge_on_per_try_timeout becomes hedges after that time, or after half of the "
             "answers are in when that is later; per_try_timeout itself is off");
}

// Of the thresholds for one priority the first counts; here there is one priority.
void read_envoy_circuit_breakers(const config::Tree& tree, Draft& draft, ImportNotes& notes,
                                 const std::function<void(Fields&)>& transport) {
  Fields fields(tree, "circuit_breakers", notes);
  bool read = false;
  for (const config::Tree& thresholds : fields.list("thresholds")) {
    Fields inner(thresholds, "thresholds", notes);
    const std::string priority = inner.text("priority");
    const bool is_default = priority.empty() || priority == "DEFAULT" || priority == "0";
    if (is_default && !read) {
      read_thresholds(thresholds, draft, notes, transport);
      read = true;
    } else {
      notes.left_out(thresholds.place,
                     is_default
                         ? "Envoy uses the first thresholds of a priority: these are left out"
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

// A cluster that is not in the file. `where` is a route to it.
Draft default_envoy_cluster(config::SourceLocation where, ImportNotes& notes) {
  Draft draft(notes);
  set_max_retries(draft, {.value = kMaxRetries}, where, notes);
  set_max_requests(draft, {.value = kMaxRequests});
  return draft;
}

}  // namespace damper::policy
