#include "damper/policy/import/importers.h"

#include <algorithm>
#include <string>

#include "damper/base/text/words.h"
#include "damper/policy/import/import_terms.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

// Of a responseClass: from the first status to the last, whether they are failures.
struct StatusRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool is_failure = false;
};

class Importer {
 public:
  Importer(Drafts& drafts, ImportNotes& notes) : drafts_(drafts), notes_(notes) {}

  void read_document(const config::Tree& document) {
    if (document.kind == config::Tree::Kind::null) return;
    Fields fields(document, "the document", notes_);
    const config::SourceLocation kind_place = fields.place_of("kind");
    const std::string kind = fields.text("kind");
    if (kind != "ServiceProfile") {
      notes_.note(kind_place,
                  "kind " + text::in_quotes(kind) + " is not read: only ServiceProfile is");
      return;
    }
    fields.skip({"api_version", "status"});
    std::string service;
    if (const config::Tree* metadata = fields.take("metadata")) {
      Fields inner(*metadata, "metadata", notes_);
      service = inner.text("name");
      service = service.substr(0, service.find('.'));
    }
    if (const config::Tree* spec = fields.take("spec")) read_spec(*spec, service);
    fields.leave_rest();
  }

 private:
  void read_spec(const config::Tree& tree, const std::string& service) {
    Fields fields(tree, "spec", notes_);
    Draft budget(notes_);
    const config::Tree* retry_budget = fields.take("retry_budget");
    read_budget(retry_budget == nullptr ? nothing_ : *retry_budget, fields.place_of("retry_budget"),
                budget);
    const auto routes = fields.list("routes");
    for (const config::Tree& route : routes) read_route(route, service, budget);
    if (routes.empty()) {
      Draft draft = budget;
      draft.set("retry_policy.num_retries", 0);
      set_timeout(draft, std::nullopt, tree.place, "Linkerd", notes_);
      drafts_.add(service, tree.place, draft);
    }
    fields.leave_rest();
  }

  void read_budget(const config::Tree& tree, config::SourceLocation place, Draft& budget) {
    Fields fields(tree, "retryBudget", notes_);
    const Placed<std::int64_t> floor = fields.integer("min_retries_per_second", 10);
    budget.set_ratio("retry_budget.budget_percent", fields.number("retry_ratio", 0.2));
    budget.set("retry_budget.min_retries_per_second", floor);
    budget.set("retry_budget.window", fields.duration("ttl", 10s));
    budget.set("retry_budget.reserve", 0);
    fields.leave_rest();
    if (floor.value == 0) return;
    notes_.note(floor.place.line > 0 ? floor.place : place,
                "minRetriesPerSecond lets every proxy retry " + std::to_string(floor.value) +
                    " times a second whatever happens: a fleet of quiet clients retries everything "
                    "(trap B8); 0 and a reserve are safer");
  }

  void read_route(const config::Tree& tree, const std::string& service, const Draft& budget) {
    Fields fields(tree, "the route", notes_);
    Draft draft(notes_);
    const std::string name = fields.text("name");
    fields.skip({"condition"});
    set_timeout(draft, fields.duration("timeout"), fields.place_of("timeout"), "Linkerd", notes_);
    const auto retryable = fields.boolean("is_retryable").value_or(Placed<bool>{});
    const bool is_retryable = retryable.value;
    const config::SourceLocation retry_place = retryable.place;
    if (is_retryable) {
      draft.set("retry_policy.num_retries", 99, retry_place);
      draft.set("retry_policy.retry_back_off.base_interval", 1ms);
      draft.set("retry_policy.retry_back_off.max_interval", 1ms);
      notes_.note_once("retryable", retry_place,
                       "Linkerd retries at once, and as often as its budget allows: num_retries "
                       "becomes 99 and the wait at most 1ms, the nearest; a few retries with a "
                       "longer wait are kinder");
      notes_.note_once("idempotency", retry_place,
                       "isRetryable is the word that every request of the route is idempotent; "
                       "here the caller, or the method, has to say it");
    } else {
      draft.set("retry_policy.num_retries", 0, retry_place);
    }
    read_classes(fields, is_retryable, draft);
    fields.leave_rest();
    draft.add(budget);
    drafts_.add(service.empty() ? name : service + ':' + name, tree.place, draft);
  }

  // A failure is an answer of 500 to 599, unless the first class that knows the status says
  // otherwise.
  void read_classes(Fields& fields, bool is_retryable, Draft& draft) {
    const config::SourceLocation place = fields.place_of("response_classes");
    std::vector<StatusRange> ranges;
    for (const config::Tree& tree : fields.list("response_classes")) read_class(tree, ranges);
    if (!is_retryable) return;
    const std::string words = "5xx,internal,unavailable";
    if (ranges.empty()) return set_retry_on(draft, words, {}, {}, notes_);
    RetryOn::Statuses statuses;
    for (std::int64_t status = 400; status < 600; ++status) {
      const auto first = std::find_if(ranges.begin(), ranges.end(), [&](const StatusRange& range) {
        return status >= range.first && status <= range.last;
      });
      const bool fails = first == ranges.end() ? status >= 500 : first->is_failure;
      statuses.set(static_cast<std::size_t>(status), fails);
    }
    set_retry_on(draft, "retriable-status-codes,internal,unavailable", place, {}, notes_);
    draft.set_statuses(statuses, place);
    for (int status = 400; status < 600; ++status) {
      const std::string_view why = refusal_of_status(status);
      if (why.empty() || status == 501 || !statuses[static_cast<std::size_t>(status)]) continue;
      notes_.note(place, "status " + std::to_string(status) + ": " + std::string(why));
    }
  }

  void read_class(const config::Tree& tree, std::vector<StatusRange>& ranges) {
    Fields fields(tree, "the response class", notes_);
    StatusRange range{.is_failure = fields.is_true("is_failure")};
    const config::Tree* condition = fields.take("condition");
    fields.leave_rest();
    Fields inner(condition == nullptr ? nothing_ : *condition, "condition", notes_);
    const config::Tree* status = inner.take("status");
    if (status == nullptr || inner.has("all") || inner.has("any") || inner.has("not")) {
      notes_.note(tree.place,
                  "a response class has an equivalent only when its condition is a status with min "
                  "and max; it is left out");
      return;
    }
    Fields bounds(*status, "status", notes_);
    range.first = bounds.integer("min", 0).value;
    range.last = bounds.integer("max", 599).value;
    bounds.leave_rest();
    inner.leave_rest();
    ranges.push_back(range);
  }

  const config::Tree nothing_{};
  Drafts& drafts_;
  ImportNotes& notes_;
};

}  // namespace

void import_linkerd(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes) {
  Importer importer(drafts, notes);
  for (const config::Tree& document : documents) importer.read_document(document);
}

}  // namespace damper::policy
