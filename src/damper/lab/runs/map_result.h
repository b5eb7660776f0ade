#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/lab/runs/interval.h"

namespace damper::lab {

// A MapResult shows where a system becomes metastable: load against the size of the trigger, and
// the share of runs that were still down at the end though the trigger was over.
//
// Model: the words are those of Bronson et al., "Metastable failures in distributed systems" (HotOS
// '21). A load is stable when no trigger tips it over, vulnerable when some does; metastable is the
// state that it does not leave by itself. So, with 95 % intervals:
//   metastable   collapse is sure: the interval's lower end is over a half
//   safe         nothing collapsed here, the interval's upper end is under a half, and none of the
//                swept triggers collapsed at this load in any run
//   vulnerable   what lies between: some runs collapsed, or none did but another trigger tips the
//                same load, or there were too few runs (fewer than four)
//   unknown      no run was made
enum class Region : std::uint8_t { unknown, safe, vulnerable, metastable };
inline constexpr std::array<std::string_view, 4> kRegionNames = {"unknown", "safe", "vulnerable",
                                                                 "metastable"};
[[nodiscard]] constexpr std::string_view name(Region region) noexcept {
  return kRegionNames[static_cast<std::size_t>(region)];
}

struct MapCell {
  double load = 0;
  double trigger = 0;
  Proportion collapsed{};  // k of n runs
};

// For one trigger: the highest load under which nothing collapsed, itself included, and the lowest
// load that collapses for sure.
struct Border {
  double trigger = 0;
  std::optional<double> safe{};
  std::optional<double> collapsed{};
};

struct MapResult {
  std::string title{};
  std::string about{};
  std::string load_unit{};         // after the numbers: "/s"
  std::string trigger_unit{};      // " s", " times"
  std::string trigger_name{};      // what it is: "db held"
  std::vector<double> loads{};     // ascending
  std::vector<double> triggers{};  // ascending
  std::vector<MapCell> cells{};    // row by row, a row for each trigger; may end early
  double capacity = 0;             // C, 0 when unknown
  double hidden_capacity = 0;      // C / w, 0 when unknown: stable below, whatever the trigger
  std::vector<Border> borders{};   // see find_borders()
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

// "250/s, 10 s: 37 of 50 collapsed, 0.740 (0.60 to 0.84), vulnerable"
[[nodiscard]] std::string describe_cell(const MapResult& map, std::size_t trigger,
                                        std::size_t load);

}  // namespace damper::lab
