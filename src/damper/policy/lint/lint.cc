#include "damper/policy/lint/lint.h"

#include <algorithm>
#include <tuple>

#include "damper/policy/lint/lint_rules.h"

namespace damper::policy {
namespace {

// In the order of the enumeration: the worst first.
constexpr std::array<RuleText, kRuleNames.size()> kTexts = {{
    {Severity::error, "The file is not a policy file.",
     "It is not applied; the policy before it, or the default, stays in force."},
    {Severity::error, "The load is not under the capacity.",
     "The queue grows whatever the policy does."},
    {Severity::error, "The load is not under the hidden capacity, capacity / worst amplification.",
     "A short trigger is enough: the retries that it causes keep the dependency overloaded after "
     "it has gone."},
    {Severity::error, "A method that is not idempotent is retried whatever happened.",
     "What the first attempt did is done twice: two orders, two payments."},
    {Severity::error, "An attempt is given up before half of the healthy ones have answered.",
     "Most of the work is thrown away and asked for again."},
    {Severity::warning, "The retry budget never refuses.",
     "In an outage every request becomes as many attempts as the cap allows, when the dependency "
     "can carry least."},
    {Severity::warning, "Retries are granted at a rate that does not depend on the requests.",
     "Each client has the floor for itself; a fleet of quiet ones together retries everything."},
    {Severity::warning, "One request can become 1.5 attempts or more.",
     "The dependency must have that much room above its load, or the retries become the outage."},
    {Severity::warning, "Layers above each other retry, each on its own.",
     "Attempts multiply: three layers of three attempts are 27."},
    {Severity::warning, "A layer works on for longer than the one above waits.",
     "Its caller has timed out, and the response is discarded."},
    {Severity::warning, "Retries wait without jitter.",
     "Calls that failed together are retried together."},
    {Severity::warning,
     "Requests are retried whatever their method, and the methods are not known.",
     "A POST among them is done twice."},
    {Severity::warning, "Attempts are promised that can never be started before the deadline.",
     "The policy does not do what it says: the call ends with deadline_too_close."},
    {Severity::warning, "The timeout is an hour or more.",
     "No caller waits for an hour; a call that hangs holds its thread and its connection."},
    {Severity::warning, "An attempt is given up before 99 % of the healthy ones have answered.",
     "A healthy dependency fails every hundredth attempt, and is asked again."},
    {Severity::warning, "An attempt may take far longer than healthy ones do.",
     "One that hangs is noticed late, and the retry that could have helped has no time left."},
    {Severity::warning, "Every request may be hedged.",
     "When the dependency slows down, its load doubles."},
    {Severity::warning, "Hedging is on, but no attempt is left for a hedge.",
     "Attempts count hedges: nothing is ever hedged."},
    {Severity::warning, "A hedge policy for a method that writes.",
     "A hedged write is executed twice at once, so only reads are hedged: the policy has no effect "
     "on the others."},
    {Severity::warning, "The lease of a breaker's probe ends before the probe can time out.",
     "A probe of a slow but healthy dependency counts as failed, and the breaker opens again."},
    {Severity::warning, "The client throttle may reject nearly every call.",
     "Too few calls are left to find out that the dependency has recovered: the outage lasts on at "
     "the client."},
    {Severity::warning, "The rate limit of the attempts is under the load.",
     "Calls are refused although the dependency is healthy: the limit is the outage."},
    {Severity::warning, "An attempt may wait longer for its token than its call lasts.",
     "The policy does not do what it says: the deadline ends the wait earlier."},
    {Severity::warning, "A proxy believes the fields of every client that reaches it.",
     "A stranger sets the deadlines, the criticality and the client address of its requests, and "
     "so "
     "steers retries, shedding and the limits by client."},
    {Severity::warning, "A path written in another way passes by the route's limit.",
     "Another route takes //path or /%70ath, and many services take both for the same."},
    {Severity::note, "One client may have all connections of a listener that others can reach.",
     "A client that opens max_connections keeps everybody else out."},
    {Severity::note, "The stable capacity is below the capacity.",
     "Above it the system is metastable: it can run for months, and stay overloaded after a "
     "trigger."},
    {Severity::note, "The capacity of a service of a scenario is not known.",
     "The time of its workers depends on the load, so that no rule can compare the two; "
     "`damper lab map` finds the load by simulation."},
    {Severity::note, "Attempts fit before the deadline only when those before them fail early.",
     "When the dependency hangs, fewer attempts are made than the policy says."},
    {Severity::note, "A method is sent that is not idempotent.",
     "It is sent again only when the first surely never left, or with an Idempotency-Key."},
    {Severity::note, "Hedges may spend all of the retry budget.",
     "They pay from it too, and leave nothing for the retries of failures."},
    {Severity::note, "The file asks for retries of an overload.",
     "An overloaded dependency is retried only at the time that it names (Retry-After)."},
    {Severity::note, "A defence is known to do harm in a certain trouble.",
     "`damper lab matrix` measures it; docs/guide/harm.md has the reasons."},
    {Severity::note, "The file asks for something that Damper does otherwise, or not at all.",
     "It loads, but behaves differently from what its author may expect."},
}};

void sort_by_place(Findings& found) {
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.place.line, a.place.column, a.rule) <
           std::tuple(b.place.line, b.place.column, b.rule);
  });
}

}  // namespace

const RuleText& text_of(Rule rule) { return kTexts[static_cast<std::size_t>(rule)]; }

Finding finding_of(const config::Note& note) {
  if (note.about_overload) {
    return {Rule::retries_on_overload, note.place, "", note.sentence,
            "leave it out, and let the server say when to come back (Retry-After)"};
  }
  return {Rule::not_as_written, note.place, "", note.sentence,
          "leave it out, or write what is meant"};
}

std::vector<Finding> lint(std::span<const Route> routes) {
  const std::vector<Layer> layers = layers_of(routes);
  const std::vector<Amplified> amplified = amplify(layers);
  Findings found;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const Lens lens{
        .routes = routes, .layers = layers, .amplified = amplified, .position = i, .found = &found};
    for (const auto rule :
         {find_load, find_amplification, find_layers, find_timing, find_attempt_timeout,
          find_unsafe, find_hedges, find_parts, find_known_harms}) {
      rule(lens);
    }
  }
  sort_by_place(found);
  return found;
}

std::vector<Finding> lint(const PolicyFile& file) {
  Findings found = lint(file.routes);
  for (const config::Note& note : file.notes) found.push_back(finding_of(note));
  sort_by_place(found);
  return found;
}

}  // namespace damper::policy
