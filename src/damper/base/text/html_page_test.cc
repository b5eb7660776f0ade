#include "damper/base/text/html_page.h"

#include <gtest/gtest.h>

#include <sstream>

#include "damper/base/text/html_testing.h"

namespace damper::text {
namespace {

std::string page(const std::string& title, const std::string& about, const std::string& version) {
  std::ostringstream out;
  begin_page(out, title, about);
  end_page(out, version);
  return out.str();
}

TEST(HtmlTesting, FindsWhatIsWrong) {
  EXPECT_EQ(find_html_error("<p class=\"a > b\">x &amp; y<br/></p>"), "");
  EXPECT_EQ(find_html_error("<style>a > b { c: d }</style>"), "");
  EXPECT_EQ(find_html_error("<p><b>x</p></b>"), "unexpected </p> before </p></b>");
  EXPECT_EQ(find_html_error("<p>x"), "<p> is not closed");
  EXPECT_EQ(find_html_error("<p>x & y</p>"), "a stray & at & y</p>");
  EXPECT_EQ(find_html_error("<p>x > y</p>"), "a stray > at > y</p>");
  EXPECT_EQ(find_html_error("<p>x < y</p>"), "a stray < at < y</p>");
  EXPECT_EQ(find_html_error("<p class=a>x</p>"), "no quotes: <p class=a>x</p>");
  EXPECT_EQ(find_html_error("<p"), "no end of <p");
  EXPECT_EQ(find_html_error("<script>x</script>"), "it has <script");
  EXPECT_EQ(find_html_error("see https://x"), "it has https://");
}

TEST(HtmlPage, NeedsNothingElse) {
  const std::string html = page("storm", "What\nhappens", "1.2.3");
  EXPECT_EQ(find_html_error(html), "");
  EXPECT_NE(html.find("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'\">"),
            std::string::npos);
  EXPECT_NE(html.find("<h1>storm</h1>\n<p class=\"about\">What\nhappens</p>"), std::string::npos);
  EXPECT_NE(html.find("<b>damper</b> 1.2.3."), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(html.find("@media print"), std::string::npos);
}

TEST(HtmlPage, EverythingIsEscaped) {
  const std::string hostile = "</title><script>alert(1)</script>\"'&";
  std::ostringstream out;
  begin_page(out, hostile, hostile);
  begin_section(out, hostile, hostile);
  print_html_table(out, hostile, {{{hostile, hostile}, {hostile}}, {{hostile}, {hostile}}});
  print_command(out, hostile);
  out << "</section>\n";
  end_page(out, hostile);
  EXPECT_EQ(find_html_error(out.str()), "");
}

TEST(HtmlPage, ATableHasHeadings) {
  std::ostringstream out;
  print_html_table(out, "Measures", {{{""}, {"naive"}}, {{"p99", "of all"}, {"5 ms"}}});
  EXPECT_EQ(out.str(),
            "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Measures\"><table>\n"
            "<thead><tr><th scope=\"col\"></th><th scope=\"col\">naive</th></tr></thead>\n"
            "<tbody>\n"
            "<tr><th scope=\"row\">p99<small>of all</small></th><td>5 ms</td></tr>\n"
            "</tbody></table></div>\n");
}

TEST(HtmlPage, WhatIsEmptyIsLeftOut) {
  EXPECT_EQ(page("storm", "", "").find("<p class=\"about\">"), std::string::npos);
  std::ostringstream out;
  print_command(out, "");
  EXPECT_EQ(out.str(), "");
  begin_section(out, "Numbers", "");
  EXPECT_EQ(out.str(), "<section>\n<h2>Numbers</h2>\n");
  std::ostringstream table;
  print_html_table(table, "x", {});
  EXPECT_EQ(find_html_error(table.str()), "");
}

}  // namespace
}  // namespace damper::text
