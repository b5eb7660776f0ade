#include "damper/policy/lint/lint.h"

#include <algorithm>
#include <tuple>

#include "damper/policy/lint/lint_rules.h"

namespace damper::policy {
namespace {

void sort_by_place(Findings& found) {
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.place.line, a.place.column, a.rule) <
           std::tuple(b.place.line, b.place.column, b.rule);
  });
}

}  // namespace

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
    const Lens lens{.routes = routes, .layers = layers, .amplified = amplified, .position = i};
    for (const auto rule : {find_load, find_amplification, find_layers, find_timing,
                            find_attempt_timeout, find_unsafe, find_hedges}) {
      rule(lens, found);
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
