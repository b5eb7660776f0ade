#include "damper/policy/import/import.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/base/random.h"
#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

struct Sample {
  const char* file;
  From from;
};
constexpr Sample kSamples[] = {
    {"envoy_front_proxy.yaml", From::envoy}, {"envoy_checkout.yaml", From::envoy},
    {"grpc_retry.json", From::grpc},         {"grpc_mixed.json", From::grpc},
    {"istio_reviews.yaml", From::istio},     {"istio_shop.yaml", From::istio},
    {"linkerd_books.yaml", From::linkerd},   {"linkerd_budget.yaml", From::linkerd},
};

TEST(Import, WhatIsPrintedLoadsAsTheSame) {  // Invariant (1).
  for (const Sample& sample : kSamples) {
    const Imported imported = import_of(sample.from, testdata(sample.file));
    EXPECT_FALSE(imported.file.routes.empty()) << sample.file;
    EXPECT_EQ(imported.file.shape, "routes");
    EXPECT_EQ(imported.file.file, "f");
  }
}

TEST(Import, PlacesAreThoseOfTheOriginal) {  // Invariant (3).
  const Imported imported = import_of(From::grpc, testdata("grpc_mixed.json"));
  EXPECT_EQ(imported.file.routes[0].places[block_schema().position("timeout")],
            (config::SourceLocation{9, 18}));
  EXPECT_EQ(imported.file.routes[0].places[block_schema().position("retry_budget.deposit_on")],
            config::SourceLocation{});
  EXPECT_EQ(imported.file.routes[0].place, (config::SourceLocation{6, 9}));
}

TEST(Import, NotesAreInTheOrderOfTheFileAndNameIt) {
  for (const Sample& sample : kSamples) {
    const Imported imported = import_of(sample.from, testdata(sample.file));
    for (std::size_t i = 0; i < imported.notes.size(); ++i) {
      EXPECT_EQ(imported.notes[i].file, "f");
      EXPECT_GT(imported.notes[i].place.line, 0) << imported.notes[i].sentence;
      if (i == 0) continue;
      EXPECT_LE(imported.notes[i - 1].place.line, imported.notes[i].place.line);
    }
  }
}

TEST(Import, PrintsWhatTheOriginalSaysOrMeans) {
  const Imported imported =
      import_of(From::grpc, "{methodConfig: [{name: [{service: s}],\n timeout: 2s}]}");
  EXPECT_EQ(print_import(imported, From::grpc), R"(# From f, as gRPC means it.
routes:
  "s":                                                  # line 1
    timeout: 2s                                         # line 2
    retry_policy:
      num_retries: 0                                    # as gRPC
    retry_budget:
      budget_percent: 1000                              # as gRPC
      min_retries_per_second: 10000                     # as gRPC
)");
}

TEST(Import, AFilesNameCannotEndTheComment) {
  const auto imported = import_policy(From::grpc, testdata("grpc_retry.json"), "a\nroutes: {}");
  ASSERT_TRUE(imported);
  expect_loads_back(*imported, From::grpc);
}

TEST(Import, TheSystemIsToldByItsShape) {
  for (const Sample& sample : kSamples) {
    const auto from = guess(testdata(sample.file), "f");
    ASSERT_TRUE(from) << sample.file;
    EXPECT_EQ(*from, sample.from) << sample.file;
  }
  const auto from = [](std::string_view text) {
    const auto tree = config::parse_yaml(text, "f");
    const auto found = guess(*tree);
    return found ? std::string(name(*found)) : "none";
  };
  EXPECT_EQ(from("virtual_hosts: []"), "envoy");
  EXPECT_EQ(from("[{serviceConfig: {}}]"), "grpc");
  EXPECT_EQ(from("kind: Service"), "none");
  EXPECT_EQ(from("route: {}"), "none");
  EXPECT_EQ(from("[]"), "none");
  EXPECT_EQ(from("x"), "none");
}

TEST(Import, AFileOfNoSystemIsTrouble) {
  const auto from = guess("routes: {a: {}}", "f");
  ASSERT_FALSE(from);
  EXPECT_EQ(to_string(from.error()).substr(0, 57),
            "f: does not have the shape of a known system: Envoy has s");
  for (const std::string_view text : {"", "{}", "a: 1", "---\n---\n"}) {
    for (const std::string_view system : kFromNames) {
      EXPECT_EQ(error_of(*kFromNames.find(system), text).substr(0, 41),
                "f: has no route that makes calls, read as");
    }
  }
}

TEST(Import, NamesOfSystems) {
  EXPECT_EQ(kFromNames.find("istio"), From::istio);
  EXPECT_EQ(kFromNames.find("Istio"), std::nullopt);
  EXPECT_EQ(name(From::linkerd), "linkerd");
}

TEST(Import, InvalidYamlIsAnErrorWithItsPlace) {
  EXPECT_EQ(error_of(From::envoy, "a: [").substr(0, 24), "f:1:1: is not valid YAML");
}

// Values at random places of real files: an error in one line, or a policy that loads back.
TEST(Import, WhateverAValueIsNothingBreaks) {
  constexpr std::string_view kValues[] = {
      "0",          "-1",           "1e400", "99999999999999999999",
      "[]",         "{}",           "~",     "''",
      "1000000h",   "nan",          "on",    "0s",
      "true",       "{seconds: 1}", "[a]",   "\"\\xff\"",
      "4294967295", "0.333"};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const Sample& sample = kSamples[static_cast<std::size_t>(random.draw() * 8)];
    std::string text = testdata(sample.file);
    const auto at = static_cast<std::size_t>(random.draw() * static_cast<double>(text.size()));
    const std::size_t colon = text.find(": ", at);
    if (colon == std::string::npos) continue;
    const std::size_t end = text.find_first_of("\n,}", colon);
    const auto value = kValues[static_cast<std::size_t>(random.draw() * std::size(kValues))];
    text.replace(colon + 2, end - colon - 2, value);
    const auto imported = import_policy(sample.from, text, "f");
    if (imported) {
      expect_loads_back(*imported, sample.from);
    } else {
      EXPECT_EQ(to_string(imported.error()).find('\n'), std::string::npos);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed << '\n' << text;
  }
}

TEST(Import, AHostileFileIsBounded) {
  std::string routes = "virtual_hosts: [{routes: [";
  for (int i = 0; i < 1100; ++i) routes += "{route: {cluster: c}},\n";
  EXPECT_EQ(error_of(From::envoy, routes + "]}]"),
            "f:1001:1: is more than a policy file can hold: at most 1000 routes");
  std::string clusters = "clusters: [";
  for (int i = 0; i < 1100; ++i) clusters += "{name: c" + std::to_string(i) + "},\n";
  EXPECT_EQ(error_of(From::envoy, clusters + "]"),
            "f:1001:1: is more than a policy file can hold: at most 1000 routes");
}

}  // namespace
}  // namespace damper::policy
