#include "damper/proxy/config/path_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "damper/proxy/config/route_matcher.h"

namespace damper::proxy {
namespace {

constexpr std::size_t kEscape = 3;  // bytes: %XX

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte that the escape at `at` stands for. Nothing: two hexadecimal digits are missing.
std::optional<char> escaped_at(std::string_view path, std::size_t at) noexcept {
  if (path.size() - at < kEscape) return std::nullopt;
  const int high = hex_digit(path[at + 1]);
  const int low = hex_digit(path[at + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool is_slash(char c) noexcept { return c == '/' || c == '\\'; }

char upper(char c) noexcept { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; }

bool has_escaped_slash(std::string_view path) noexcept {
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] == '\\') return true;
    if (path[at] != '%') continue;
    const auto escaped = escaped_at(path, at);
    if (escaped && is_slash(*escaped)) return true;
  }
  return false;
}

// Whether the segment after the slash at `slash` is one that normalising removes.
bool is_removed(std::string_view path, std::size_t slash) noexcept {
  const std::size_t begin = slash + 1;
  if (begin == path.size()) return false;  // The slash at the end.
  std::size_t dots = 0;
  while (dots < 2 && begin + dots < path.size() && path[begin + dots] == '.') ++dots;
  return begin + dots == path.size() || path[begin + dots] == '/';
}

bool is_normal(std::string_view path) noexcept {
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] == '/') {
      if (is_removed(path, at)) return false;
    } else if (path[at] == '%') {
      const auto escaped = escaped_at(path, at);
      if (!escaped || is_unreserved(*escaped)) return false;
      if (upper(path[at + 1]) != path[at + 1] || upper(path[at + 2]) != path[at + 2]) return false;
    }
  }
  return true;
}

// False: an escape is incomplete.
bool decode(std::string_view path, std::string& into) {
  into.clear();
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] != '%') {
      into += path[at];
      continue;
    }
    const auto escaped = escaped_at(path, at);
    if (!escaped) return false;
    if (is_unreserved(*escaped)) {
      into += *escaped;
    } else {
      into += '%';
      into += upper(path[at + 1]);
      into += upper(path[at + 2]);
    }
    at += kEscape - 1;
  }
  return true;
}

// Without empty segments and dot segments, in place. REQUIRES: it begins with '/'.
void merge_segments(std::string& path) {
  std::size_t size = 0;  // of the result, which ends with no '/' before the last segment
  for (std::size_t at = 0; at < path.size();) {
    while (at < path.size() && path[at] == '/') ++at;
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment(path.data() + at, end - at);
    const bool parent = segment == "..";
    if (parent) {
      while (size > 0 && path[--size] != '/') {
      }
    }
    if (parent || segment.empty() || segment == ".") {
      if (end == path.size()) path[size++] = '/';
    } else {
      path[size++] = '/';
      std::memmove(path.data() + size, segment.data(), segment.size());
      size += segment.size();
    }
    at = end;
  }
  path.resize(size);
}

}  // namespace

bool PathRules::apply(std::string_view& target, std::string& into) const {
  const std::string_view path = path_of(target);
  if (escaped_slashes == EscapedSlashes::refuse && has_escaped_slash(path)) return false;
  if (!normalize || is_normal(path)) return true;
  if (!decode(path, into)) return false;
  merge_segments(into);
  into += target.substr(path.size());
  target = into;
  return true;
}

bool has_parent_segment(std::string_view path) noexcept {
  std::size_t dots = 0;
  bool only_dots = true;
  for (std::size_t at = 0; at < path.size(); ++at) {
    char c = path[at];
    if (c == '%') {
      if (const auto escaped = escaped_at(path, at)) {
        c = *escaped;
        at += kEscape - 1;
      }
    }
    if (is_slash(c) || c == ';') {
      if (only_dots && dots == 2) return true;
      only_dots = c != ';';
      dots = 0;
    } else if (c == '.') {
      ++dots;
    } else {
      only_dots = false;
    }
  }
  return only_dots && dots == 2;
}

}  // namespace damper::proxy
