#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace damper::observe {

// A series' labels: name and value. The order does not matter.
using Labels = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t kMostLabels = 16;          // in one series
inline constexpr std::size_t kLongestLabelValue = 256;  // bytes; what is longer is cut off

// Whether Prometheus accepts the name: [a-zA-Z_:][a-zA-Z0-9_:]* for a metric; for a label the same
// without colons, not beginning with two underscores, and not `le`, which histograms need.
[[nodiscard]] bool is_metric_name(std::string_view name);
[[nodiscard]] bool is_label_name(std::string_view name);

// The labels as the text format writes them, sorted by name, without the braces:
// code="503",host="a". Empty when there are none.
//
// Why: one label value that is not UTF-8 makes Prometheus throw the whole scrape away, and values
// come from configuration and requests. What is not UTF-8 becomes U+FFFD; a backslash, a quote and
// a line feed are escaped; a value over kLongestLabelValue bytes is cut off between characters.
// REQUIRES: at most kMostLabels, their names valid and different.
[[nodiscard]] std::string render(const Labels& labels);

// A HELP line's text: backslashes and line feeds escaped.
[[nodiscard]] std::string render_help(std::string_view help);

// A value as the text format writes it: the shortest decimals that read back as the same, with an
// exponent under 0.0001 and from 1e15 on; NaN, +Inf and -Inf.
[[nodiscard]] std::string render(double value);

}  // namespace damper::observe
