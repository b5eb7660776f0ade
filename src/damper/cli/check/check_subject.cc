#include "damper/cli/check/check_subject.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "damper/cli/check/check_proxy.h"
#include "damper/cli/check/check_webhooks.h"
#include "damper/cli/files.h"
#include "damper/config/yaml_tree.h"
#include "damper/lab/runs/facts_of.h"
#include "damper/lab/scenario/builtin.h"
#include "damper/lab/scenario/scenario_file.h"
#include "damper/policy/file/policy_file.h"
#include "damper/policy/lint/known_limits.h"
#include "damper/policy/lint/lint.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::cli {
namespace {

using config::Error;
using policy::Finding;

bool is_same(const Finding& a, const Finding& b) {
  return a.rule == b.rule && a.place == b.place && a.route == b.route && a.why == b.why;
}

// The limits of the policies, and of the controllers, which have no policy file.
std::vector<policy::KnownLimit> limits_of(const lab::Scenario& scenario) {
  std::vector<policy::KnownLimit> limits = policy::known_limits(scenario.policy.routes);
  for (const lab::ControllersSpec& group : scenario.controllers) {
    if (group.retries.backoff.jitter != schedule::Jitter::full) continue;
    limits.push_back(
        {policy::HarmReason::jitter, group.place, group.name, "retries.backoff.jitter"});
  }
  return limits;
}

// What the linter says of each variant, once; a route is named with its variant where there are
// several.
CheckSubject of_scenarios(std::string name, const std::vector<lab::Scenario>& scenarios) {
  CheckSubject subject{.name = std::move(name)};
  for (const lab::Scenario& scenario : scenarios) {
    std::vector<Finding> found = lint(lab::facts_of(scenario));
    for (const config::Note& note : scenario.policy.notes)
      found.push_back(policy::finding_of(note));
    for (Finding& finding : found) {
      if (!scenario.variant.empty()) finding.route = scenario.variant + '/' + finding.route;
      const auto same = [&](const Finding& other) { return is_same(finding, other); };
      if (std::none_of(subject.findings.begin(), subject.findings.end(), same)) {
        subject.findings.push_back(std::move(finding));
      }
    }
    for (policy::KnownLimit& limit : limits_of(scenario)) {
      if (!scenario.variant.empty()) limit.route = scenario.variant + '/' + limit.route;
      subject.limits.push_back(std::move(limit));
    }
    if (scenario.policy.routes.empty()) continue;
    if (!scenario.variant.empty()) subject.effective += "# " + scenario.title() + '\n';
    subject.effective += print(scenario.policy);
  }
  return subject;
}

Expected<CheckSubject, Error> of_other_system(std::string name, policy::From from,
                                              std::string_view text) {
  auto imported = policy::import_policy(from, text, name);
  if (!imported) return unexpected(imported.error());
  policy::PolicyFile& file = imported->file;
  file.notes = std::move(imported->notes);
  for (policy::Route& route : file.routes) {
    // They retry whatever the route matches; only Linkerd asks for a word on each route.
    route.settings.facts.emplace();
    route.settings.facts->assume_idempotent = from != policy::From::linkerd;
    route.settings.facts->ownership = false;
  }
  return CheckSubject{.name = std::move(name),
                      .findings = lint(file),
                      .limits = policy::known_limits(file.routes),
                      .effective = print(file)};
}

// The route's own settings are facts for the linter: its methods, and that they may be repeated.
void add_facts(const proxy::RouteConfig& config, policy::Route& route) {
  const std::vector<std::string>& methods = config.match.methods;
  if (methods.empty() != config.assume_idempotent) return;
  std::optional<policy::Facts>& facts = route.settings.facts;
  if (!facts) facts.emplace();
  facts->assume_idempotent = facts->assume_idempotent || config.assume_idempotent;
  if (facts->methods != 0) return;
  for (std::size_t i = 0; i < policy::kMethodNames.size(); ++i) {
    const bool is_sent =
        std::find(methods.begin(), methods.end(), policy::kMethodNames[i]) != methods.end();
    if (is_sent) facts->methods |= std::uint32_t{1} << i;
  }
}

Expected<CheckSubject, Error> of_proxy(std::string name, std::string_view text,
                                       const config::Tree& tree) {
  auto loaded = proxy::load_proxy_file(text, name);
  if (!loaded) return unexpected(loaded.error());
  policy::PolicyFile& policies = loaded->policies;
  for (std::size_t i = 0; i < policies.routes.size(); ++i) {
    add_facts(loaded->config.routes[i], policies.routes[i]);
  }
  policies.notes = loaded->config.notes;
  std::vector<Finding> findings = lint(policies);
  std::ranges::move(lint_proxy(loaded->config, tree), std::back_inserter(findings));
  std::ranges::stable_sort(findings, {}, [](const Finding& one) {
    return std::tuple(one.place.line, one.place.column);
  });
  return CheckSubject{.name = std::move(name),
                      .findings = std::move(findings),
                      .limits = policy::known_limits(policies.routes),
                      .effective = print_proxy(loaded->config)};
}

Expected<CheckSubject, Error> of_webhooks(std::string name, const config::Tree& tree) {
  const auto options = load_webhooks_file(tree, name);
  if (!options) return unexpected(options.error());
  return CheckSubject{.name = std::move(name),
                      .findings = lint_webhooks(*options, tree),
                      .effective = webhooks::serve_schema().print(*options, 0)};
}

}  // namespace

Expected<CheckSubject, Error> load_subject(const std::string& given,
                                           std::optional<policy::From> from,
                                           const text::Stdio& streams) {
  std::error_code ignored;
  if (!from && lab::find_builtin(given) != nullptr && !std::filesystem::exists(given, ignored)) {
    auto scenarios = lab::load_builtin(given);
    if (!scenarios) return unexpected(scenarios.error());
    return of_scenarios(given, *scenarios);
  }
  std::string name = input_name(given);
  const auto text = read_input(given, streams);
  if (!text) return unexpected(text.error());
  if (from) return of_other_system(std::move(name), *from, *text);
  const auto tree = config::parse_yaml(*text, name);
  if (tree && tree->find("scenario") != nullptr) {
    auto scenarios = lab::load_scenario(*text, name);
    if (!scenarios) return unexpected(scenarios.error());
    return of_scenarios(std::move(name), *scenarios);
  }
  if (tree && proxy::is_proxy_file(*tree)) return of_proxy(std::move(name), *text, *tree);
  if (tree && is_webhooks_file(*tree)) return of_webhooks(std::move(name), *tree);
  auto file = policy::load(*text, name);
  if (!file) return unexpected(file.error());
  return CheckSubject{.name = std::move(name),
                      .findings = lint(*file),
                      .limits = policy::known_limits(file->routes),
                      .effective = print(*file)};
}

}  // namespace damper::cli
