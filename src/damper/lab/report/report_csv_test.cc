#include "damper/lab/report/report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "damper/lab/record/record_testing.h"

namespace damper::lab {
namespace {

std::string csv_of(const Report& report) {
  std::ostringstream out;
  print_csv(out, report);
  return out.str();
}

// Without the set and the seed, which are the same in all rows.
constexpr const char* kRows = R"(measure,,attempts_per_request,,1.6
measure,,attempts_per_request_in_fault,,3
measure,,attempts_at_bottom,,1.6
measure,,success,,70
measure,,goodput_at_end,,
measure,,collapsed,,
measure,,back_after,,
measure,,tallest_retries,,0
measure,,tallest_attempts,,2
measure,,arrivals_at_end,,
measure,,wasted,,12.5
measure,,refused,,0
measure,,deepest_queue,,0
measure,,hedges,,0
measure,,p50,,20.185088
measure,,p99,,796.91776
measure,,p999,,796.91776
measure,,over_half_second,,7.15
measure,,over_second,,0
measure,,requests,,200
measure,,attempts,,320
measure,,failed,,30
measure,,last_end,,9.99
measure,,runs_per_event,,
measure,,runs_per_event_in_fault,,
measure,,retried_runs,,
measure,,load_in_fault,,
measure,,peak_in_fault,,
measure,,queued_p99,,
measure,,settled_p99,,
measure,,failing_at_end,,
measure,,backlog_at_end,,
measure,,parked_at_end,,
verdict,users,success,,140
verdict,users,budget_spent,,60
clients,users,requests,0,10
clients,users,requests,0.5,10
clients,users,attempts,0,10
clients,users,attempts,0.5,10
clients,users,succeeded,0,10
clients,users,succeeded,0.5,10
clients,users,failed,0,0
clients,users,failed,0.5,0
clients,users,in_flight,0,0
clients,users,in_flight,0.5,0
clients,users,budget,0,3
clients,users,budget,0.5,3
clients,users,p50_ms,0,20
clients,users,p99_ms,0,20
clients,users,p999_ms,0,20
service,api,first_tries,0,10
service,api,first_tries,0.5,10
service,api,retries,0,0
service,api,retries,0.5,0
service,api,hedges,0,0
service,api,hedges,0.5,0
service,api,served,0,10
service,api,served,0.5,10
service,api,good,0,10
service,api,good,0.5,10
service,api,refused,0,0
service,api,refused,0.5,0
service,api,failed,0,0
service,api,failed,0.5,0
service,api,queued,0,0
service,api,queued,0.5,0
service,api,working,0,1
service,api,working,0.5,1
service,api,limit,0,0
service,api,limit,0.5,0
)";

TEST(ReportCsv, HasOneNumberARow) {
  std::string expected = "set,seed,kind,name,series,time_seconds,value\n";
  std::istringstream rows(kRows);
  for (std::string row; std::getline(rows, row);) {
    expected += "\"a \"\"b\"\", <c>\",1," + row + '\n';
  }
  EXPECT_EQ(csv_of(tiny_report()), expected);
}

TEST(ReportCsv, EveryRunOfEverySetIsThere) {
  Report report = small_report();
  report.sets[1].records.push_back(small_record(2, 1));
  const std::string csv = csv_of(report);
  EXPECT_NE(csv.find("\nnaive,1,measure,,attempts_per_request,,1.6\n"), std::string::npos);
  EXPECT_NE(csv.find("\nguarded,1,measure,,attempts_per_request,,1\n"), std::string::npos);
  EXPECT_NE(csv.find("\nguarded,2,measure,,attempts_per_request,,1.3\n"), std::string::npos);
  EXPECT_NE(csv.find("\nnaive,1,clients,users,p99_ms,2,\n"), std::string::npos);  // No success.
  EXPECT_NE(csv.find("\nnaive,1,service,api,retries,2.5,20\n"), std::string::npos);
}

TEST(ReportCsv, ControllersAreThere) {
  const std::string csv = csv_of(controlled_report());
  EXPECT_TRUE(has(csv, "\nnaive,1,controllers,pods,retries,2.5,20\n")) << csv;
  EXPECT_TRUE(has(csv, "\nguarded,1,controllers,pods,failing,4.5,12\n")) << csv;
}

TEST(ReportCsv, NamesAreQuoted) {
  Report report = small_report();
  report.sets[0].records[0].services[0].name = "a,b";
  report.sets[0].records[0].clients[0].name = "c\nd";
  const std::string csv = csv_of(report);
  EXPECT_NE(csv.find("\nnaive,1,service,\"a,b\",retries,0,0\n"), std::string::npos);
  EXPECT_NE(csv.find("\nnaive,1,clients,\"c\nd\",requests,0,10\n"), std::string::npos);
  EXPECT_NE(csv.find("\nnaive,1,verdict,\"c\nd\",success,,140\n"), std::string::npos);
}

TEST(ReportCsv, AnEmptyReportHasItsHeader) {
  EXPECT_EQ(csv_of({}), "set,seed,kind,name,series,time_seconds,value\n");
}

}  // namespace
}  // namespace damper::lab
