#ifndef DAMPER_LAB_REPORT_REPORT_HTML_H_
#define DAMPER_LAB_REPORT_REPORT_HTML_H_

#include <iosfwd>

#include "damper/lab/report/report.h"

namespace damper::lab {

// The report as one HTML page that needs nothing else (html_page.h): what happens, what was
// promised, the charts that people look at (report_panels.h), the measures side by side, how
// requests ended, and how to run it again.
//
// Invariants:
//   (1) No script, nothing from a network, every name escaped.
//   (2) The same report gives the same bytes.
void print_html(std::ostream& out, const Report& report);

}  // namespace damper::lab

#endif  // DAMPER_LAB_REPORT_REPORT_HTML_H_
