// The schema of the scenario itself, of faults and of promises.
#include "damper/lab/scenario/scenario_schema.h"

#include <algorithm>
#include <type_traits>

#include "damper/lab/runs/measure.h"
#include "damper/lab/scenario/schema_forms.h"
#include "damper/policy/file/schema.h"

namespace damper::lab {
namespace {

using config::Section;
using Items = Section::Items;

// Reads a map from names into a vector of groups or services.
template <class T, auto Field, std::size_t kMost>
Wrong read_named(Reader& reader, const Section& section, const Tree& word, const Tree& value,
                 void* scenario) {
  std::vector<T>& things = Field(*static_cast<Scenario*>(scenario));
  return reader.read_named(
      section, word, value, kMost, kName, [&](const Tree& name, const Tree& body) -> Wrong {
        T& thing = things.emplace_back();
        thing.name = name.text;
        thing.place = name.place;
        const std::string called = std::string(schema<T>().title()) + ' ' + name.text;
        config::Reading reading;
        if (auto wrong = reader.read(schema<T>(), body, name.place, called, thing, &reading)) {
          return wrong;
        }
        if constexpr (!std::is_same_v<T, ServiceSpec>) {
          thing.calls_place = schema<T>().place_of(reading, "calls");
        }
        return std::nullopt;
      });
}

Wrong read_policy(Reader& reader, const Section&, const Tree& word, const Tree& value,
                  void* scenario) {
  auto policy = policy::load_part(value, word.place, "policy", reader.file());
  if (!policy) return policy.error();
  static_cast<Scenario*>(scenario)->policy = *std::move(policy);
  return std::nullopt;
}

void add_parts(Schema<Scenario>& s) {
  s.section({.path = "services",
             .doc = "Services that are called.",
             .accepted = "a map from names to services",
             .required = true,
             .items = Items::named,
             .element = element<ServiceSpec>,
             .read = read_named<ServiceSpec, DAMPER_FIELD(services), kMostServices>});
  s.section({.path = "clients",
             .doc = "Groups of clients that call services. A scenario has clients, controllers or "
                    "both.",
             .accepted = "a map from names to groups of clients",
             .items = Items::named,
             .element = element<ClientsSpec>,
             .read = read_named<ClientsSpec, DAMPER_FIELD(clients), kMostClients>});
  s.section({.path = "controllers",
             .doc = "Groups of controllers that call services from a work queue: changes are "
                    "reconciled, and the queue retries.",
             .accepted = "a map from names to groups of controllers",
             .items = Items::named,
             .element = element<ControllersSpec>,
             .read = read_named<ControllersSpec, DAMPER_FIELD(controllers), kMostControllers>});
  s.section({.path = "faults",
             .doc = "Faults and their times.",
             .accepted = "a list of faults",
             .items = Items::list,
             .element = element<FaultSpec>,
             .read = read_list<Scenario, FaultSpec, DAMPER_FIELD(faults), kMostFaults>});
  s.section({.path = "policy",
             .doc = "Policy of all callers. Default: the built-in defaults.",
             .accepted = "a policy: route, routes or dependencies, as in a policy file",
             .items = Items::one,
             .element = [] { return Section::Schemas{&policy::file_schema()}; },
             .read = read_policy});
  s.section(
      {.path = "variants",
       .doc = "Other worlds or policies to compare, with the same arrivals.",
       .accepted = "a map from names to differences",
       .items = Items::named,
       .read = [](Reader& reader, const Section&, const Tree& word, const Tree&, void*) -> Wrong {
         return reader.error(word.place, "variants may not stand inside of a variant");
       }});
  s.section({.path = "expect",
             .doc = "Promises of a run.",
             .accepted = "a list of promises",
             .items = Items::list,
             .element = element<Expectation>,
             .read = read_list<Scenario, Expectation, DAMPER_FIELD(expect), kMostExpectations>});
  s.section("map", "What `damper lab map` sweeps.").accepted = "a map of keys";
}

Schema<Scenario> make_scenario() {
  Schema<Scenario> s("scenario");
  s.key<DAMPER_FIELD(name)>("scenario", kName, "Name of the scenario.").required = true;
  s.key<DAMPER_FIELD(about)>("about", {.kind = config::Kind::text},
                             "One sentence on what happens in it.");
  s.key<DAMPER_FIELD(length)>("length", duration(1ms, kDay), "Length of a run.");
  s.key<DAMPER_FIELD(bucket)>("bucket", duration(1ms, 1h), "Interval of the charts.");
  s.key<DAMPER_FIELD(ownership)>("ownership", kBoolean,
                                 "Requests carry the owner of their retries, so that one layer "
                                 "retries.");
  s.key<DAMPER_FIELD(deadlines_travel)>("deadlines_travel", kBoolean,
                                        "A service calls others within its caller's deadline.");
  s.key<DAMPER_FIELD(map.length)>("map.length", duration(0s, kDay),
                                  "Length of a run, for systems that recover slowly. 0s: the "
                                  "scenario's length.");
  s.key<DAMPER_FIELD(map.loads)>("map.load", of(config::Kind::numbers, 0.001, 1e7),
                                 "Requests per second of the first clients.");
  s.key<DAMPER_FIELD(map.triggers)>("map.trigger", of(config::Kind::numbers, 0, 86'400),
                                    "Of the first fault: its length in seconds if it is down, held "
                                    "or lost, else its amount.");
  add_parts(s);
  return s;
}

Schema<FaultSpec> make_fault() {
  Schema<FaultSpec> s("fault");
  s.key<DAMPER_FIELD(on)>("on", kName, "The affected service; for a spike, the clients.").required =
      true;
  s.key<DAMPER_FIELD(kind)>(
       "kind", choice(kFaultNames),
       "down: requests are answered with `answer` at once. errors: the share `amount` of requests "
       "fails with `answer`. slow: service times are multiplied by `amount`. capacity: only the "
       "share `amount` of workers is available. held: messages are delivered when the fault ends. "
       "lost: messages are lost. spike: the request rate is multiplied by `amount`.")
      .required = true;
  s.key<DAMPER_FIELD(at)>("at", duration(0s, kDay), "Start of the fault.");
  s.key<DAMPER_FIELD(length)>("for", duration(config::kTick, kDay),
                              "Length of the fault. Default: to the end of the run.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(requests)>("requests", integer(1, 1e9),
                                "slow: number of requests after which the fault ends.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(replicas)>("replicas", of(config::Kind::wholes, 0, 9'999),
                                "Affected replicas, counted from 0. Empty: all.");
  s.key<DAMPER_FIELD(amount)>("amount", of(config::Kind::share, 0, 1000),
                              "Share of errors and capacity, factor of slow and spike.");
  s.key<DAMPER_FIELD(answer)>("answer", kAnswer, "Outcome that callers receive.");
  return s;
}

Schema<Expectation> make_expectation() {
  Schema<Expectation> s("promise");
  s.key<DAMPER_FIELD(measure)>("measure", kName, "The measure.").required = true;
  s.key<DAMPER_FIELD(of)>("of", kName, "The bounds apply to the ratio to this variant's measure.")
      .unset_at_zero = true;
  s.key<DAMPER_FIELD(at_least)>("at_least", number(0, 1e12), "Lower bound of the measure.");
  s.key<DAMPER_FIELD(at_most)>("at_most", number(0, 1e12), "Upper bound of the measure.");
  return s;
}

template <class T>
std::string tables(std::string_view title) {
  return "\n### " + std::string(title) + "\n\n" + schema<T>().reference("###");
}

}  // namespace

template <>
const Schema<Scenario>& schema<Scenario>() {
  static const Schema<Scenario> kSchema = make_scenario();
  return kSchema;
}
template <>
const Schema<FaultSpec>& schema<FaultSpec>() {
  static const Schema<FaultSpec> kSchema = make_fault();
  return kSchema;
}
template <>
const Schema<Expectation>& schema<Expectation>() {
  static const Schema<Expectation> kSchema = make_expectation();
  return kSchema;
}

Expected<std::string> parse_name(std::string_view text) {
  const bool fine =
      !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
      });
  if (!fine) return unexpected(std::string());
  return std::string(text);
}

std::string reference() {
  std::string text =
      tables<Scenario>("The scenario") + tables<ServiceSpec>("A service") +
      tables<CallSpec>("A call, in calls") + tables<ClientsSpec>("A group of clients") +
      tables<ControllersSpec>("A group of controllers") + tables<FaultSpec>("A fault, in faults") +
      tables<Expectation>("A promise, in expect") +
      "\n### Measures, for expect\n\n| measure | unit | |\n|---|---|---|\n";
  for (const Measure& measure : measures()) {
    text += "| `" + std::string(measure.name) + "` | " + std::string(measure.unit) + " | " +
            std::string(measure.what) + ". |\n";
  }
  return text;
}

}  // namespace damper::lab
