#include "damper/lab/published/published_report.h"

#include <gtest/gtest.h>

#include <sstream>

namespace damper::lab {
namespace {

Reproduction three_rows() {
  const PublishedRow calls{.result = "Backoff",
                           .what = "calls",
                           .theirs = 2424.31,
                           .low = 2400,
                           .high = 2448,
                           .tolerance = "within 1 %",
                           .source = "Brooker, \"Backoff\", 2015"};
  PublishedRow time = calls;
  time.what = "time";
  time.unit = "ms";
  time.note = "ours has no atom";
  time.judged = false;
  const PublishedRow share{.result = "Collapse",
                           .what = "P(collapsed)",
                           .theirs = 0.74,
                           .low = 0.72,
                           .high = 0.76,
                           .tolerance = "0.72 to 0.76",
                           .source = "Somebody, 2021"};
  return {.rows = {{calls, 2422.7, {2419.4, 2426}, true, "400 runs of a"},
                   {time, 3000, {2990, 3010}, false, "400 runs of a"},
                   {share, 0.7712, {0.7688, 0.7734}, false, "10 runs of b"}},
          .runs = 410,
          .asked = 410,
          .interrupted = false};
}

std::string text_of(const Reproduction& reproduction) {
  std::ostringstream out;
  print_text(out, reproduction, {});
  return out.str();
}

TEST(PublishedReport, ATextHasTheRowsUnderTheirResultsAndSaysWhatIsNotWithin) {
  EXPECT_EQ(text_of(three_rows()),
            R"(Backoff
  Brooker, "Backoff", 2015
                  theirs      ours   95 % interval      accepted  within
  calls            2,424     2,423  2,419 to 2,426    within 1 %  yes
  time          2,424 ms  3,000 ms  2,990 to 3,010    within 1 %  -
  Note: ours has no atom.

Collapse
  Somebody, 2021
                  theirs      ours   95 % interval      accepted  within
  P(collapsed)     0.740     0.771  0.769 to 0.773  0.72 to 0.76  NO
  10 runs of b

1 of 2 rows are within tolerance.
)");
}

TEST(PublishedReport, AnInterruptedOneSaysHowFarItCame) {
  Reproduction early = three_rows();
  early.asked = 5000;
  early.interrupted = true;
  EXPECT_TRUE(text_of(early).ends_with(
      "1 of 2 rows are within tolerance. Interrupted: 410 of 5,000 runs are done.\n"));
  EXPECT_FALSE(early.holds());
}

TEST(PublishedReport, JsonHasEveryFieldInItsOrder) {
  Reproduction one = three_rows();
  one.rows.resize(1);
  std::ostringstream out;
  print_json(out, one);
  EXPECT_EQ(out.str(),
            R"({"kind":"reproduction","runs":410,"asked_runs":410,"interrupted":false,"judged":1,)"
            R"("within":1,"holds":true,"rows":[{"result":"Backoff","what":"calls","unit":"",)"
            R"("theirs":2424.31,"ours":2422.7,"low":2419.4,"high":2426,"accepted_low":2400,)"
            R"("accepted_high":2448,"tolerance":"within 1 %","judged":true,"within":true,)"
            R"("how":"400 runs of a","note":"","source":"Brooker, \"Backoff\", 2015"}]})"
            "\n");
}

TEST(PublishedReport, CsvHasALineForEachRowUnderTheNamesOfItsFields) {
  Reproduction one = three_rows();
  one.rows.resize(1);
  std::ostringstream out;
  print_csv(out, one);
  EXPECT_EQ(out.str(),
            "result,what,unit,theirs,ours,low,high,accepted_low,accepted_high,tolerance,judged,"
            "within,how,note,source\n"
            "Backoff,calls,,2424.31,2422.7,2419.4,2426,2400,2448,within 1 %,true,true,400 runs of "
            "a,,\"Brooker, \"\"Backoff\"\", 2015\"\n");
}

TEST(PublishedReport, ANumberHasTheDecimalsThatItsToleranceNeeds) {
  const auto text = [](double low, double high, double number) {
    return number_text({.low = low, .high = high}, number);
  };
  EXPECT_EQ(text(2400, 2448, 2424.31), "2,424");
  EXPECT_EQ(text(787.6, 803.5, 796.14), "796.1");
  EXPECT_EQ(text(0.72, 0.76, 0.7425), "0.743");
  EXPECT_EQ(text(0.895, 0.905, 0.9), "0.9000");
  EXPECT_EQ(text(1, 1, 1), "1.0000");
}

}  // namespace
}  // namespace damper::lab
