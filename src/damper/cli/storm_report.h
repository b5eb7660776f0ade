#ifndef DAMPER_CLI_STORM_REPORT_H_
#define DAMPER_CLI_STORM_REPORT_H_

#include <iosfwd>
#include <string>

#include "damper/cli/storm.h"
#include "damper/lab/chart_text.h"

namespace damper::cli {

// What `damper drill storm` prints. All of it is a function of the records.

using lab::ReportStyle;

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
