#include "damper/lab/report/report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "damper/base/text/html_page.h"
#include "damper/base/text/html_testing.h"
#include "damper/lab/record/record_testing.h"
#include "damper/lab/report/report_panels.h"

namespace damper::lab {
namespace {

std::string html_of(const Report& report) {
  std::ostringstream out;
  print_html(out, report);
  return out.str();
}

TEST(ReportHtml, HasTheChartsOfEverySet) {
  const std::string html = html_of(promising_report());
  EXPECT_EQ(text::find_html_error(html), "");
  for (const Panel& panel : panels(promising_report())) {
    EXPECT_TRUE(has(html, "<h2>" + panel.title + "</h2>")) << panel.title;
    for (const Panel::Figure& figure : panel.figures) {
      EXPECT_TRUE(
          has(html, "<figcaption>" + figure.label + "</figcaption>" + text::draw_svg(figure.chart)))
          << panel.title << figure.label;
    }
  }
  EXPECT_TRUE(has(html, "<span class=\"swatch retry\"></span>retries</li>"));
  EXPECT_TRUE(has(html, "<span class=\"swatch thin high\"></span>p99</li>"));
  EXPECT_TRUE(has(html, "a fault is on"));
}

TEST(ReportHtml, SaysWhatHappensAndWhatHeld) {
  const std::string html = html_of(promising_report());
  EXPECT_TRUE(has(html, "<li><span class=\"when\">2s to 5s</span>api is down: transient, at once"));
  EXPECT_TRUE(has(html, "<p class=\"note\">1 of 2 held.</p>"));
  EXPECT_TRUE(has(html,
                  "<li class=\"promise held\"><b>✓ held</b> naive: "
                  "attempts_per_request_in_fault is 3, at least 2</li>"));
  EXPECT_TRUE(has(html, "<li class=\"promise broken\"><b>✗ broken</b> guarded: "));
  EXPECT_TRUE(has(html, "<li class=\"promise skipped\"><b>skipped</b> guarded: "));
}

TEST(ReportHtml, HasTheNumbersAndHowToGetThemAgain) {
  const std::string html = html_of(small_report());
  EXPECT_TRUE(has(html,
                  "<tr><th scope=\"row\">attempts_per_request<small>Attempts sent for each "
                  "request</small></th><td>1.6</td><td>1</td></tr>"));
  EXPECT_TRUE(has(html, "<tr><th scope=\"row\">budget_spent</th><td>60</td><td>60</td></tr>"));
  EXPECT_FALSE(has(html, "<th scope=\"row\">shed</th>"));
  EXPECT_TRUE(has(html, "<pre><code>damper lab run storm --seed 1</code></pre>"));
  EXPECT_TRUE(has(html,
                  "<tr><th scope=\"row\">naive</th><td>naive</td><td>1</td><td>1,001</td>"
                  "<td>000000000000abc1</td></tr>"));
  EXPECT_FALSE(has(html, "95 %"));
  EXPECT_FALSE(has(html, "What was promised"));
}

TEST(ReportHtml, ManyRunsHaveIntervals) {
  Report report = small_report();
  report.sets[0].records.push_back(small_record(2, 1));
  report.interrupted = true;
  report.asked_runs = 9;
  const std::string html = html_of(report);
  EXPECT_TRUE(has(html, "95 % interval"));
  EXPECT_TRUE(has(html, "<tr><th scope=\"row\">runs</th><td>2</td><td>1</td></tr>"));
  EXPECT_TRUE(has(html, "<td>1.45 ±1.9</td>"));
  EXPECT_TRUE(has(html, "<section class=\"interrupted\">Interrupted: 3 of 9 runs are done."));
}

TEST(ReportHtml, FaultsThatDifferStandWithTheirVariant) {
  Report report = small_report();
  report.sets[0].scenario.faults.clear();
  const std::string html = html_of(report);
  EXPECT_TRUE(has(html, "<p><b>naive</b></p>\n<ul class=\"plain\">\n<li>No fault.</li>"));
  report.sets[1].scenario.faults.clear();
  EXPECT_FALSE(has(html_of(report), "a fault is on"));
}

TEST(ReportHtml, NoNameGetsOut) {
  const std::string hostile = "\"><script>alert('x')</script><img src=x onerror=y>&\x1b\n";
  Report report = small_report();
  report.title = report.about = report.command = report.version = hostile;
  for (RunSet& set : report.sets) {
    set.scenario.name = hostile;
    set.scenario.variant = hostile + set.scenario.variant;
    set.scenario.faults[0].on = hostile;
    set.scenario.clients[0].calls = hostile;
    set.scenario.expect = {{.measure = hostile, .at_most = 1.0},
                           {.measure = "p99", .of = hostile, .at_most = 1.0}};
    set.records[0].policy = set.records[0].title = hostile;
    set.records[0].services[0].name = set.records[0].clients[0].name = hostile;
  }
  std::string html = html_of(report);
  // As words it may stand there: it is text.
  for (const std::string_view word : {" src=", " onerror"}) {
    for (std::size_t at = 0; (at = html.find(word)) != std::string::npos;) {
      html.replace(at, word.size(), " ");
    }
  }
  EXPECT_EQ(text::find_html_error(html), "");
  EXPECT_FALSE(has(html, "\x1b"));
}

TEST(ReportHtml, AnEmptyReportIsAPageToo) {
  EXPECT_EQ(text::find_html_error(html_of({})), "");
  Report report = small_report();
  for (RunSet& set : report.sets) set.records.clear();
  EXPECT_EQ(text::find_html_error(html_of(report)), "");
  report = small_report();
  report.sets[0].records[0].clients.clear();
  report.sets[0].records[0].services.clear();
  EXPECT_EQ(text::find_html_error(html_of(report)), "");
}

TEST(ReportHtml, EveryInkHasItsColour) {
  const std::string style(text::page_style());
  Report report = small_report();
  report.sets[0].records[0].services[0].ticks[3].hedges = 1;
  report.sets[0].records[0].services[0].ticks[3].limit = 1;
  std::size_t keys = 0;
  for (const Panel& panel : panels(report)) {
    for (const Panel::Key& key : panel.keys) {
      ++keys;
      EXPECT_TRUE(has(style, ".swatch." + key.ink + " {")) << key.ink;
      EXPECT_TRUE(has(style, ".area." + key.ink + " {") || has(style, ".line." + key.ink + " {"))
          << key.ink;
    }
  }
  EXPECT_EQ(keys, 13U);
}

}  // namespace
}  // namespace damper::lab
