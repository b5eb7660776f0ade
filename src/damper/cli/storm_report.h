#ifndef DAMPER_CLI_STORM_REPORT_H_
#define DAMPER_CLI_STORM_REPORT_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "damper/cli/storm.h"

namespace damper::cli {

// What `damper drill storm` prints. All of it is a function of the records.

struct ReportStyle {
  bool colour = false;
};

// 12345 as 12,345.
[[nodiscard]] std::string with_commas(std::int64_t number);

// The values as columns of blocks, `rows` lines of text from the top down. A full column is `top`;
// each column shows the tallest of its `group` values, and what is not 0 is never invisible.
// REQUIRES: top > 0, group > 0.
[[nodiscard]] std::vector<std::string> draw_columns(const std::vector<int>& values, int group,
                                                    int top, int rows);

// What is going to happen, before it does.
void print_plot(std::ostream& out, const StormOptions& options);

// One line, without its end: how far the drill is.
[[nodiscard]] std::string progress_line(const StormProgress& progress);

// The charts, the table, how the guarded calls ended, each promise, and all of it in words.
void print_storm(std::ostream& out, const StormOptions& options, const StormRecord& record,
                 ReportStyle style);

// The same as one JSON object on one line.
void print_storm_json(std::ostream& out, const StormOptions& options, const StormRecord& record);

}  // namespace damper::cli

#endif  // DAMPER_CLI_STORM_REPORT_H_
