// Input: the text of a distribution. A valid one is printed and parsed to an equal one, and its
// samples are within bounds; the error of an invalid one is a short, printable sentence.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/base/random.h"
#include "damper/lab/scenario/distribution.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper;
  using namespace damper::lab;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_distribution(text);
  if (!parsed) {
    DAMPER_CHECK(!parsed.error().empty() && parsed.error().size() < 500);
    for (const char c : parsed.error()) DAMPER_CHECK(c >= ' ' && c <= '~');
    return 0;
  }
  DAMPER_CHECK(!find_error(*parsed));
  const std::string written = to_text(*parsed);
  const auto back = parse_distribution(written);
  DAMPER_CHECK(back && *back == *parsed && to_text(*back) == written);
  for (const double draw : {0.0, 0x1.0p-53, 0.5, 0.999, kLargestDraw}) {
    const Duration sample = parsed->sample(draw);
    DAMPER_CHECK(sample >= Duration{0} && sample <= kLongest);
    const Duration quantile = parsed->quantile(draw);
    DAMPER_CHECK(quantile >= Duration{0} && quantile <= kLongest);
  }
  DAMPER_CHECK(parsed->mean() >= Duration{0} && parsed->mean() <= kLongest);
  return 0;
}
