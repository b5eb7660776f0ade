#pragma once

#include "damper/lab/runs/map.h"

namespace damper::lab {

// Three loads, two triggers, ten runs of each.
inline MapResult small_map() {
  MapResult map;
  map.title = "metastable-db";
  map.about = "A database that is cut off.";
  map.load_unit = "/s";
  map.trigger_unit = " s";
  map.trigger_name = "db held";
  map.loads = {100, 150, 200};
  map.triggers = {5, 10};
  map.cells = {{100, 5, {0, 10}},  {150, 5, {0, 10}},  {200, 5, {1, 10}},
               {100, 10, {0, 10}}, {150, 10, {4, 10}}, {200, 10, {10, 10}}};
  map.capacity = 300;
  map.hidden_capacity = 125;
  map.borders = find_borders(map);
  map.sure = SureBorder{.trigger = 10,
                        .safe = BorderEnd{110, {0, 160}, 111},
                        .sure = BorderEnd{190, {320, 320}, 189},
                        .runs = 1200};
  map.command = "damper lab map db.yaml";
  map.version = "1.2.3";
  return map;
}

}  // namespace damper::lab
