#ifndef DAMPER_LAB_REPORT_REPORT_CSV_H_
#define DAMPER_LAB_REPORT_REPORT_CSV_H_

#include <iosfwd>

#include "damper/lab/report/report.h"

namespace damper::lab {

// Everything that a report has counted, as a CSV file (RFC 4180) in long format: one number a row.
//
// Why: clients and services have different series, and runs different numbers of them; data frames
// in R and pandas want a row for each observation, and pivot it themselves.
//
//   set           what the report calls the variant or the policy
//   seed          of the run
//   kind          measure: a number of the whole run (measure.h)
//                 verdict: how many requests of the clients `name` ended so
//                 clients, service: a bucket of a series (record.h)
//   name          of the clients or the service; empty for a measure
//   series        of the measure, the verdict or the series
//   time_seconds  when the bucket begins; empty for what is of the whole run
//   value         empty when there is none
//
//   df[df.kind == "service"].pivot_table(index="time_seconds", columns=["set", "series"],
//                                        values="value")
void print_csv(std::ostream& out, const Report& report);

}  // namespace damper::lab

#endif  // DAMPER_LAB_REPORT_REPORT_CSV_H_
