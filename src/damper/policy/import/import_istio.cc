#include "damper/policy/import/importers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/policy/import/import_istio_rule.h"
#include "damper/policy/import/import_terms.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kIstio = "Istio";
constexpr std::string_view kRetryOn = "connect-failure,refused-stream,unavailable,cancelled";

class Importer {
 public:
  Importer(Drafts& drafts, ImportNotes& notes) : drafts_(drafts), notes_(notes) {}

  // Finds the rules first: services, which may come before them, need them.
  void read(std::span<const config::Tree> documents) {
    for (const config::Tree& document : documents) read_document(document, true);
    for (const config::Tree& document : documents) read_document(document, false);
    for (const IstioRule& rule : rules_) {
      if (rule.used) continue;
      Draft draft(notes_);
      set_timeout(draft, std::nullopt, rule.place, kIstio, notes_);
      set_default_retries(draft, rule.place);
      join(std::move(draft), rule.host, rule.place, &rule, "");
    }
  }

 private:
  struct Service {
    std::string name;
    std::string space;
  };

  void read_document(const config::Tree& document, bool rules) {
    if (document.kind == config::Tree::Kind::null) return;
    ImportNotes silent("");
    Fields fields(document, "the document", rules ? silent : notes_);
    const config::SourceLocation kind_place = fields.place_of("kind");
    const std::string kind = fields.text("kind");
    fields.skip({"api_version", "status"});
    Service service{.name = {}, .space = "default"};
    if (const config::Tree* metadata = fields.take("metadata")) {
      Fields inner(*metadata, "metadata", rules ? silent : notes_);
      service.name = inner.text("name");
      if (inner.has("namespace")) service.space = inner.text("namespace");
    }
    const config::Tree* spec = fields.take("spec");
    if (kind == "DestinationRule" && spec != nullptr && rules) {
      if (!drafts_.has_room(rules_.size(), document.place)) return;
      rules_.push_back(read_istio_rule(*spec, service.space, notes_));
    }
    if (rules) return;
    if (kind == "VirtualService" && spec != nullptr) read_service(*spec, service);
    if (kind != "VirtualService" && kind != "DestinationRule") {
      notes_.note(kind_place, "kind " + text::in_quotes(kind) +
                                  " is not read: only VirtualService and DestinationRule are");
      return;
    }
    fields.leave_rest();
  }

  void read_service(const config::Tree& tree, const Service& service) {
    Fields fields(tree, "the service", notes_);
    fields.skip({"hosts"});
    for (const config::Tree& route : fields.list("http")) read_route(route, service);
    fields.leave("tcp", "only HTTP calls are retried");
    fields.leave("tls", "only HTTP calls are retried");
    fields.leave_rest();
  }

  void read_route(const config::Tree& tree, const Service& service) {
    Fields fields(tree, "the route", notes_);
    std::string name = fields.text("name");
    const std::string path = path_of(fields.list("match"));
    if (name.empty()) name = service.name + path;
    const auto destinations = fields.list("route");
    Draft draft(notes_);
    if (!destinations.empty()) {
      set_timeout(draft, fields.duration("timeout"), fields.place_of("timeout"), kIstio, notes_);
      if (const config::Tree* retries = fields.take("retries")) {
        read_retries(*retries, draft);
      } else {
        set_default_retries(draft, tree.place);
      }
    }
    for (const std::string_view field : {"redirect", "direct_response", "delegate"}) {
      fields.leave(field, "no call is made here, so this route is left out");
    }
    fields.leave("fault", "faults are for damper lab, not for a policy");
    fields.leave_rest();
    if (destinations.empty()) return;
    read_destination(destinations, std::move(draft), name, tree.place, service);
  }

  // Which requests a route is for is not for a policy to say; the path makes a name.
  static std::string path_of(std::span<const config::Tree> matches) {
    ImportNotes silent("");
    if (matches.empty()) return {};
    Fields match(matches.front(), "match", silent);
    const config::Tree* uri = match.take("uri");
    if (uri == nullptr) return {};
    Fields inner(*uri, "uri", silent);
    return inner.text("prefix") + inner.text("exact");
  }

  void read_retries(const config::Tree& tree, Draft& draft) {
    Fields fields(tree, "retries", notes_);
    draft.set("retry_policy.num_retries", fields.integer("attempts", 0));
    if (const auto each = fields.duration("per_try_timeout")) {
      draft.set("retry_policy.per_try_timeout", *each);
    }
    if (const std::string words = fields.text("retry_on"); !words.empty()) {
      set_retry_on(draft, words, fields.take("retry_on")->place, {}, notes_);
    } else {
      set_default_words(draft);
    }
    if (const auto base = fields.duration("backoff")) {
      draft.set("retry_policy.retry_back_off.base_interval", *base);
      draft.set("retry_policy.retry_back_off.max_interval", std::min(10 * base->value, kLongest));
    } else {
      set_envoy_backoff(draft);
    }
    constexpr std::string_view kHosts = "another host is the load balancer's choice";
    fields.leave("retry_remote_localities", kHosts);
    fields.leave("retry_ignore_previous_hosts", kHosts);
    fields.leave_rest();
    note_idempotency(tree.place, kIstio, notes_);
  }

  // `cancelled` is Istio's default here, so that no note tells that it is not retried.
  static void set_default_words(Draft& draft) {
    ImportNotes silent("");
    set_retry_on(draft, kRetryOn, {}, {}, silent);
  }

  void set_default_retries(Draft& draft, config::SourceLocation place) {
    draft.set("retry_policy.num_retries", 2);
    set_default_words(draft);
    set_envoy_backoff(draft);
    notes_.note_once("retries", place,
                     "without retries Istio retries twice, on " + std::string(kRetryOn) +
                         " (before 1.24 on 503 as well)");
  }

  void read_destination(std::span<const config::Tree> destinations, Draft draft,
                        const std::string& name, config::SourceLocation place,
                        const Service& service) {
    std::string host;
    std::string subset;
    for (const config::Tree& tree : destinations) {
      Fields fields(tree, "the destination", notes_);
      const config::Tree* destination = fields.take("destination");
      const bool is_first = &tree == destinations.data();
      if (destination != nullptr) {
        Fields inner(*destination, "destination", notes_);
        const std::string each = full_host(inner.text("host"), service.space);
        const std::string part = inner.text("subset");
        inner.skip({"port"});
        inner.leave_rest();
        if (is_first) host = each;
        if (is_first) subset = part;
        if (IstioRule* rule = find_rule(each)) rule->used = true;
      }
      if (!is_first) {
        notes_.note(tree.place, "a route has one destination here: it has what its first says");
      }
      fields.skip({"weight"});
      fields.leave_rest();
    }
    join(std::move(draft), name, place, find_rule(host), subset);
  }

  // The first rule about the host.
  IstioRule* find_rule(std::string_view host) {
    const auto found = std::find_if(rules_.begin(), rules_.end(),
                                    [&](const IstioRule& rule) { return rule.is_about(host); });
    return found == rules_.end() ? nullptr : &*found;
  }

  void join(Draft draft, const std::string& name, config::SourceLocation place,
            const IstioRule* rule, std::string_view subset) {
    if (rule != nullptr) draft.add(rule->traffic_of(subset, notes_));
    if (!draft.has("retry_budget.min_retry_concurrency")) {
      set_no_budget(draft, place, "Istio without maxRetries or retryBudget", notes_);
    }
    drafts_.add(name, place, draft);
  }

  Drafts& drafts_;
  ImportNotes& notes_;
  std::vector<IstioRule> rules_;
};

}  // namespace

void import_istio(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes) {
  Importer(drafts, notes).read(documents);
}

}  // namespace damper::policy
