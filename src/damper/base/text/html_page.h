#ifndef DAMPER_BASE_TEXT_HTML_PAGE_H_
#define DAMPER_BASE_TEXT_HTML_PAGE_H_

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace damper::text {

// What the pages of reports and maps have in common.
//
// Why: one file that can be mailed, opened offline and archived. So: no script, no font, no picture
// and no style from elsewhere, and a content security policy that forbids them; light or dark as
// the reader has it; it prints.
// Invariants:
//   (1) Every text that is not ours goes through html_text() (plain_text.h).
//   (2) The page refers to nothing outside of itself.

// Everything up to the body's first heading, and everything after the last section.
void begin_page(std::ostream& out, std::string_view title, std::string_view about);
void end_page(std::ostream& out, std::string_view version,
              std::string_view last = "The policy that was simulated is the code that runs.");

// A section with its heading; the note may be empty. It is ended by "</section>\n".
void begin_section(std::ostream& out, std::string_view title, std::string_view note);

// A cell of a table: what it says, and a sentence under it or nothing.
struct HtmlCell {
  std::string text;
  std::string note = {};
};

// A table in which the first row and the first column are headings. It scrolls when it is too wide.
void print_html_table(std::ostream& out, std::string_view caption,
                      const std::vector<std::vector<HtmlCell>>& rows);

// How to do it again: the command as it stands.
void print_command(std::ostream& out, std::string_view command);

// The style sheet, without its tag.
[[nodiscard]] std::string_view page_style();

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_HTML_PAGE_H_
