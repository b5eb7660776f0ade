#ifndef DAMPER_LAB_REPORT_REPORT_JSON_H_
#define DAMPER_LAB_REPORT_REPORT_JSON_H_

#include <iosfwd>

#include "damper/lab/report/report.h"

namespace damper::lab {

// Everything that a report knows, as one JSON object on one line, its fields always in this order:
//
//   kind         "report"
//   title, about, command, version
//   interrupted  whether fewer runs are there than were asked for; asked_runs: how many were
//   promises     [{sentence, held, checked}]
//   sets         [{label, scenario, variant, policy, faults, measures, collapsed, verdicts, runs}]
//     faults       [{kind, on, at_seconds, length_seconds, requests, amount}]
//     measures     {name: {unit, runs, mean, low, high, values}}: low to high is the 95 % interval
//                  of the mean; values are those of the runs, null where there is none
//     collapsed    {runs, collapsed, probability, low, high}: Wilson's 95 % interval
//     verdicts     {verdict: requests of the first clients}, all runs together, none with 0
//     runs         [{seed, trace_hash, events, last_end_seconds, bucket_seconds,
//                    latency_bucket_seconds, clients, services}]
//       trace_hash   16 hexadecimal digits: equal when the runs were
//       clients      [{name, requests, attempts, succeeded, failed, unfinished, requests_in_fault,
//                      attempts_in_fault, latency, series, latency_series}]: latency is of the
//                    whole run, {p50_ms, p99_ms, p999_ms}
//       services     [{name, first_tries, attempts, hedges, served, good, refused, series}]
//         series       {name: [a value for each bucket]}; the names and what they mean: record.h
void print_json(std::ostream& out, const Report& report);

}  // namespace damper::lab

#endif  // DAMPER_LAB_REPORT_REPORT_JSON_H_
