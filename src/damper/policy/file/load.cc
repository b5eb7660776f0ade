#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <map>
#include <optional>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/config/yaml_tree.h"
#include "damper/policy/file/block.h"
#include "damper/policy/file/policy_file.h"
#include "damper/policy/file/schema.h"
#include "damper/policy/lint/calls.h"

namespace damper::policy {
namespace {

constexpr std::array<std::string_view, 4> kTopWords = {"route", "routes", "dependencies",
                                                       "defaults"};

class Loader {
 public:
  // `name` is what errors call the whole of what is read.
  Loader(std::string_view file, std::string_view name, std::span<const std::string_view> beside)
      : name_(name), beside_(beside) {
    result_.file = file;
  }

  // Reads what begins at `start`.
  [[nodiscard]] std::optional<config::Error> read_top(const config::Tree& top,
                                                      config::SourceLocation start) {
    if (top.kind == config::Tree::Kind::null) {
      return error(start, name_ + " is empty (expected: route, routes or dependencies)");
    }
    if (!top.is_map()) {
      return error(top.place,
                   name_ + " must be a map of keys (accepted: " + text::joined(kTopWords) + ")");
    }
    const config::Tree* routes = nullptr;
    config::SourceLocation place;
    for (std::size_t i = 0; i < top.pairs(); ++i) {
      const config::Tree& key = top.key(i);
      if (std::find(kTopWords.begin(), kTopWords.end(), key.text) == kTopWords.end()) {
        return error(key.place, "unknown key " + text::in_quotes(key.text) + " at the top of " +
                                    name_ + text::suggestion(key.text, kTopWords) +
                                    " (accepted: " + text::joined(kTopWords) + ")");
      }
      if (key.text == "defaults") {
        auto block =
            read_block(top.value(i), key.place, "defaults", result_.file, result_.notes, beside_);
        if (!block) return block.error();
        defaults_ = *std::move(block);
        continue;
      }
      if (routes != nullptr) {
        return error(key.place, key.text + " cannot stand beside " + result_.shape +
                                    ": a file has one of route, routes and dependencies");
      }
      routes = &top.value(i);
      place = key.place;
      result_.shape = key.text;
    }
    if (routes == nullptr) {
      return error(start, name_ + " has no route (expected: route, routes or dependencies)");
    }
    std::optional<config::Error> wrong =
        result_.shape == "route" ? add_route("", *routes, place) : read_routes(*routes, place);
    return wrong ? wrong : check_calls(result_);
  }

  [[nodiscard]] PolicyFile take() { return std::move(result_); }

 private:
  [[nodiscard]] config::Error error(config::SourceLocation place, std::string sentence) const {
    return {result_.file, place, std::move(sentence)};
  }
  void note(config::SourceLocation place, std::string_view sentence) {
    result_.notes.push_back(error(place, std::string(sentence)));
  }

  [[nodiscard]] std::optional<config::Error> read_routes(const config::Tree& routes,
                                                         config::SourceLocation place) {
    if (!routes.is_map() || routes.pairs() == 0) {
      return error(place, result_.shape + " must be a map from names to routes");
    }
    if (routes.pairs() > kMostRoutes) {
      return error(place,
                   result_.shape + " has more than " + std::to_string(kMostRoutes) + " routes");
    }
    for (std::size_t i = 0; i < routes.pairs(); ++i) {
      const config::Tree& name = routes.key(i);
      if (!is_route_name(name.text)) {
        return error(name.place, "a name must be 1 to " + std::to_string(kLongestName) +
                                     " letters, digits or . _ - / :, not " +
                                     text::in_quotes(name.text));
      }
      if (auto wrong = add_route(name.text, routes.value(i), name.place)) return wrong;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<config::Error> add_route(const std::string& name,
                                                       const config::Tree& tree,
                                                       config::SourceLocation place) {
    const auto block = read_block(tree, place, name.empty() ? "route" : name, result_.file,
                                  result_.notes, beside_);
    if (!block) return block.error();
    Route route{.name = name, .place = place, .settings = {}, .origins = {}, .places = {}};
    route.origins.resize(keys().size(), Origin::built_in);
    route.places.resize(keys().size());
    if (defaults_) apply(*defaults_, Origin::defaults, route);
    apply(*block, Origin::route, route);
    for (std::size_t i = 0; i < keys().size(); ++i) {
      if (auto wrong = check_order(route, i)) return wrong;
    }
    if (const auto sentence = engine::find_error(route.settings.policy)) {
      return error(place, *sentence);
    }
    note_statuses(route, *block);
    result_.routes.push_back(std::move(route));
    return std::nullopt;
  }

  // That a key which may not be under another one is not.
  [[nodiscard]] std::optional<config::Error> check_order(const Route& route,
                                                         std::size_t position) const {
    const Key& key = keys()[position];
    if (key.not_under.empty()) return std::nullopt;
    const auto section = find_section(parent(key.path));
    const auto on = section ? sections()[*section].on : nullptr;
    if (on != nullptr && !on(route.settings)) return std::nullopt;
    const std::size_t least = *find_key(key.not_under);
    const std::int64_t raw = key.get(route.settings);
    if (raw >= keys()[least].get(route.settings) || raw == key.off) return std::nullopt;
    const bool said = route.origins[position] != Origin::built_in;
    return error(place_of(route, said ? position : least),
                 std::string(leaf(key.path)) + " must be at least " +
                     std::string(leaf(key.not_under)) + " (" +
                     write(keys()[least], route.settings) + "), not " + write(key, route.settings));
  }

  void note_statuses(const Route& route, const Block& block) {
    const RetryOn& retry_on = route.settings.retry_on;
    const bool token = retry_on.has(RetryOn::Token::retriable_status_codes);
    const auto& codes = block.keys[*find_key("retry_policy.retriable_status_codes")];
    const auto& tokens = block.keys[*find_key("retry_policy.retry_on")];
    if (codes && codes->statuses.any() && !token) {
      note(codes->place,
           "retriable_status_codes is not used: retry_on lacks retriable-status-codes");
    }
    if (tokens && token && retry_on.statuses().none()) {
      note(tokens->place,
           "retry_on has retriable-status-codes, but retriable_status_codes is empty");
    }
  }

  std::string name_;
  std::span<const std::string_view> beside_;
  PolicyFile result_;
  std::optional<Block> defaults_;
};

}  // namespace

config::SourceLocation place_of(const Route& route, std::size_t key) {
  const bool said = key < route.places.size() && route.places[key].line > 0;
  return said ? route.places[key] : route.place;
}

const Route* PolicyFile::find(std::string_view name) const {
  const auto found = std::find_if(routes.begin(), routes.end(),
                                  [&](const Route& route) { return route.name == name; });
  return found == routes.end() ? nullptr : &*found;
}

Expected<PolicyFile, config::Error> load(std::string_view text, std::string_view file) {
  const Expected<config::Tree, config::Error> tree = config::parse_yaml(text, file);
  if (!tree) return unexpected(tree.error());
  return load_part(*tree, {1, 1}, "the file", file);
}

Expected<PolicyFile, config::Error> load_part(const config::Tree& tree,
                                              config::SourceLocation place, std::string_view name,
                                              std::string_view file,
                                              std::span<const std::string_view> beside) {
  Loader loader(file, name, beside);
  if (std::optional<config::Error> wrong = loader.read_top(tree, place)) {
    return unexpected(*std::move(wrong));
  }
  return loader.take();
}

Expected<std::string, config::Error> read_stream(std::istream& in, std::string_view file) {
  std::string text(config::kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unexpected(config::Error{std::string(file), {}, "cannot be read"});
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Expected<PolicyFile, config::Error> load_stream(std::istream& in, std::string_view file) {
  const Expected<std::string, config::Error> text = read_stream(in, file);
  if (!text) return unexpected(text.error());
  return load(*text, file);
}

Expected<PolicyFile, config::Error> load_file(const std::string& path) {
  const Expected<std::string, config::Error> text = read_file(path);
  if (!text) return unexpected(text.error());
  return load(*text, path);
}

Expected<std::string, config::Error> read_file(const std::string& path) {
  const auto cannot = [&](const std::string& why) {
    return unexpected(config::Error{path, {}, "cannot be read: " + why});
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return cannot("it is a directory");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return cannot(errno != 0 ? std::strerror(errno) : "it cannot be opened");
  return read_stream(in, path);
}

}  // namespace damper::policy
