// The schema of the scenario itself and of what it promises.
#include "damper/lab/scenario/scenario_schema.h"

#include "damper/lab/scenario/schema_field.h"

namespace damper::lab {
namespace {

constexpr SchemaKey<Scenario> kScenario[] = {
    required(field<Scenario, DAMPER_LAB_FIELD(name)>("scenario", kName, "Its name.")),
    field<Scenario, DAMPER_LAB_FIELD(about)>("about", {ValueKind::text},
                                             "One sentence on what happens in it."),
    field<Scenario, DAMPER_LAB_FIELD(length)>(
        "length", duration(std::chrono::milliseconds(1), kDay), "How long a run is."),
    field<Scenario, DAMPER_LAB_FIELD(bucket)>(
        "bucket", duration(std::chrono::milliseconds(1), std::chrono::hours(1)),
        "How long a step of its charts is."),
    field<Scenario, DAMPER_LAB_FIELD(ownership)>(
        "ownership", kBoolean, "A request carries who retries it, so that one layer does."),
    field<Scenario, DAMPER_LAB_FIELD(deadlines_travel)>(
        "deadlines_travel", kBoolean,
        "What a service calls, it calls within its own caller's deadline."),
    field<Scenario, DAMPER_LAB_FIELD(map.length)>(
        "map.length", duration(Duration{0}, kDay),
        "How long a run is, so that what recovers slowly has the time; 0s: as the scenario says."),
    field<Scenario, DAMPER_LAB_FIELD(map.loads)>("map.load", {ValueKind::numbers, 0.001, 1e7},
                                                 "Requests a second of the first clients."),
    field<Scenario, DAMPER_LAB_FIELD(map.triggers)>(
        "map.trigger", {ValueKind::numbers, 0, 86'400},
        "Of the first fault: its length in seconds if it is down, held or lost, else its amount."),
};

constexpr Part kScenarioParts[] = {
    {"services", "a map from names to services", "Who is called.", "", true},
    {"clients", "a map from names to groups of clients",
     "Who calls; there are clients, controllers or both."},
    {"controllers", "a map from names to groups of controllers",
     "Who calls from a work queue: what changes is reconciled, and the queue retries."},
    {"faults", "a list of faults", "What goes wrong, and when."},
    {"policy", "a policy: route, routes or dependencies, as in a policy file",
     "How everybody who calls retries; none: the built-in defaults."},
    {"variants", "a map from names to what is different",
     "Other worlds or policies to compare, on the same arrivals."},
    {"expect", "a list of promises", "What a run promises."},
    {"map", "a map of keys", "What `damper lab map` sweeps."},
};

constexpr SchemaKey<Expectation> kExpectation[] = {
    required(field<Expectation, DAMPER_LAB_FIELD(measure)>("measure", kName, "What is measured.")),
    said_field<Expectation, DAMPER_LAB_FIELD(of)>("of", kName,
                                                  "The bounds are of the ratio to this variant's."),
    field<Expectation, DAMPER_LAB_FIELD(at_least)>("at_least", number(0, 1e12),
                                                   "The measure is not under it."),
    field<Expectation, DAMPER_LAB_FIELD(at_most)>("at_most", number(0, 1e12),
                                                  "The measure is not over it."),
};

}  // namespace

template <>
const Schema<Scenario>& schema<Scenario>() {
  static constexpr Schema<Scenario> kSchema = {"The scenario", kScenario, kScenarioParts};
  return kSchema;
}

template <>
const Schema<Expectation>& schema<Expectation>() {
  static constexpr Schema<Expectation> kSchema = {"A promise, in expect", kExpectation, {}};
  return kSchema;
}

}  // namespace damper::lab
