#ifndef TESTS_DOCS_MARKDOWN_H_
#define TESTS_DOCS_MARKDOWN_H_

#include <string>
#include <string_view>

namespace damper::docs {

// A cell of a table.
inline std::string in_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

// What accepted() says, less the examples that an error needs and a table does not.
inline std::string bounds(std::string text) {
  if (const std::size_t examples = text.find(", such as"); examples != std::string::npos) {
    text.resize(examples);
  }
  if (const std::size_t article = text.find(' '); text.starts_with("a ")) {
    text.erase(0, article + 1);
  }
  return text;
}

}  // namespace damper::docs

#endif  // TESTS_DOCS_MARKDOWN_H_
