#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace damper::text {

// The first error of an HTML page, or "": a tag that is not closed or closes another one, an
// attribute without quotes, a stray < or &, a script, a reference to another resource.
inline std::string find_html_error(std::string_view html) {
  for (const std::string_view word :
       {"http://", "https://", "<script", "javascript:", "src=", "href=", "@import", "url(",
        " onload", " onerror", "<iframe", "<object", "<link", "<img"}) {
    if (html.find(word) != std::string_view::npos) return "it has " + std::string(word);
  }
  constexpr std::string_view kNameEnd = " >/";
  std::vector<std::string> open;
  for (std::size_t at = 0; at < html.size(); ++at) {
    const std::string near(html.substr(at, 40));
    if (html[at] == '&' && html.substr(at, 7).find(';') == std::string_view::npos) {
      return "a stray & at " + near;
    }
    if (html[at] == '>') return "a stray > at " + near;
    if (html[at] != '<') continue;
    std::size_t end = at + 1;
    bool quoted = false;
    for (; end < html.size() && (quoted || html[end] != '>'); ++end) {
      if (html[end] == '"') quoted = !quoted;
      if (html[end] == '<') return "a stray < at " + near;
      if (!quoted && html[end] == '=' && html.substr(end, 2) != "=\"") return "no quotes: " + near;
    }
    if (end == html.size()) return "no end of " + near;
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    at = end;
    if (tag == "!DOCTYPE html") continue;
    const bool closes = tag.starts_with('/');
    const std::string name(
        tag.substr(closes ? 1 : 0, tag.find_first_of(kNameEnd, 1) - (closes ? 1 : 0)));
    if (closes) {
      if (open.empty() || open.back() != name) return "unexpected </" + name + "> before " + near;
      open.pop_back();
    } else if (name != "meta" && !tag.ends_with('/')) {
      open.push_back(name);
      if (name == "style") at = html.find("</style>", at) - 1;
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

}  // namespace damper::text
