#ifndef DAMPER_LAB_REPORT_REPORT_TEXT_H_
#define DAMPER_LAB_REPORT_REPORT_TEXT_H_

#include <iosfwd>

#include "damper/base/text/chart_text.h"
#include "damper/lab/report/report.h"

namespace damper::lab {

// What a person reads first, on a terminal of 100 columns: what happens, what arrives at the
// service that the clients call (and at the end of the chain, if that is another one) and how much
// of its work is still wanted, over time; then the measures side by side, how requests ended, and
// what was promised.
//
// Model: charts are of each set's first run, all on the same scale; numbers are of all runs.
void print_text(std::ostream& out, const Report& report, text::ReportStyle style);

// The promises alone, a line for each.
void print_promises(std::ostream& out, const Report& report, text::ReportStyle style);

}  // namespace damper::lab

#endif  // DAMPER_LAB_REPORT_REPORT_TEXT_H_
