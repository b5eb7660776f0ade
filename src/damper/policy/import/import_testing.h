#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "damper/policy/file/schema.h"
#include "damper/policy/import/import.h"

namespace damper::policy {

// Every value of a route, "path value" lines, the same for equal settings.
[[nodiscard]] inline std::string all_of(const Route& route) {
  std::string text;
  for (const config::Key& key : block_schema().keys()) {
    const bool is_on = block_schema().is_on(key, route.settings);
    text += std::string(key.path) + ' ' +
            (is_on ? block_schema().write(key, route.settings) : "-") + '\n';
  }
  return text;
}

// That what is printed of it loads, as the same policies: Imported's invariant (1).
inline void expect_loads_back(const Imported& imported, From from) {
  for (const std::string& text : {print(imported.file), print_import(imported, from)}) {
    const auto loaded = load(text, "printed.yaml");
    ASSERT_TRUE(loaded) << to_string(loaded.error()) << '\n' << text;
    ASSERT_EQ(loaded->routes.size(), imported.file.routes.size());
    for (std::size_t i = 0; i < loaded->routes.size(); ++i) {
      EXPECT_EQ(loaded->routes[i].name, imported.file.routes[i].name);
      EXPECT_EQ(all_of(loaded->routes[i]), all_of(imported.file.routes[i])) << text;
    }
  }
}

// The file as imported; an empty one, and a failure, when it is not.
[[nodiscard]] inline Imported import_of(From from, std::string_view text) {
  auto imported = import_policy(from, text, "f");
  if (!imported) {
    ADD_FAILURE() << to_string(imported.error());
    return {};
  }
  expect_loads_back(*imported, from);
  return *std::move(imported);
}

// Why it is not imported.
[[nodiscard]] inline std::string error_of(From from, std::string_view text) {
  const auto imported = import_policy(from, text, "f");
  return imported ? "imported" : to_string(imported.error());
}

// What a route says with the prefix, "word value@line" each; no line for what the file leaves out.
[[nodiscard]] inline std::string said(const Imported& imported, std::string_view route,
                                      std::string_view prefix) {
  std::string text;
  for (std::size_t r = 0; r < imported.file.routes.size(); ++r) {
    const Route& one = imported.file.routes[r];
    const auto& keys = block_schema().keys();
    for (std::size_t i = 0; i < keys.size() && one.name == route; ++i) {
      if (one.origins[i] != Origin::route || !keys[i].path.starts_with(prefix)) continue;
      text += (text.empty() ? "" : ", ") + std::string(config::leaf(keys[i].path)) + ' ' +
              block_schema().write(keys[i], one.settings);
      if (imported.file.routes[r].places[i].line > 0) {
        text += '@' + std::to_string(imported.file.routes[r].places[i].line);
      }
    }
  }
  return text;
}

[[nodiscard]] inline std::string names_of(const Imported& imported) {
  std::string text;
  for (const Route& route : imported.file.routes) text += (text.empty() ? "" : " ") + route.name;
  return text;
}

// The sentence of every note at the place, one a line.
[[nodiscard]] inline std::string notes_at(const Imported& imported, config::SourceLocation place) {
  std::string text;
  for (const config::Note& note : imported.notes) {
    if (note.place == place) text += note.sentence + '\n';
  }
  return text;
}

// How many notes begin with the words.
[[nodiscard]] inline int notes_with(const Imported& imported, std::string_view words) {
  int count = 0;
  for (const config::Note& note : imported.notes) count += note.sentence.starts_with(words) ? 1 : 0;
  return count;
}

[[nodiscard]] inline std::string testdata(std::string_view name) {
  const std::filesystem::path folder = DAMPER_POLICY_TESTDATA;
  std::ifstream in(folder / name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

}  // namespace damper::policy
