#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/decide/outcome.h"
#include "damper/lab/scenario/distribution.h"
#include "damper/lab/scenario/scenario_schema.h"

namespace damper::lab {

// What the tables of the scenario's schema share.

using config::Reader;
using config::Schema;
using config::Tree;
using config::form::choice;
using config::form::duration;
using config::form::integer;
using config::form::kBoolean;
using config::form::kShare;
using config::form::number;
using config::form::of;
using config::form::percent;
using namespace std::chrono_literals;
using Wrong = std::optional<config::Error>;

inline constexpr Duration kDay = std::chrono::hours(24);

// The outcomes that a service or a fault can answer instead of a success: from transient to
// permanent.
inline constexpr config::Form kAnswer =
    choice(std::span<const std::string_view>(decide::kOutcomeNames.data() + 1, 6)).with_offset(1);

inline constexpr config::Form kDistribution = {
    .kind = config::Kind::text,
    .accepted = "a distribution, such as 5ms, exponential(5ms) or normal(50ms, 10ms)",
    .parse = [](std::string_view text) -> Expected<std::string> {
      const Expected<Distribution> distribution = parse_distribution(text);
      if (!distribution) return unexpected(distribution.error());
      return to_text(*distribution);
    },
    .write = [](const config::Value& value) { return std::get<std::string>(value); }};

template <auto Field, class T>
void distribution(Schema<T>& s, std::string_view path, std::string_view doc) {
  s.template key<[](const T& t) { return to_text(Field(t)); },
                 [](T& t, const config::Value& value) {
                   Field(t) = *parse_distribution(std::get<std::string>(value));
                 }>(path, kDistribution, doc);
}

template <class T>
config::Section::Schemas element() {
  return {&schema<T>()};
}

// Reads a list into a vector.
template <class Owner, class T, auto Field, std::size_t kMost>
Wrong read_list(Reader& reader, const config::Section& section, const Tree& word, const Tree& value,
                void* owner) {
  std::vector<T>& things = Field(*static_cast<Owner*>(owner));
  return reader.read_list(section, word, value, kMost, [&](const Tree& item) {
    T& thing = things.emplace_back();
    thing.place = item.place;
    return reader.read(schema<T>(), item, item.place, "a " + std::string(schema<T>().title()),
                       thing);
  });
}

}  // namespace damper::lab
