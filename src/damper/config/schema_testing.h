#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/config/schema.h"

namespace damper::config {

// A value of the form that is not the default; nothing for a form with one value, or a text.
[[nodiscard]] inline Value other_value(const Form& form, const Value& standard) {
  const auto high = static_cast<std::int64_t>(form.high);
  switch (form.kind) {
    case Kind::number:
    case Kind::share: return standard == Value(form.high) ? form.low : form.high;
    case Kind::text: return form.parse == nullptr ? Value(std::string("another")) : Value();
    case Kind::texts:
    case Kind::custom: return {};
    case Kind::numbers:
    case Kind::wholes: return std::vector<double>{form.low, form.high};
    default:
      if (form.low == form.high) return {};
      return standard == Value(high) ? high - 1 : high;
  }
}

// A value within the form's bounds that is held as a number: often one of its ends.
[[nodiscard]] inline Value random_value(const Form& form, Random& random) {
  const double draw = random.draw();
  const auto low = static_cast<std::int64_t>(form.low);
  const auto high = static_cast<std::int64_t>(form.high);
  if (form.kind == Kind::wholes) {
    return std::vector<double>{form.low + static_cast<double>(random.bits() % 200)};
  }
  if (draw < 0.1) return low;
  if (draw < 0.2) return high;
  if (draw < 0.3 && form.off) return *form.off;
  const auto span = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(random.bits() % span);
}

// That every path is unique, documented and in a section, every default is within its bounds, every
// alias leads somewhere, and setting a key changes what it gets and nothing that another key gets.
// The keys in `joined` depend on each other, and are not set.
template <class T>
void expect_sound(const Schema<T>& schema, const std::set<std::string_view>& joined = {}) {
  std::set<std::string_view> paths;
  for (const Section& section : schema.sections()) {
    EXPECT_TRUE(paths.insert(section.path).second) << section.path;
    EXPECT_TRUE(section.doc.ends_with('.')) << section.path;
  }
  T all_on{};
  schema.turn_all_on(all_on);
  for (const Key& key : schema.keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(key.doc.ends_with('.')) << key.path;
    EXPECT_TRUE(parent(key.path).empty() || schema.find_section(parent(key.path))) << key.path;
    EXPECT_TRUE(key.not_under.empty() || parent(key.not_under) == parent(key.path)) << key.path;
    const Value standard = schema.value(key, all_on);
    const bool is_set = !key.required && standard != Value(std::string());
    EXPECT_TRUE(!is_set || !find_error(key.path, key.form, standard)) << key.path;
    const Value value = other_value(key.form, standard);
    if (value == Value() || joined.contains(key.path)) continue;
    ASSERT_NE(value, standard) << key.path;
    T thing{};
    schema.turn_all_on(thing);
    schema.set(key, thing, value);
    EXPECT_EQ(schema.value(key, thing), value) << key.path;
    for (const Key& each : schema.keys()) {
      if (each.path == key.path) continue;
      EXPECT_EQ(schema.value(each, thing), schema.value(each, all_on))
          << key.path << " changes " << each.path;
    }
  }
  for (const Alias& alias : schema.aliases()) {
    EXPECT_TRUE(paths.insert(alias.from).second) << alias.from;
    EXPECT_TRUE(alias.to.empty() || paths.contains(alias.to)) << alias.to;
  }
}

}  // namespace damper::config
