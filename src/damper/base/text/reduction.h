#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace damper::text {

// How a group of values becomes one point of a chart.
enum class Reduction : std::uint8_t { greatest, mean };

// Reduces the values to at most `most`. All groups but the last have the same, smallest possible,
// size. NaN is ignored, except in a group of only NaN. REQUIRES: most > 0.
[[nodiscard]] std::vector<double> reduced(std::span<const double> values, std::size_t most,
                                          Reduction reduction);

}  // namespace damper::text
