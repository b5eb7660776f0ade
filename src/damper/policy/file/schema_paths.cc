// The schema's table by path.
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

template <class Table>
std::optional<std::size_t> position(const Table& table, std::string_view path) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].path == path) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> find_key(std::string_view path) { return position(keys(), path); }
std::optional<std::size_t> find_section(std::string_view path) {
  return position(sections(), path);
}

std::string_view parent(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::vector<std::string_view> words_in(std::string_view section) {
  std::vector<std::string_view> words;
  const auto take = [&](std::string_view path) {
    if (parent(path) == section) words.push_back(leaf(path));
  };
  for (const Key& key : keys()) take(key.path);
  for (const Section& inner : sections()) take(inner.path);
  for (const Moved& path : moved()) take(path.from);
  return words;
}

}  // namespace damper::policy
