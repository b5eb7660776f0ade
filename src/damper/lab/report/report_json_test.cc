#include "damper/lab/report/report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "damper/lab/record/record_testing.h"

namespace damper::lab {
namespace {

std::string json_of(const Report& report) {
  std::ostringstream out;
  print_json(out, report);
  return out.str();
}

TEST(ReportJson, SaysEverythingInAFixedOrder) {
  EXPECT_EQ(
      json_of(tiny_report()),
      R"({"kind":"report","title":"storm","about":"An API that is down for a while.",)"
      R"("command":"damper lab run storm --seed 1","version":"1.2.3","interrupted":false,)"
      R"("asked_runs":2,"promises":[{"sentence":"a \"b\", <c>: success is 70 %, at least 75 %",)"
      R"("held":false,"checked":true}],"sets":[{"label":"a \"b\", <c>","scenario":"a \"b\", <c>",)"
      R"("variant":"","policy":"naive","faults":[{"kind":"down","on":"api","at_seconds":2,)"
      R"("length_seconds":3,"requests":0,"amount":1}],"measures":{"attempts_per_request":{)"
      R"("unit":"","runs":1,"mean":1.6,"low":1.6,"high":1.6,"values":[1.6]},)"
      R"("attempts_per_request_in_fault":{"unit":"","runs":1,"mean":3,"low":3,"high":3,"values":[)"
      R"(3]},"attempts_at_bottom":{"unit":"","runs":1,"mean":1.6,"low":1.6,"high":1.6,"values":[)"
      R"(1.6]},"success":{"unit":"%","runs":1,"mean":70,"low":70,"high":70,"values":[70]},)"
      R"("goodput_at_end":{"unit":"%","runs":0,"mean":null,"low":null,"high":null,"values":[)"
      R"(null]},"collapsed":{"unit":"","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("back_after":{"unit":"s","runs":0,"mean":null,"low":null,"high":null,"values":[null]},)"
      R"("tallest_retries":{"unit":"","runs":1,"mean":0,"low":0,"high":0,"values":[0]},)"
      R"("tallest_attempts":{"unit":"","runs":1,"mean":2,"low":2,"high":2,"values":[2]},)"
      R"("arrivals_at_end":{"unit":"/s","runs":0,"mean":null,"low":null,"high":null,"values":[)"
      R"(null]},"wasted":{"unit":"%","runs":1,"mean":12.5,"low":12.5,"high":12.5,"values":[)"
      R"(12.5]},"refused":{"unit":"%","runs":1,"mean":0,"low":0,"high":0,"values":[0]},)"
      R"("deepest_queue":{"unit":"","runs":1,"mean":0,"low":0,"high":0,"values":[0]},"hedges":{)"
      R"("unit":"%","runs":1,"mean":0,"low":0,"high":0,"values":[0]},"p50":{"unit":"ms","runs":1,)"
      R"("mean":20.185088,"low":20,"high":20.447231,"values":[20.185088]},"p99":{)"
      R"("unit":"ms","runs":1,"mean":796.91776,"low":788.529152,"high":800,"values":[)"
      R"(796.91776]},"p999":{"unit":"ms","runs":1,"mean":796.91776,"low":788.529152,)"
      R"("high":800,"values":[796.91776]},"over_half_second":{"unit":"%","runs":1,)"
      R"("mean":7.15,"low":7.15,"high":7.15,"values":[7.15]},"over_second":{"unit":"%","runs":1,)"
      R"("mean":0,"low":0,"high":0,"values":[0]},"requests":{"unit":"","runs":1,"mean":200,)"
      R"("low":200,"high":200,"values":[200]},"attempts":{"unit":"","runs":1,"mean":320,)"
      R"("low":320,"high":320,"values":[320]},"failed":{"unit":"%","runs":1,"mean":30,"low":30,)"
      R"("high":30,"values":[30]},"last_end":{"unit":"s","runs":1,"mean":9.99,"low":9.99,)"
      R"("high":9.99,"values":[9.99]},)"
      R"("runs_per_event":{"unit":"","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("runs_per_event_in_fault":{"unit":"","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("retried_runs":{"unit":"%","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("load_in_fault":{"unit":"/s","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("peak_in_fault":{"unit":"/s","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("queued_p99":{"unit":"ms","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("settled_p99":{"unit":"ms","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("failing_at_end":{"unit":"","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("backlog_at_end":{"unit":"","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]},)"
      R"("parked_at_end":{"unit":"","runs":0,"mean":null,"low":null,"high":null,)"
      R"("values":[null]}})"
      R"(,"collapsed":{"runs":0,"collapsed":0,"probability":0,)"
      R"("low":0,"high":1},"verdicts":{"success":140,"budget_spent":60},"runs":[)"
      R"({"seed":1,"trace_hash":"000000000000abc1","events":1001,"last_end_seconds":9.99,)"
      R"("bucket_seconds":0.5,"latency_bucket_seconds":1,"clients":[{"name":"users",)"
      R"("requests":200,"attempts":320,"succeeded":140,"failed":60,"unfinished":0,)"
      R"("requests_in_fault":60,"attempts_in_fault":180,"latency":{"p50_ms":20.185088,)"
      R"("p99_ms":796.91776,"p999_ms":796.91776},"series":{"requests":[10,10],"attempts":[10,10],)"
      R"("succeeded":[10,10],"failed":[0,0],"in_flight":[0,0],"budget":[3,3]},"latency_series":{)"
      R"("p50_ms":[20],"p99_ms":[20],"p999_ms":[20]}}],"services":[{"name":"api",)"
      R"("first_tries":200,"attempts":320,"hedges":0,"served":160,"good":140,"refused":0,)"
      R"("series":{"first_tries":[10,10],"retries":[0,0],"hedges":[0,0],"served":[10,10],"good":[)"
      R"(10,10],"refused":[0,0],"failed":[0,0],"queued":[0,0],"working":[1,1],"limit":[0,)"
      R"(0]}}]}]}]})"
      "\n");
}

TEST(ReportJson, EverySetAndEveryRunIsThere) {
  Report report = small_report();
  report.sets[1].records.push_back(small_record(2, 1));
  const std::string json = json_of(report);
  EXPECT_NE(json.find(R"({"label":"naive","scenario":"storm","variant":"naive","policy":"naive",)"),
            std::string::npos);
  EXPECT_NE(json.find(R"({"seed":2,"trace_hash":"000000000000abc2","events":1002,)"),
            std::string::npos);
  EXPECT_NE(json.find(R"("unit":"","runs":2,"mean":1.15,"low":)"), std::string::npos);
  EXPECT_NE(json.find(R"("values":[1,1.3]})"), std::string::npos);
}

TEST(ReportJson, ControllersAreThere) {
  const std::string json = json_of(controlled_report());
  EXPECT_TRUE(has(json, R"("clients":[],"controllers":[{"name":"pods","events":200,"runs":320,)"
                        R"("retries":120,"succeeded":140,"failed":180,"events_in_fault":60,)"
                        R"("runs_in_fault":160,"queued":{"p50_ms":)"))
      << json;
  EXPECT_TRUE(has(json, R"("parked":[0,0,0,0,0,0,0,0,0,0,0,0,0,1,1,1,1,1,1,1])")) << json;
  EXPECT_FALSE(has(json_of(small_report()), "controllers"));
}

TEST(ReportJson, AnEmptyReportIsAnObjectToo) {
  EXPECT_EQ(json_of({}), R"({"kind":"report","title":"","about":"","command":"","version":"",)"
                         R"("interrupted":false,"asked_runs":0,"promises":[],"sets":[]})"
                         "\n");
}

}  // namespace
}  // namespace damper::lab
