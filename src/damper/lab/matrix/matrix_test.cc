#include "damper/lab/matrix/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "damper/lab/world/world.h"

namespace damper::lab {
namespace {

HarmMatrix matrix_of(std::vector<std::string> defences, std::vector<std::string> troubles,
                     int runs = 2, unsigned threads = 0) {
  auto played = play_matrix({.runs = runs,
                             .threads = threads,
                             .defences = std::move(defences),
                             .troubles = std::move(troubles)});
  EXPECT_TRUE(played) << played.error();
  return *played;
}

TEST(Matrix, EveryTroubleCanBePlayedWithEveryDefenceThatApplies) {
  std::set<std::string_view> names;
  for (const Defence& defence : defences()) EXPECT_TRUE(names.insert(defence.name).second);
  for (const Trouble& trouble : troubles()) {
    EXPECT_TRUE(names.insert(trouble.name).second);
    const Scenario plain = trouble.make();
    EXPECT_FALSE(find_error(plain)) << trouble.name;
    int applied = 0;
    for (const Defence& defence : defences()) {
      if (!applies(defence, plain)) continue;
      Scenario guarded = plain;
      defence.add(guarded);
      EXPECT_FALSE(find_error(guarded)) << trouble.name << ' ' << defence.name;
      ++applied;
    }
    EXPECT_GE(applied, 1) << trouble.name;
  }
}

TEST(Matrix, AKnownHarmNamesADefenceAndATrouble) {
  for (const KnownHarm& harm : known_harms()) {
    EXPECT_TRUE(std::ranges::count(defences(), harm.defence, &Defence::name)) << harm.defence;
    EXPECT_TRUE(std::ranges::count(troubles(), harm.trouble, &Trouble::name)) << harm.trouble;
  }
}

TEST(Matrix, EveryReasonThatTheLinterNamesIsOfACell) {
  for (std::size_t i = 0; i < policy::kHarmReasonNames.size(); ++i) {
    EXPECT_TRUE(
        std::ranges::count(known_harms(), static_cast<policy::HarmReason>(i), &KnownHarm::reason))
        << policy::kHarmReasonNames[i];
  }
}

TEST(Matrix, TheLinterNamesEveryKnownHarmForAPolicyWithItsDefence) {
  for (const KnownHarm& harm : known_harms()) {
    Scenario scenario = std::ranges::find(troubles(), harm.trouble, &Trouble::name)->make();
    std::ranges::find(defences(), harm.defence, &Defence::name)->add(scenario);
    if (scenario.clients.empty()) {  // Controllers have no policy file.
      EXPECT_EQ(harm.reason, policy::HarmReason::jitter);
      continue;
    }
    const auto limits = policy::known_limits(scenario.policy.routes);
    EXPECT_EQ(std::ranges::count(limits, harm.reason, &policy::KnownLimit::reason), 1)
        << harm.defence << ", " << harm.trouble << ": " << name(harm.reason);
  }
}

TEST(Matrix, AReasonExcusesOnlyTheRulesThatItNames) {
  HarmCell cell;
  cell.goodput.broken = true;
  EXPECT_NE(known_reason(cell, "breaker", "down"), "");
  EXPECT_EQ(known_reason(cell, "breaker", "errors-5"), "");
  EXPECT_EQ(known_reason(cell, "requeue", "keys-broken"), "");  // Of attempts alone.
  cell.attempts.broken = true;
  EXPECT_EQ(known_reason(cell, "breaker", "down"), "");
  cell.goodput.broken = false;
  EXPECT_NE(known_reason(cell, "requeue", "keys-broken"), "");
}

// The short form of `damper lab matrix`: three seeds of every cell, about 30 s of one core.
TEST(Matrix, NoDefenceDoesHarmWithoutAKnownReason) {
  if (DAMPER_INSTRUMENTED) GTEST_SKIP() << "takes minutes, and a sanitizer learns no more from it";
  const HarmMatrix matrix = matrix_of({}, {}, 3);
  EXPECT_GT(matrix.cells.size(), 200u);
  for (const HarmCell& cell : matrix.cells) {
    EXPECT_FALSE(cell.is_unexplained())
        << matrix.defences[cell.defence].name << ", " << matrix.troubles[cell.trouble].name
        << ": goodput " << cell.goodput.value.mean() << ", back after " << cell.back.value.mean()
        << " s, attempts " << cell.attempts.value.mean();
  }
}

TEST(Matrix, WithoutTroubleTheSystemServesEverything) {
  Scenario calm = troubles()[0].make();
  calm.faults.clear();
  const Record record = play(calm);
  EXPECT_GT(record.clients[0].succeeded, record.clients[0].requests * 995 / 1000);
}

TEST(Matrix, ResultsDoNotDependOnTheNumberOfThreads) {
  std::ostringstream one;
  std::ostringstream four;
  print_matrix_json(one, matrix_of({"retries", "breaker"}, {"errors-20", "cold-failure"}, 3, 1));
  print_matrix_json(four, matrix_of({"retries", "breaker"}, {"errors-20", "cold-failure"}, 3, 4));
  EXPECT_EQ(one.str(), four.str());
}

TEST(Matrix, RetriesHelpAgainstErrorsAndSendNoMoreThanTheirBudget) {
  const HarmMatrix matrix = matrix_of({"retries"}, {"errors-5"});
  ASSERT_EQ(matrix.cells.size(), 1u);
  EXPECT_TRUE(matrix.cells[0].holds());
  EXPECT_GT(matrix.cells[0].goodput.value.mean(), 1.01);
  EXPECT_GT(matrix.cells[0].attempts.value.mean(), 1.01);
  EXPECT_LT(matrix.cells[0].attempts.value.mean(), 1.10);
}

TEST(Matrix, ABreakerThatFlapsWithTheServiceIsSeenToLoseGoodput) {
  const HarmMatrix matrix = matrix_of({"breaker-row"}, {"flapping"});
  ASSERT_EQ(matrix.cells.size(), 1u);
  EXPECT_TRUE(matrix.cells[0].goodput.broken);
  EXPECT_FALSE(matrix.cells[0].attempts.broken);
}

TEST(Matrix, MoreAttemptsThanWithoutTheDefenceAreSeenAndNeedAReason) {
  const HarmMatrix matrix = matrix_of({"requeue"}, {"keys-broken"});
  ASSERT_EQ(matrix.cells.size(), 1u);
  HarmCell cell = matrix.cells[0];
  EXPECT_GT(cell.attempts.value.mean(), 1.005);
  EXPECT_TRUE(cell.attempts.broken);
  EXPECT_FALSE(cell.holds());
  EXPECT_FALSE(cell.is_unexplained());
  cell.reason = {};
  EXPECT_TRUE(cell.is_unexplained());
}

TEST(Matrix, AnUnknownNameAndRunsOutOfBoundsAreOneSentence) {
  const auto unknown = play_matrix({.defences = {"braker"}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find("there is no defence \"braker\""), std::string::npos)
      << unknown.error();
  EXPECT_NE(unknown.error().find("breaker"), std::string::npos);
  EXPECT_FALSE(play_matrix({.troubles = {"rain"}}));
  EXPECT_EQ(play_matrix({.runs = 0}).error(), "runs is 0; it must be from 1 to 1000");
}

TEST(Matrix, EveryReportHasEachCell) {
  HarmMatrix matrix = matrix_of({"breaker-row", "retries"}, {"flapping", "errors-5"});
  matrix.command = "damper lab matrix";
  std::ostringstream text;
  print_matrix_text(text, matrix, {});
  std::ostringstream html;
  print_matrix_html(html, matrix);
  std::ostringstream csv;
  print_matrix_csv(csv, matrix);
  std::ostringstream page;
  print_matrix_markdown(page, matrix);
  std::ostringstream json;
  print_matrix_json(json, matrix);
  for (const std::string& report : {text.str(), html.str(), csv.str(), page.str(), json.str()}) {
    for (const char* name : {"breaker-row", "retries", "flapping", "errors-5"}) {
      EXPECT_NE(report.find(name), std::string::npos) << report;
    }
  }
  EXPECT_EQ(text.str().substr(0, 9), "4 cells: ");
  EXPECT_EQ(std::ranges::count(csv.str(), '\n'), 5);
  for (const HarmCell& cell : matrix.cells) {
    std::string found = R"({"trouble":")";
    found.append(matrix.troubles[cell.trouble].name).append(R"(","defence":")");
    found.append(matrix.defences[cell.defence].name).append(R"(","holds":)");
    found.append(cell.holds() ? "true" : "false");
    EXPECT_NE(json.str().find(found), std::string::npos) << found << '\n' << json.str();
  }
}

}  // namespace
}  // namespace damper::lab
