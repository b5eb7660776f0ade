#pragma once

#include <iosfwd>
#include <string>

#include "damper/base/text/chart_text.h"
#include "damper/lab/published/published.h"

namespace damper::lab {

// A reproduction, for a terminal of 100 columns, for programs and for spreadsheets; each is a
// function of the reproduction alone.

// The rows under their results, with the source: theirs, ours, the 95 % interval, what is accepted,
// and whether ours is; then how many are. Rows out of tolerance have a line about their runs.
void print_text(std::ostream& out, const Reproduction& reproduction, text::ReportStyle style);

// One object on one line:
//   kind         "reproduction"
//   runs         that were made; asked_runs; interrupted
//   judged       rows that have a tolerance to keep; within: that keep it; holds: all do
//   rows         [{result, what, unit, theirs, ours, low, high, accepted_low, accepted_high,
//                  tolerance, judged, within, how, note, source}]: low to high is the 95 % interval
void print_json(std::ostream& out, const Reproduction& reproduction);

// A line for each row, with the fields of the JSON's rows (RFC 4180).
void print_csv(std::ostream& out, const Reproduction& reproduction);

// A number with as many decimals as the row's tolerance needs: "2,424", "0.740".
[[nodiscard]] std::string number_text(const PublishedRow& row, double number);

}  // namespace damper::lab
