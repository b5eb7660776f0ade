#pragma once

#include <iosfwd>
#include <string>

#include "damper/base/text/chart_text.h"
#include "damper/demo/storm.h"

namespace damper::demo {

// What `damper drill storm` prints. All of it is a function of the records.

using text::ReportStyle;

// What is going to happen, before it does.
void print_plot(std::ostream& out, const StormOptions& options);

// One line, without its end: how far the drill is.
[[nodiscard]] std::string progress_line(const StormOptions& options, const StormRecord& record);

// The charts, the table, how the guarded calls ended, each promise, and all of it in words.
void print_storm(std::ostream& out, const StormOptions& options, const StormRecord& record,
                 ReportStyle style);

// The same as one JSON object on one line.
void print_storm_json(std::ostream& out, const StormOptions& options, const StormRecord& record);

}  // namespace damper::demo
