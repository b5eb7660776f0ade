#include <gtest/gtest.h>

#include <sstream>

#include "damper/base/text/html_testing.h"
#include "damper/demo/demo_record_testing.h"
#include "damper/demo/demo_report.h"

namespace damper::demo {
namespace {

TEST(DemoHtml, ThePageHasEachActItsNumbersAndThePolicy) {
  DemoRecord record;
  for (const Act act : kActs) record.acts.push_back(example_act(act));
  record.acts[0].whole = false;
  record.policy = "routes: { \"<b>\": {} }\n";
  std::ostringstream out;
  print_demo_html(out, record, "damper demo --quick", "0.1.0");
  const std::string page = out.str();
  for (const Act act : kActs) {
    EXPECT_NE(page.find("<h2>" + std::string(plot(act).title) + "</h2>"), std::string::npos);
  }
  EXPECT_NE(page.find("An outage was interrupted."), std::string::npos);
  EXPECT_NE(page.find("routes: { &quot;&lt;b&gt;&quot;: {} }"), std::string::npos);
  EXPECT_NE(page.find("damper demo --quick"), std::string::npos);
  EXPECT_NE(page.find("Measured on this machine"), std::string::npos);
  EXPECT_EQ(text::find_html_error(page), "");
}

TEST(DemoHtml, ADemoThatSawNothingIsAPageToo) {
  DemoRecord record;
  record.acts.emplace_back();
  record.acts[0].times = times_of(Act::outage, std::chrono::seconds(2));
  std::ostringstream out;
  print_demo_html(out, record, "damper demo", "0.1.0");
  EXPECT_NE(out.str().find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace damper::demo
