#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace damper::text {

// The frame and the common elements of HTML reports.
//
// Why: a report is one file that can be mailed, opened offline and archived. So it has no script
// and no external font, image or style, and a content security policy that forbids them. It follows
// the reader's light or dark scheme, and prints.
// Invariants:
//   (1) All text parameters are escaped by html_text() (plain_text.h).
//   (2) The page has no reference to another resource.

// The page up to the first section, and after the last one.
void begin_page(std::ostream& out, std::string_view title, std::string_view about);
void end_page(std::ostream& out, std::string_view version,
              std::string_view last = "The policy that was simulated is the code that runs.");

// Opens a section with a heading; the note may be empty. The caller writes "</section>\n".
void begin_section(std::ostream& out, std::string_view title, std::string_view note);

// A cell of a table, with an optional note below the text.
struct HtmlCell {
  std::string text;
  std::string note = {};
};

// A table whose first row and column are headings. A table that is too wide scrolls.
void print_html_table(std::ostream& out, std::string_view caption,
                      const std::vector<std::vector<HtmlCell>>& rows);

// The command that reproduces the report.
void print_command(std::ostream& out, std::string_view command);

// The content of the <style> element.
[[nodiscard]] std::string_view page_style();

}  // namespace damper::text
