#include "damper/http/file/file_name.h"

#include <algorithm>

namespace damper::http {

Expected<std::string> read_file_name(std::string_view text) {
  constexpr std::size_t kLongest = 1024;
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.empty() || text.size() > kLongest ||
      !std::all_of(text.begin(), text.end(), is_printable)) {
    return unexpected(std::string());
  }
  return std::string(text);
}

}  // namespace damper::http
