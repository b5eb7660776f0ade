#include "damper/lab/report/map_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "damper/base/text/html_testing.h"
#include "damper/lab/runs/map_testing.h"

namespace damper::lab {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string text_of(const MapResult& map, text::ReportStyle style = {}) {
  std::ostringstream out;
  print_map_text(out, map, style);
  return out.str();
}

std::string html_of(const MapResult& map) {
  std::ostringstream out;
  print_map_html(out, map);
  return out.str();
}

TEST(MapReport, TheTerminalShowsTheRegions) {
  EXPECT_EQ(text_of(small_map()),
            R"(metastable-db
A database that is cut off.

Load to the right, the trigger (db held) upwards; the number is the % of runs that collapsed.
█ sure: P > 95 %  ▓ metastable: P > 50 %  ▒ vulnerable  · none collapsed  ✓ safe: P < 5 %

        100/s  150/s  200/s
  10 s      ·   40 ▒  100 ▓
  5 s       ·      ▒   10 ▒

  trigger  none collapsed up to  most collapsed from
  5 s                     150/s                    -
  10 s                    100/s                200/s
With 10 s:
Safe up to 110/s: 0 of 160 runs collapsed, P(collapse) 0.000 to 0.042; not shown at 111/s.
)"
            "Collapse is sure from 190/s on: 320 of 320 runs collapsed, P(collapse) 0.979 to "
            "1.000; not shown at 189/s.\n"
            R"(
Capacity C: 300/s.
Hidden capacity C / w: 125/s: stable below, whatever the trigger.

Again: damper lab map db.yaml
)");
}

TEST(MapReport, AnInterruptedMapSaysSoAndWhatIsMissing) {
  MapResult map = small_map();
  map.cells.resize(4);
  map.interrupted = true;
  map.capacity = map.hidden_capacity = 0;
  map.trigger_name = map.command = "";
  map.borders.clear();
  map.sure.reset();
  EXPECT_EQ(text_of(map),
            R"(metastable-db
A database that is cut off.

Load to the right, the trigger upwards; the number is the % of runs that collapsed.
█ sure: P > 95 %  ▓ metastable: P > 50 %  ▒ vulnerable  · none collapsed  ✓ safe: P < 5 %

        100/s  150/s  200/s
  10 s      ·      ?      ?
  5 s       ·      ·   10 ▒

Interrupted: not every cell has all its runs.
)");
  EXPECT_TRUE(has(html_of(map), "<section class=\"interrupted\">"));
  EXPECT_EQ(text::find_html_error(html_of(map)), "");
}

TEST(MapReport, WhatIsNotShownIsNotCalledSafeOrSure) {
  MapResult map = small_map();
  map.sure = SureBorder{.trigger = 10, .runs = 40, .cut_short = true};
  EXPECT_TRUE(
      has(text_of(map),
          "With 10 s:\nNo swept load was shown to be safe, P(collapse) < 0.05.\nAt no swept "
          "load was collapse shown to be sure, P(collapse) > 0.95.\nThe search ended after 40 "
          "runs; --border-runs allows more.\n"))
      << text_of(map);
  map.capacity = map.hidden_capacity = 0;
  map.capacity_at_most = 300;
  map.capacity_doubt = "web: its workers wait for db, where requests may queue";
  EXPECT_TRUE(
      has(text_of(map),
          "Capacity C: not known (web: its workers wait for db, where requests may queue); at "
          "most 300/s.\n"))
      << text_of(map);
  EXPECT_TRUE(has(html_of(map), "No swept load was shown to be safe"));
  EXPECT_EQ(text::find_html_error(html_of(map)), "");
}

TEST(MapReport, TheHeatMapHasACellForEachAndTheLines) {
  const std::string svg = draw_heat_map(small_map());
  EXPECT_TRUE(has(svg,
                  "<rect class=\"cell metastable\" x=\"66.667%\" y=\"24\" width=\"33.333%\" "
                  "height=\"34\" rx=\"4\"><title>200/s, 10 s: 10 of 10 collapsed, "
                  "1.000 (0.72 to 1.00), metastable</title></rect>"))
      << svg;
  EXPECT_TRUE(has(svg, "<text class=\"cell\" x=\"83.333%\" y=\"41\">100</text>")) << svg;
  EXPECT_TRUE(has(svg, "<rect class=\"cell calm\" x=\"0%\" y=\"58\"")) << svg;
  EXPECT_TRUE(has(svg,
                  "<line class=\"bound\" x1=\"33.333%\" x2=\"33.333%\" y1=\"16\" y2=\"92\"/>"
                  "<text class=\"bound\" x=\"33.333%\" y=\"12\">C / w = 125/s</text>"))
      << svg;
  EXPECT_FALSE(has(svg, "C = 300/s"));  // It lies outside.
  EXPECT_TRUE(has(svg, "<text class=\"value\" x=\"-8\" y=\"41\">10 s</text>")) << svg;
  EXPECT_TRUE(has(svg, "<text class=\"time\" x=\"50%\" y=\"108\">150</text>")) << svg;
  EXPECT_EQ(draw_heat_map({}), "");
}

TEST(MapReport, ManyColumnsHaveNoRoomForNumbers) {
  MapResult map = small_map();
  map.loads.clear();
  map.cells.clear();
  for (int i = 0; i < 17; ++i) {
    map.loads.push_back(100 + i);
    map.cells.push_back({100.0 + i, 5, {0, 10}});
  }
  const std::string svg = draw_heat_map(map);
  EXPECT_FALSE(has(svg, "<text class=\"cell\""));
  EXPECT_TRUE(has(svg, ">102</text>"));
  EXPECT_FALSE(has(svg, ">101</text>"));  // Every second one.
}

TEST(MapReport, ThePageNeedsNothingElse) {
  const std::string html = html_of(small_map());
  EXPECT_EQ(text::find_html_error(html), "");
  EXPECT_TRUE(has(html, draw_heat_map(small_map())));
  EXPECT_TRUE(has(html,
                  "<tr><th scope=\"row\">150/s</th><td>10 s</td><td>vulnerable</td>"
                  "<td>4</td><td>10</td><td>0.400 (0.17 to 0.69)</td></tr>"));
  EXPECT_TRUE(has(html, "<tr><th scope=\"row\">5 s</th><td>150/s</td><td>-</td></tr>"));
  EXPECT_TRUE(has(html, "<pre><code>damper lab map db.yaml</code></pre>"));
  EXPECT_EQ(text::find_html_error(html_of({})), "");
}

TEST(MapReport, NoNameGetsOut) {
  MapResult map = small_map();
  map.title = map.about = map.load_unit = map.trigger_unit = map.trigger_name = map.command =
      map.version = "\"><script>'&\x1b\n";
  EXPECT_EQ(text::find_html_error(html_of(map)), "");
  EXPECT_FALSE(has(html_of(map), "\x1b"));
  EXPECT_FALSE(has(text_of(map), "\x1b"));
}

TEST(MapReport, JsonSaysTheSame) {
  MapResult map = small_map();
  map.loads = {100};
  map.triggers = {5};
  map.cells = {{100, 5, {0, 0}}};
  map.borders = find_borders(map);
  map.hidden_capacity = 0;
  map.sure.reset();
  std::ostringstream out;
  print_map_json(out, map);
  EXPECT_EQ(out.str(),
            R"({"kind":"map","title":"metastable-db","about":"A database that is cut off.",)"
            R"("command":"damper lab map db.yaml","version":"1.2.3","interrupted":false,)"
            R"("load_unit":"/s","trigger_unit":" s","trigger_name":"db held","trigger_scale":1,)"
            R"("loads":[100],"triggers":[5],"capacity":300,"hidden_capacity":null,)"
            R"("capacity_at_most":null,"capacity_doubt":"",)"
            R"("borders":[{"trigger":5,"none_collapsed_up_to":null,"most_collapsed_from":null}],)"
            R"("cells":[{"load":100,"trigger":5,"region":"unknown","collapsed":)"
            R"({"runs":0,"collapsed":0,"probability":0,"low":0,"high":1}}]})"
            "\n");
  std::ostringstream whole;
  print_map_json(whole, small_map());
  EXPECT_TRUE(has(whole.str(), R"("hidden_capacity":125,)"));
  EXPECT_TRUE(has(whole.str(), R"({"trigger":10,"none_collapsed_up_to":100,)"
                               R"("most_collapsed_from":200})"));
  EXPECT_TRUE(has(whole.str(), R"("border":{"trigger":10,"runs":1200,"cut_short":false,"safe":)"
                               R"({"load":110,"next_load":111,"collapsed":{"runs":160,)"
                               R"("collapsed":0,"probability":0,"low":0,"high":0.04)"))
      << whole.str();
  EXPECT_TRUE(has(whole.str(), R"({"load":150,"trigger":10,"region":"vulnerable","collapsed":)"
                               R"({"runs":10,"collapsed":4,"probability":0.4,"low":0.16)"));
}

TEST(MapReport, CsvHasARowForEachCell) {
  MapResult map = small_map();
  map.cells.resize(1);
  map.cells[0].collapsed = {4, 4};
  map.loads.resize(2);
  map.triggers.resize(1);
  std::ostringstream out;
  print_map_csv(out, map);
  EXPECT_TRUE(
      out.str().starts_with("load,trigger,region,runs,collapsed,probability,low,high\n"
                            "100,5,metastable,4,4,1,0.51"))
      << out.str();
  EXPECT_TRUE(out.str().ends_with(",1\n150,5,unknown,0,0,,0,1\n")) << out.str();
}

}  // namespace
}  // namespace damper::lab
