#include "damper/base/text/reduction.h"

#include <algorithm>
#include <cmath>

#include "damper/base/check.h"

namespace damper::text {

std::vector<double> reduced(std::span<const double> values, std::size_t most, Reduction reduction) {
  DAMPER_CHECK(most > 0);
  const std::size_t group = std::max<std::size_t>((values.size() + most - 1) / most, 1);
  std::vector<double> out;
  for (std::size_t i = 0; i < values.size(); i += group) {
    double greatest = std::nan("");
    double sum = 0;
    double count = 0;
    for (const double value : values.subspan(i, std::min(group, values.size() - i))) {
      if (std::isnan(value)) continue;
      greatest = count == 0 ? value : std::max(greatest, value);
      sum += value;
      ++count;
    }
    out.push_back(count == 0 || reduction == Reduction::greatest ? greatest : sum / count);
  }
  return out;
}

}  // namespace damper::text
