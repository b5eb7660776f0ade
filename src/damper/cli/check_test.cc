#include "damper/cli/check.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/cli/program_testing.h"

namespace damper::cli {
namespace {

TEST(Check, AGoodFileIsOkAndItsPolicyIsShown) {
  const Result result = damper({"check", "-"}, "route: {timeout: 2s}");
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.starts_with("standard input: ok\nroute:\n  timeout: 2s\n")) << result.out;
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
  EXPECT_EQ(result.out, "standard input:1:34: note: retry_on is empty: nothing is retried\n");
  EXPECT_EQ(result.err,
            "/nowhere/a.yaml: cannot be read: No such file or directory\n"
            "/nowhere/b.yaml: cannot be read: No such file or directory\n");
}

TEST(Check, QuietSaysNothingAboutAGoodFile) {
  const Result result = damper({"check", "-q", "-"}, "route: {}");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out + result.err, "");
}

TEST(Check, TheEffectivePolicyIsAPolicyFile) {
  const Result first =
      damper({"check", "--effective", "-"}, "routes: {db: {retry_policy: {retry_on: ''}}}");
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.err, "standard input:1:40: note: retry_on is empty: nothing is retried\n");
  const Result again = damper({"check", "-"}, first.out);
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.out.find("routes:\n  \"db\":\n"), std::string::npos);
}

TEST(Check, HelpHasExamples) {
  const Result result = damper({"check", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("generate-policy | damper check -"), std::string::npos);
}

}  // namespace
}  // namespace damper::cli
