#include "damper/lab/runs/map_result.h"

#include <gtest/gtest.h>

#include "damper/lab/runs/map_testing.h"

namespace damper::lab {
namespace {

TEST(MapResult, RegionsAreThoseOfTheLiterature) {
  const MapResult map = small_map();
  EXPECT_EQ(region_of(map, 0, 0), Region::safe);        // 0 of 10, here and above
  EXPECT_EQ(region_of(map, 0, 1), Region::vulnerable);  // 0 of 10, but a larger trigger tips it
  EXPECT_EQ(region_of(map, 1, 1), Region::vulnerable);  // 4 of 10
  EXPECT_EQ(region_of(map, 0, 2), Region::vulnerable);  // 1 of 10
  EXPECT_EQ(region_of(map, 1, 2), Region::metastable);  // 10 of 10
}

TEST(MapResult, CollapseIsSureWhenTheIntervalSaysSo) {
  MapResult map = small_map();
  map.cells[5].collapsed = {.k = 3, .n = 4};  // 0.30 to 0.95
  EXPECT_EQ(region_of(map, 1, 2), Region::vulnerable);
  map.cells[5].collapsed = {.k = 4, .n = 4};  // 0.51 to 1
  EXPECT_EQ(region_of(map, 1, 2), Region::metastable);
  map.cells[5].collapsed = {.k = 3, .n = 3};  // 0.44 to 1
  EXPECT_EQ(region_of(map, 1, 2), Region::vulnerable);
}

TEST(MapResult, AFewRunsProveNothing) {
  MapResult map = small_map();
  map.cells[0].collapsed = {.k = 0, .n = 3};  // 0 to 0.56
  EXPECT_EQ(region_of(map, 0, 0), Region::vulnerable);
  map.cells[0].collapsed = {.k = 0, .n = 4};  // 0 to 0.49
  EXPECT_EQ(region_of(map, 0, 0), Region::safe);
}

TEST(MapResult, WhatWasNotRunIsUnknown) {
  MapResult map = small_map();
  map.cells.resize(5);
  EXPECT_EQ(region_of(map, 1, 2), Region::unknown);
  EXPECT_EQ(map.cell(1, 2).load, 200);
  EXPECT_EQ(map.cell(1, 2).trigger, 10);
  EXPECT_EQ(map.cell(1, 2).collapsed.n, 0);
  EXPECT_EQ(describe_cell(map, 1, 2), "200/s, 10 s: not run");
}

TEST(MapResult, BordersAreReadFromTheCells) {
  MapResult map = small_map();
  auto borders = find_borders(map);
  ASSERT_EQ(borders.size(), 2U);
  EXPECT_EQ(borders[0].trigger, 5);
  EXPECT_EQ(borders[0].safe, 150);
  EXPECT_EQ(borders[0].collapsed, std::nullopt);
  EXPECT_EQ(borders[1].safe, 100);
  EXPECT_EQ(borders[1].collapsed, 200);
  map.cells[0].collapsed.k = 1;  // What lies above a collapse is not safe.
  EXPECT_EQ(find_borders(map)[0].safe, std::nullopt);
  map.cells[0].collapsed = {};  // Nor is what lies above the unknown.
  EXPECT_EQ(find_borders(map)[0].safe, std::nullopt);
}

TEST(MapResult, ALoadHasItsPlaceBetweenTheColumns) {
  const std::vector<double> loads = {100, 150, 250};
  EXPECT_EQ(column_of(loads, 100), 0.5);
  EXPECT_EQ(column_of(loads, 125), 1.0);
  EXPECT_EQ(column_of(loads, 150), 1.5);
  EXPECT_EQ(column_of(loads, 200), 2.0);
  EXPECT_EQ(column_of(loads, 300), 3.0);
  EXPECT_EQ(column_of(loads, 301), std::nullopt);
  EXPECT_EQ(column_of(loads, 75), 0.0);
  EXPECT_EQ(column_of(loads, 74), std::nullopt);
  EXPECT_EQ(column_of({100}, 100), std::nullopt);
  EXPECT_EQ(column_of({100, 100}, 100), std::nullopt);  // No axis.
}

TEST(MapResult, ACellSaysHowSureItIs) {
  EXPECT_EQ(describe_cell(small_map(), 1, 1),
            "150/s, 10 s: 4 of 10 collapsed, 0.400 (0.17 to 0.69), vulnerable");
}

TEST(MapResult, RegionsHaveNames) {
  EXPECT_EQ(name(Region::unknown), "unknown");
  EXPECT_EQ(name(Region::metastable), "metastable");
}

}  // namespace
}  // namespace damper::lab
