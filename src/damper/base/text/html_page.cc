#include "damper/base/text/html_page.h"

#include <ostream>

#include "damper/base/text/plain_text.h"

namespace damper::text {
namespace {

// Inks: each meaning has one hue, in every chart. Light first, then what dark changes.
constexpr std::string_view kStyle = R"(:root {
  --page: #faf9f7; --card: #ffffff; --text: #22272b; --muted: #69727a; --rule: #e6e3de;
  --grid: #eceae6; --fault: #c8553d; --held: #2f7d5b; --broken: #b8432b;
  --first: #6b9ac4; --retry: #df7b52; --hedge: #9c7bb8; --good: #6aab8b; --unwanted: #d9c08a;
  --offered: #4a5560; --queued: #8fa3b5; --working: #4f7d9e; --limit: #b8432b;
  --budget: #8bb39d; --low: #9cc3dc; --high: #4b8bb5; --highest: #1f527d;
  --safe: #b4d8c3; --calm: #e4efe8; --vulnerable: #f5dfa8; --metastable: #e5a793;
  --sure: #d07a60; --cell: #22272b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1b1f23; --text: #e4e2de; --muted: #98a1a9; --rule: #2d3339;
    --grid: #272c31; --fault: #d9694f; --held: #6fbf98; --broken: #e58a70;
    --first: #5f8fba; --retry: #d5754f; --hedge: #a486c0; --good: #5b9e7e; --unwanted: #a88f55;
    --offered: #c9d1d8; --queued: #6f8698; --working: #8fbbdc; --limit: #e58a70;
    --budget: #5f947a; --low: #4f7d9e; --high: #7fb3d6; --highest: #d3e6f4;
    --safe: #2b5c4b; --calm: #20332d; --vulnerable: #6b5a2a; --metastable: #7a3d30;
    --sure: #a04a37; --cell: #f0eeea;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 1180px; margin: 0 auto; padding: 32px 20px 24px; }
header { margin-bottom: 20px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 8px; font-weight: 650; letter-spacing: -.01em;
  overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 0 0 2px; font-weight: 650; overflow-wrap: anywhere; }
p { margin: 0 0 8px; }
.about { max-width: 72ch; color: var(--muted); white-space: pre-line; overflow-wrap: anywhere; }
.note { color: var(--muted); font-size: 13px; margin: 0 0 10px; max-width: 90ch; }
section {
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 18px 20px; margin: 0 0 16px; break-inside: avoid;
}
.interrupted { border-left: 4px solid var(--retry); font-weight: 600; }
ul.plain { list-style: none; margin: 0; padding: 0; }
ul.plain li { padding: 3px 0; overflow-wrap: anywhere; }
ul.plain li + li { border-top: 1px solid var(--grid); }
.when { display: inline-block; min-width: 9em; color: var(--muted); padding-right: 1em;
  font-variant-numeric: tabular-nums; }
.promise b { display: inline-block; min-width: 5.2em; font-weight: 650; }
.held b { color: var(--held); }
.broken b { color: var(--broken); }
.skipped, .skipped b { color: var(--muted); }
ul.keys { display: flex; flex-wrap: wrap; gap: 2px 18px; list-style: none; margin: 0 0 12px;
  padding: 0; font-size: 13px; color: var(--muted); }
ul.keys li { display: flex; align-items: center; gap: 6px; }
.swatch { width: 12px; height: 12px; border-radius: 3px; flex: none; }
.swatch.thin { height: 3px; width: 14px; border-radius: 2px; }
.charts { display: grid; gap: 18px 28px; align-items: end;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); }
.pairs { grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
figure { margin: 0; padding: 0 6px 0 52px; min-width: 0; }
figcaption { font-size: 13px; font-weight: 600; margin: 0 0 10px -52px; overflow-wrap: anywhere; }
svg { display: block; overflow: visible; }
svg svg { overflow: hidden; }
text { font-size: 11px; fill: var(--muted); font-variant-numeric: tabular-nums; }
text.value { text-anchor: end; dominant-baseline: middle; }
text.time { text-anchor: middle; }
.grid { stroke: var(--grid); stroke-width: 1; vector-effect: non-scaling-stroke; fill: none; }
.fault { fill: var(--fault); fill-opacity: .1; }
.hover { fill: var(--text); fill-opacity: 0; }
.hover:hover { fill-opacity: .1; }
.area { stroke: none; }
.line { fill: none; stroke-width: 1.6; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
)"
                                    R"(.area.first { fill: var(--first); }
.area.retry { fill: var(--retry); }
.area.hedge { fill: var(--hedge); }
.area.good { fill: var(--good); }
.area.unwanted { fill: var(--unwanted); }
.area.queued { fill: var(--queued); }
.area.budget { fill: var(--budget); }
.line.offered { stroke: var(--offered); stroke-dasharray: 4 3; stroke-width: 1.2; }
.line.working { stroke: var(--working); }
.line.limit { stroke: var(--limit); stroke-dasharray: 4 3; }
.line.low { stroke: var(--low); }
.line.high { stroke: var(--high); }
.line.highest { stroke: var(--highest); }
.line.good { stroke: var(--held); }
.line.retry { stroke: var(--retry); }
.swatch.first { background: var(--first); }
.swatch.retry { background: var(--retry); }
.swatch.hedge { background: var(--hedge); }
.swatch.good { background: var(--good); }
.swatch.unwanted { background: var(--unwanted); }
.swatch.offered { background: var(--offered); }
.swatch.queued { background: var(--queued); }
.swatch.working { background: var(--working); }
.swatch.limit { background: var(--limit); }
.swatch.budget { background: var(--budget); }
.swatch.low { background: var(--low); }
.swatch.high { background: var(--high); }
.swatch.highest { background: var(--highest); }
.swatch.shade { background: var(--fault); opacity: .25; }
.swatch.safe { background: var(--safe); }
.swatch.calm { background: var(--calm); }
.swatch.sure { background: var(--sure); }
.swatch.vulnerable { background: var(--vulnerable); }
.swatch.metastable { background: var(--metastable); }
rect.safe { fill: var(--safe); }
rect.calm { fill: var(--calm); }
rect.sure { fill: var(--sure); }
rect.vulnerable { fill: var(--vulnerable); }
rect.metastable { fill: var(--metastable); }
.cell { stroke: var(--card); stroke-width: 2; }
text.cell { stroke: none; fill: var(--cell); text-anchor: middle; dominant-baseline: middle;
  pointer-events: none; }
text.bound { font-size: 11px; fill: var(--text); text-anchor: middle; }
line.bound { stroke: var(--text); stroke-opacity: .55; stroke-width: 1.5;
  stroke-dasharray: 5 4; pointer-events: none; }
.map figure { padding-left: 64px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px;
  font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; vertical-align: top; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th:first-child { text-align: left; padding-left: 0; white-space: normal; min-width: 11em; }
tbody th { font-weight: 500; }
thead th { color: var(--muted); font-weight: 600; }
tbody tr:last-child > * { border-bottom: 0; }
small { display: block; color: var(--muted); font-weight: 400; font-size: 12px; }
code { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--page); border: 1px solid var(--rule); border-radius: 6px;
  margin: 8px 0 12px; padding: 10px 12px; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: 14px; }
summary { cursor: pointer; color: var(--muted); font-size: 13px; }
footer { color: var(--muted); font-size: 12px; padding: 6px 0 20px; }
@media (max-width: 600px) {
  main { padding: 20px 12px; }
  section { padding: 14px; border-radius: 8px; }
  figure { padding-left: 46px; }
  figcaption { margin-left: -46px; }
  .when { display: block; }
  th:first-child { min-width: 6em; }
  th, td { padding: 5px 6px; }
  .map figure { padding-left: 46px; }
}
@media print {
  body { background: #fff; font-size: 12px; }
  main { max-width: none; padding: 0; }
  section { border: 0; padding: 0 0 12px; }
  .area, .fault, .swatch, rect { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)";

}  // namespace

void begin_page(std::ostream& out, std::string_view title, std::string_view about) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta name=\"referrer\" content=\"no-referrer\">\n<title>"
      << html_text(title) << "</title>\n<style>\n"
      << page_style() << "</style>\n</head>\n<body>\n<main>\n<header>\n<h1>" << html_text(title)
      << "</h1>\n";
  if (!about.empty()) out << "<p class=\"about\">" << html_text(about) << "</p>\n";
  out << "</header>\n";
}

void end_page(std::ostream& out, std::string_view version, std::string_view last) {
  out << "<footer><p>Made by <b>damper</b>" << (version.empty() ? "" : " ") << html_text(version)
      << ". " << html_text(last)
      << "</p></footer>\n"
         "</main>\n</body>\n</html>\n";
}

void begin_section(std::ostream& out, std::string_view title, std::string_view note) {
  out << "<section>\n<h2>" << html_text(title) << "</h2>\n";
  if (!note.empty()) out << "<p class=\"note\">" << html_text(note) << "</p>\n";
}

void print_html_table(std::ostream& out, std::string_view caption,
                      const std::vector<std::vector<HtmlCell>>& rows) {
  const auto inside = [](const HtmlCell& cell) {
    return html_text(cell.text) +
           (cell.note.empty() ? "" : "<small>" + html_text(cell.note) + "</small>");
  };
  out << "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"" << html_text(caption)
      << "\"><table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out << (i == 0 ? "<thead><tr>" : "<tr>");
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      const bool heading = i == 0 || j == 0;
      out << (!heading ? "<td>"
              : i == 0 ? "<th scope=\"col\">"
                       : "<th scope=\"row\">")
          << inside(rows[i][j]) << (heading ? "</th>" : "</td>");
    }
    out << (i == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n");
  }
  out << (rows.empty() ? "" : "</tbody>") << "</table></div>\n";
}

void print_command(std::ostream& out, std::string_view command) {
  if (!command.empty()) out << "<pre><code>" << html_text(command) << "</code></pre>\n";
}

std::string_view page_style() { return kStyle; }

}  // namespace damper::text
