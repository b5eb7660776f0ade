#ifndef DAMPER_BASE_TEXT_REDUCTION_H_
#define DAMPER_BASE_TEXT_REDUCTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace damper::text {

// Few values for many, so that a day fits a chart: the greatest of each group, or its mean.
enum class Reduction : std::uint8_t { greatest, mean };

// At most `most` values. All groups but the last have the same size, as small as possible. What is
// not a number does not count, unless there is nothing else. REQUIRES: most > 0.
[[nodiscard]] std::vector<double> reduced(std::span<const double> values, std::size_t most,
                                          Reduction reduction);

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_REDUCTION_H_
