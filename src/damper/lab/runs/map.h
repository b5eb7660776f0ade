#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/lab/runs/border.h"
#include "damper/lab/runs/interval.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// A MapResult shows where a system becomes metastable: load against the size of the trigger, and
// the share of runs that were still down at the end though the trigger was over.
//
// Model: the words are those of Bronson et al., "Metastable failures in distributed systems" (HotOS
// '21). A load is stable when no trigger tips it over, vulnerable when some does; metastable is the
// state that it does not leave by itself. So, with 95 % intervals:
//   sure         the interval's lower end is over 95 %
//   metastable   it is over a half
//   safe         the interval's upper end is under 5 %, and none of the swept triggers collapsed at
//                this load in any run
//   calm         no run collapsed at this load, here or with another trigger, but there were too
//                few (fewer than 73) to call it safe
//   vulnerable   what lies between: some runs collapsed, or none did but another trigger tips the
//                same load
//   unknown      no run was made
enum class Region : std::uint8_t { unknown, safe, calm, vulnerable, metastable, sure };
inline constexpr EnumNames<Region::sure> kRegionNames = {"unknown",    "safe",       "calm",
                                                         "vulnerable", "metastable", "sure"};
[[nodiscard]] constexpr std::string_view name(Region region) noexcept {
  return kRegionNames[region];
}

struct MapCell {
  double load = 0;
  double trigger = 0;
  Proportion collapsed{};  // k of n runs
};

// For one trigger, as far as the runs of the sweep show it: the highest load at and under which no
// run collapsed, and the lowest load that is metastable. Neither is safe or sure; see SureBorder.
struct Border {
  double trigger = 0;
  std::optional<double> calm{};
  std::optional<double> metastable{};
};

struct MapResult {
  std::string title{};
  std::string about{};
  std::string load_unit{};           // after the numbers: "/s"
  std::string trigger_unit{};        // " s", " times", " %", " % left"
  double trigger_scale = 1;          // of the number before the unit: 100 if the trigger is a share
  std::string trigger_name{};        // what it is: "db held"
  std::vector<double> loads{};       // ascending
  std::vector<double> triggers{};    // the mildest first: ascending, but what a cut leaves descends
  std::vector<MapCell> cells{};      // row by row, a row for each trigger; may end early
  double capacity = 0;               // C, 0 when unknown
  double capacity_at_most = 0;       // of an unknown C, a bound; 0: none
  std::string capacity_doubt{};      // why it is unknown (capacity.h)
  double hidden_capacity = 0;        // C / w, 0 when unknown: stable below, whatever the trigger
  std::vector<Border> borders{};     // see find_borders()
  std::optional<SureBorder> sure{};  // of the largest trigger
  bool interrupted = false;
  std::string command{};
  std::string version{};

  // The cell of these positions; an empty one when it is not there.
  [[nodiscard]] MapCell cell(std::size_t trigger, std::size_t load) const;
};

[[nodiscard]] Region region_of(const MapResult& map, std::size_t trigger, std::size_t load);

// The border of each trigger, as far as the cells show it.
[[nodiscard]] std::vector<Border> find_borders(const MapResult& map);

// Where a load lies on an axis of columns of equal width, in columns from the left: the middle of
// the first one is 0.5. Nothing when it is over half a column outside.
[[nodiscard]] std::optional<double> column_of(const std::vector<double>& loads, double load);

// "10 s", "3 times", "40 % left"
[[nodiscard]] std::string trigger_text(const MapResult& map, double trigger);

// "250/s, 10 s: 37 of 50 collapsed, 0.740 (0.60 to 0.84), vulnerable"
[[nodiscard]] std::string describe_cell(const MapResult& map, std::size_t trigger,
                                        std::size_t load);

struct MapOptions {
  int runs = 10;           // of each point, 1 to 10,000
  int border_runs = 3000;  // at most, for the border of the largest trigger; 0: it is not searched
  std::uint64_t seed = 1;  // of each point's first run
  unsigned threads = 0;    // 0: one for each core
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};
};

// The scenario with another load on its first clients (requests a second) and another size of its
// first fault: one point of the map.
//
// Model: the size of errors, a slowdown, a spike or a capacity cut is its `amount`, of any other
// fault its length in seconds; a length of 0 is no fault at all. The time after the fault stays
// what it was, so that a long trigger leaves as much time to recover as a short one.
[[nodiscard]] Scenario at_point(const Scenario& scenario, double load, double trigger);

// The reason why the scenario has no map: no clients with a load, or no fault.
[[nodiscard]] std::optional<config::Error> find_map_error(const Scenario& scenario);

// Sweeps load against the size of the trigger, as scenario.map sets it, and counts at each point
// the runs that are still down at the end, though the trigger is gone: a metastable failure
// (Bronson and others, HotOS 2021).
//
// Then it searches the border of the largest trigger (border.h) with at most `border_runs` runs.
// REQUIRES: !find_map_error(scenario).
[[nodiscard]] MapResult draw_map(const Scenario& scenario, const MapOptions& options);

}  // namespace damper::lab
