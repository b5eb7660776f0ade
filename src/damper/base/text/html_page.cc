#include "damper/base/text/html_page.h"

#include <ostream>

#include "damper/base/text/plain_text.h"

namespace damper::text {

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

}  // namespace damper::text
