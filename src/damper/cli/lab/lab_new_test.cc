#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "damper/cli/commands.h"
#include "damper/cli/program_testing.h"
#include "damper/lab/scenario/builtin.h"

namespace damper::cli {
namespace {

TEST(LabList, NamesEveryScenarioThatComesWithIt) {
  const Result list = damper({"lab", "list"});
  EXPECT_EQ(list.status, kOk);
  for (const lab::Builtin& builtin : lab::builtins()) {
    EXPECT_NE(('\n' + list.out).find('\n' + std::string(builtin.name) + ' '), std::string::npos)
        << builtin.name;
    EXPECT_NE(list.out.find(builtin.about + '\n'), std::string::npos) << builtin.name;
  }
}

TEST(LabNew, WhatItWritesRuns) {
  const std::string file = testing::TempDir() + "damper_lab_new.yaml";
  std::filesystem::remove(file);
  const Result made = damper({"lab", "new", file});
  EXPECT_EQ(made.status, kOk) << made.err;
  EXPECT_EQ(made.out, "Wrote " + file + ". Edit it, then: damper lab run " + file + '\n');
  const Result run = damper({"lab", "run", file});
  EXPECT_EQ(run.status, kOk) << run.err << run.out;
  const Result again = damper({"lab", "new", file});
  EXPECT_EQ(again.status, kTrouble);
  EXPECT_NE(again.err.find("is there already"), std::string::npos);
  std::filesystem::remove(file);
}

TEST(LabNew, ABuiltInScenarioCanBeCopied) {
  const Result copy = damper({"lab", "new", "-", "--from", "storm"});
  EXPECT_EQ(copy.status, kOk);
  EXPECT_EQ(copy.out, lab::find_builtin("storm")->text);
  const Result unknown = damper({"lab", "new", "-", "--from", "strom"});
  EXPECT_EQ(unknown.status, kTrouble);
  EXPECT_NE(unknown.err.find("did you mean storm?"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace damper::cli
