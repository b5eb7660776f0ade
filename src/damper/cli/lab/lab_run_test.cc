#include <gtest/gtest.h>

#include <string>

#include "damper/cli/commands.h"
#include "damper/cli/program_testing.h"

// Under tsan: the runs are on several threads.

namespace damper::cli {
namespace {

constexpr const char* kSmall = R"(scenario: small
about: A database that fails for a second.
length: 5s
services: { db: { workers: 1, service_time: 1ms } }
clients: { app: { calls: db, rate: 50 } }
faults: [{ on: db, kind: down, at: 1s, for: 1s }]
variants:
  damper: {}
  plain:
    policy: { route: { retry_policy: { num_retries: 0 } } }
expect:
  - { measure: attempts_per_request, at_most: 1.2 }
)";

Result lab_run(std::vector<std::string> arguments, std::string text = kSmall) {
  arguments.insert(arguments.begin(), {"lab", "run", "-"});
  return damper(std::move(arguments), text);
}

TEST(LabRun, ShowsEveryVariantAndThePromises) {
  const Result run = lab_run({});
  EXPECT_EQ(run.status, kOk) << run.err;
  for (const char* word : {"small", "damper", "plain", "attempts_per_request", "1.2"}) {
    EXPECT_NE(run.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(run.err, "");
}

TEST(LabRun, ABrokenPromiseIsStatusOne) {
  std::string text = kSmall;
  text.replace(text.find("at_most: 1.2"), 12, "at_most: 0.5");
  EXPECT_EQ(lab_run({}, text).status, kBroken);
}

TEST(LabRun, TheSameSeedGivesTheSameBytes) {
  const Result one = lab_run({"--seed", "3", "--runs", "3", "--json", "-", "--threads", "1"});
  const Result two = lab_run({"--seed", "3", "--runs", "3", "--json", "-", "--threads", "2"});
  EXPECT_EQ(one.status, kOk) << one.err;
  EXPECT_EQ(one.out, two.out);
  EXPECT_EQ(one.out.front(), '{');
  EXPECT_NE(lab_run({"--seed", "4", "--runs", "3", "--json", "-"}).out, one.out);
}

TEST(LabRun, StandardOutputIsEitherTextOrData) {
  const Result csv = lab_run({"--csv", "-"});
  EXPECT_EQ(csv.out.find("set,seed,kind"), 0U) << csv.out.substr(0, 80);
}

TEST(LabRun, OnlyTheVariantsThatAreNamed) {
  const Result run = lab_run({"--variant", "plain", "--csv", "-"});
  EXPECT_EQ(run.out.find("damper,1,"), std::string::npos);
  EXPECT_NE(run.out.find("plain,1,"), std::string::npos) << run.out.substr(0, 200);
}

TEST(LabRun, ABadScenarioIsOneSentenceAndStatusTwo) {
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string text = kSmall;
    text.replace(text.find(from), from.size(), to);
    const Result run = lab_run({}, text);
    EXPECT_EQ(run.status, kTrouble) << to;
    EXPECT_EQ(run.out, "") << to;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  EXPECT_NE(refused("workers", "wokers").find("did you mean workers?"), std::string::npos);
  EXPECT_NE(refused("rate: 50", "rate: -50").find("standard input:5:36: "), std::string::npos)
      << refused("rate: 50", "rate: -50");
  EXPECT_NE(refused("num_retries: 0", "num_retires: 0").find("did you mean num_retries?"),
            std::string::npos);
  const std::string cycle = refused("service_time: 1ms }", "calls: [db] }");
  EXPECT_NE(cycle.find("db"), std::string::npos) << cycle;
}

TEST(LabCompare, OneWorldUnderSeveralPoliciesWithTheSameArrivals) {
  const Result compared = damper(
      {"lab", "compare", "-", "--policy", "default", "--policy", "default", "--csv", "-"}, kSmall);
  EXPECT_EQ(compared.status, kOk) << compared.err;
  EXPECT_EQ(damper({"lab", "compare", "-", "--policy", "default"}, kSmall).status, kTrouble);
  const Result missing =
      damper({"lab", "compare", "-", "--policy", "default", "--policy", "/no/such.yaml"}, kSmall);
  EXPECT_EQ(missing.status, kTrouble);
  EXPECT_NE(missing.err.find("/no/such.yaml"), std::string::npos);
}

}  // namespace
}  // namespace damper::cli
