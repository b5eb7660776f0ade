#include "damper/cli/commands.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/cli/program_testing.h"

namespace damper::cli {
namespace {

// Of the default policy: retries, and the reserve of the budget.
constexpr const char* kDefaultLimits =
    "standard input: 3 known limits of its defences, see --limits or docs/guide/harm.md\n";

TEST(Check, AGoodFileIsOk) {
  const Result result = damper({"check", "-"}, "route: {timeout: 2s}");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, std::string("standard input: ok\n") + kDefaultLimits);
  EXPECT_EQ(result.err, "");
}

TEST(Check, ABadFileIsTroubleWithASentence) {
  const Result result = damper({"check", "-"}, "route: {timeout: -2s}");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "standard input:1:18: timeout must be a duration from 1ns to 720h, such as 250ms, 2s "
            "or 1.5m, not \"-2s\"\n");
}

TEST(Check, OneBadFileAmongGoodOnesIsTroubleAndAllAreChecked) {
  const Result result = damper({"check", "--quiet", "/nowhere/a.yaml", "-", "/nowhere/b.yaml"},
                               "route: {retry_policy: {retry_on: ''}}");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out,
            "standard input:1:34: note: retry_on is empty: nothing is retried [not-as-written]\n"
            "    fix: leave it out, or write what is meant\n");
  EXPECT_EQ(result.err,
            "/nowhere/a.yaml: cannot be read: No such file or directory\n"
            "/nowhere/b.yaml: cannot be read: No such file or directory\n");
}

TEST(Check, QuietSaysNothingAboutAGoodFile) {
  const Result result = damper({"check", "-q", "-"}, "route: {}");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out + result.err, "");
}

// The example of HotOS'21: 300/s, one retry.
TEST(Check, SaysTheHiddenCapacityAndWhatABudgetWouldMakeOfIt) {
  const Result plain = damper({"check", "-"},
                              "route:\n"
                              "  retry_policy: { num_retries: 1 }\n"
                              "  retry_budget: { budget_percent: 100 }\n"
                              "  facts: { capacity: 300, load: 250 }\n");
  EXPECT_EQ(plain.status, 1);
  EXPECT_EQ(
      plain.out,
      "standard input:3:35: warning: a budget of 100 % refuses nothing: in an outage each "
      "request becomes 2 attempts [no-budget]\n"
      "    fix: retry_budget: { budget_percent: 10 }   # 1.1 attempts\n"
      "standard input:4:33: error: one request can become 2 attempts, so of the capacity of "
      "300/s only 300 / 2 = 150/s is stable; the load is 250/s, and a short trigger can leave "
      "it collapsed [load-over-hidden-capacity]\n"
      "    fix: retry_budget: { budget_percent: 10 }   # 1.1 attempts: 272.7/s is stable\n"
      "standard input: 1 error, 1 warning\n" +
          std::string(kDefaultLimits));
  const Result budgeted = damper({"check", "-"},
                                 "route:\n"
                                 "  retry_policy: { num_retries: 1 }\n"
                                 "  facts: { capacity: 300, load: 250 }\n");
  EXPECT_EQ(budgeted.status, 0);
  EXPECT_EQ(budgeted.out,
            "standard input:3:22: note: one request can become 1.1 attempts, so of the capacity of "
            "300/s only 300 / 1.1 = 272.7/s is stable [hidden-capacity]\n"
            "    fix: keep the load under 272.7/s, at its peak too\n"
            "standard input: ok, 1 note\n" +
                std::string(kDefaultLimits));
}

TEST(Check, TheStatusIsOneFromTheSeverityThatIsAskedFor) {
  const std::string note = "route: {retry_policy: {retry_on: ''}}";
  const std::string warning = "route: {retry_back_off: {jitter: none}}";
  const std::string error = "route: {facts: {capacity: 1, load: 1}}";
  const auto status = [](const std::string& least, const std::string& text) {
    return damper({"check", "--fail-on", least, "-"}, text).status;
  };
  EXPECT_EQ(damper({"check", "-"}, error).status, 1);
  EXPECT_EQ(damper({"check", "-"}, warning).status, 0);
  EXPECT_EQ(status("error", error), 1);
  EXPECT_EQ(status("error", warning), 0);
  EXPECT_EQ(status("warning", warning), 1);
  EXPECT_EQ(status("warning", note), 0);
  EXPECT_EQ(status("note", note), 1);
  EXPECT_EQ(status("note", "route: {}"), 0);
  EXPECT_EQ(status("note", "route: {x: 1}"), 2);
  EXPECT_EQ(damper({"check", "--fail-on", "errors", "-"}, note).err,
            "damper: --fail-on: must be one of note, warning, error, not \"errors\"; did you mean "
            "error?; see damper check --help\n");
}

TEST(Check, KnownLimitsArePrintedOnRequestAndAreNoFindings) {
  const Result result = damper({"check", "--limits", "--fail-on", "note", "-"},
                               "route:\n  retry_policy: { num_retries: 0 }\n"
                               "  circuit_breaker: { open_cap: 20s }\n");
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.starts_with(
      "standard input: ok\n"
      "standard input: 2 known limits of its defences, see --limits or docs/guide/harm.md\n"
      "standard input:3:32: limit: circuit_breaker.open_cap: After a long outage the breaker "))
      << result.out;
  EXPECT_NE(result.out.find(" [open-time]\n    see: docs/guide/harm.md\nstandard input:1:1: limit: "
                            "circuit_breaker.open_base: Each trip"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(damper({"check", "-"}, "route: {retry_policy: {num_retries: 0}}").out,
            "standard input: ok\n");
}

TEST(Check, TroubleOutranksFindings) {
  const Result result =
      damper({"check", "/nowhere/a.yaml", "-"}, "route: {facts: {capacity: 1, load: 1}}");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.out.find("[load-over-capacity]"), std::string::npos);
}

TEST(Check, OtherFormatsAreOneDocumentOnStandardOutput) {
  const Result json = damper({"check", "--format", "json", "-", "/nowhere/a.yaml"},
                             "route: {facts: {capacity: 1, load: 1}}");
  EXPECT_EQ(json.status, 2);
  EXPECT_TRUE(json.out.starts_with("{\"files\":[{\"file\":\"standard input\",\"loads\":true,"))
      << json.out;
  EXPECT_NE(json.out.find("{\"file\":\"/nowhere/a.yaml\",\"loads\":false,"), std::string::npos);
  EXPECT_EQ(json.out.find('\n'), json.out.size() - 1);
  EXPECT_EQ(json.err, "/nowhere/a.yaml: cannot be read: No such file or directory\n");
  const Result sarif = damper({"check", "--format", "sarif", "-"}, "route: {}");
  EXPECT_EQ(sarif.status, 0);
  EXPECT_NE(sarif.out.find("\"version\":\"2.1.0\""), std::string::npos);
  EXPECT_EQ(
      damper({"check", "--format", "xml", "-"}, "route: {}").err,
      "damper: --format: must be one of text, json, sarif, not \"xml\"; see damper check --help\n");
}

TEST(Check, TheEffectivePolicyIsAPolicyFile) {
  const Result first =
      damper({"check", "--effective", "-"}, "routes: {db: {retry_policy: {retry_on: ''}}}");
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.err,
            "standard input:1:40: note: retry_on is empty: nothing is retried [not-as-written]\n"
            "    fix: leave it out, or write what is meant\n");
  EXPECT_TRUE(first.out.starts_with("routes:\n  \"db\":\n    timeout: 5s ")) << first.out;
  const Result again = damper({"check", "--effective", "-"}, first.out);
  EXPECT_EQ(again.status, 0);
}

TEST(Check, TheRulesAreListedWithoutAFile) {
  const Result result = damper({"check", "--rules"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.starts_with("does-not-load (error)\n")) << result.out;
  EXPECT_EQ(damper({"check"}).err, "damper: FILE is required; see damper check --help\n");
  EXPECT_EQ(damper({"check", "--rules", "a.yaml"}).status, 2);
  EXPECT_EQ(damper({"check", "--effective", "--format", "json", "-"}, "route: {}").status, 2);
}

TEST(Check, HelpHasExamples) {
  const Result result = damper({"check", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("generate-policy | damper check -"), std::string::npos);
}

}  // namespace
}  // namespace damper::cli
