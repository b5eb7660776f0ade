#include "damper/observe/exposition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace damper::observe {
namespace {

TEST(Exposition, TheTextDoesNotDependOnTheOrderOfTheSamples) {  // Invariant (1).
  Exposition forwards(10);
  forwards.counter("a_total", "A.", {{"k", "1"}}, 1);
  forwards.counter("a_total", "A.", {{"k", "2"}}, 2);
  forwards.gauge("b", "B.", {}, 0.5);
  Exposition backwards(10);
  backwards.gauge("b", "B.", {}, 0.5);
  backwards.counter("a_total", "A.", {{"k", "2"}}, 2);
  backwards.counter("a_total", "A.", {{"k", "1"}}, 1);
  EXPECT_EQ(forwards.text(), backwards.text());
  EXPECT_EQ(forwards.text(),
            "# HELP a_total A.\n# TYPE a_total counter\na_total{k=\"1\"} 1\na_total{k=\"2\"} 2\n"
            "# HELP b B.\n# TYPE b gauge\nb 0.5\n");
}

TEST(Exposition, OfOneSeriesTheFirstSampleStands) {  // Invariant (2).
  Exposition out(10);
  out.gauge("g", "G.", {{"a", "1"}, {"b", "2"}}, 1);
  out.gauge("g", "G.", {{"b", "2"}, {"a", "1"}}, 2);
  EXPECT_EQ(out.text(), "# HELP g G.\n# TYPE g gauge\ng{a=\"1\",b=\"2\"} 1\n");
  EXPECT_EQ(out.dropped().at("g"), 1u);
}

TEST(Exposition, SeriesOverTheLimitAreDroppedAndCounted) {  // Invariant (3).
  Exposition out(2);
  for (int i = 0; i < 5; ++i) out.gauge("g", "G.", {{"i", std::to_string(i)}}, i);
  for (int i = 0; i < 3; ++i) {
    out.histogram("h", "H.", {{"i", std::to_string(i)}}, {{1}, {1, 0}, 0.5});
  }
  out.gauge("other", "O.", {}, 1);
  EXPECT_EQ(out.dropped().at("g"), 3u);
  EXPECT_EQ(out.dropped().at("h"), 1u);
  EXPECT_FALSE(out.dropped().contains("other"));
  EXPECT_NE(out.text().find("g{i=\"1\"} 1\n# HELP h"), std::string::npos);
  EXPECT_EQ(out.text().find("i=\"2\""), std::string::npos);
}

TEST(Exposition, BucketsAreCumulativeAndTheLastOneIsTheCount) {
  Exposition out(1);
  out.histogram("h", "H.", {}, {{0.5, 1}, {1, 2, 4}, 9.25});
  EXPECT_EQ(out.text(),
            "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 1\nh_bucket{le=\"1\"} 3\n"
            "h_bucket{le=\"+Inf\"} 7\nh_sum 9.25\nh_count 7\n");
}

TEST(Exposition, OneNameWithTwoMeaningsIsABug) {
  Exposition out(1);
  out.gauge("g", "G.", {}, 1);
  EXPECT_DEATH(out.counter("g", "G.", {}, 1), "check failed");
  EXPECT_DEATH(out.gauge("g", "H.", {}, 1), "check failed");
  EXPECT_DEATH(out.gauge("g-g", "G.", {}, 1), "check failed");
  EXPECT_DEATH(out.histogram("h", "H.", {}, {{1}, {1}, 0}), "check failed");
}

}  // namespace
}  // namespace damper::observe
