#include <gtest/gtest.h>

#include <cmath>

#include "damper/lab/published/published.h"

// Not under tsan: its threads are play_all's, which runs_test.cc shows.

namespace damper::lab {
namespace {

// Invariant (3) of reproduce(), with one run of each study: between the two orders no number moves
// by more than its tolerance, half of the accepted width. `damper lab reproduce --reverse-ties` has
// all runs.
TEST(PublishedTies, NoRowDependsOnTheOrderOfSimultaneousEvents) {
  const Reproduction in_order = reproduce({.most_runs = 1});
  const Reproduction reversed = reproduce({.most_runs = 1, .ties = timer::Ties::reversed});
  ASSERT_EQ(in_order.rows.size(), published_rows().size());
  ASSERT_EQ(reversed.rows.size(), in_order.rows.size());
  bool any_differs = false;
  for (std::size_t i = 0; i < reversed.rows.size(); ++i) {
    const PublishedRow& row = reversed.rows[i].row;
    if (!row.judged) continue;
    EXPECT_LE(std::abs(reversed.rows[i].ours - in_order.rows[i].ours), (row.high - row.low) / 2)
        << row.result << ": " << row.what << ", " << in_order.rows[i].ours << " and "
        << reversed.rows[i].ours;
    any_differs |= reversed.rows[i].ours != in_order.rows[i].ours;
  }
  EXPECT_TRUE(any_differs);  // Or they were not reversed.
}

}  // namespace
}  // namespace damper::lab
