#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "damper/base/text/chart_text.h"
#include "damper/demo/demo_record.h"

namespace damper::demo {

// What `damper demo` prints. All of it is a function of the records.

// What is going to happen, before it does.
void print_demo_plot(std::ostream& out, Duration act);

// The act so far, for a terminal of 80 columns: always the same number of lines, each without its
// end. Both sides are drawn to the same scale, so that they can be compared.
[[nodiscard]] std::vector<std::string> demo_frame(const ActRecord& act, text::ReportStyle style);

// The last second of it, in one line.
[[nodiscard]] std::string demo_line(const ActRecord& act);

// The table, what held, and what the switch did.
void print_demo_summary(std::ostream& out, const DemoRecord& record, text::ReportStyle style);

// The rows of the summary's table, its header first.
[[nodiscard]] std::vector<std::vector<std::string>> demo_rows(const DemoRecord& record);

// What the kill switch did on each side; empty: it was not flipped.
[[nodiscard]] std::string switch_sentence(const ActRecord& act);

// One line: whether it held, and its sentence.
void print_promise(std::ostream& out, const Promise& promise, const text::Painter& paint);

// How long something took, for people: 31 ms, 1.3 s.
[[nodiscard]] std::string spent_text(Duration spent);

// The same as one page: see html_page.h. `version` is the program's.
void print_demo_html(std::ostream& out, const DemoRecord& record, const std::string& command,
                     const std::string& version);

}  // namespace damper::demo
