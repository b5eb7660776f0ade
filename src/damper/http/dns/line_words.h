#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace damper::http {

// Calls `on_line` with the words of each line of a file such as /etc/hosts, in order: what is
// between spaces, tabs and carriage returns. Lines without a word are left out.
template <class Function>
void for_each_line(std::string_view text, Function on_line) {
  constexpr std::string_view kSpaces = " \t\r";
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    words.clear();
    for (;;) {
      line.remove_prefix(std::min(line.size(), line.find_first_not_of(kSpaces)));
      if (line.empty()) break;
      words.push_back(line.substr(0, line.find_first_of(kSpaces)));
      line.remove_prefix(words.back().size());
    }
    if (!words.empty()) on_line(words);
  }
}

}  // namespace damper::http
