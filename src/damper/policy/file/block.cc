#include "damper/policy/file/block.h"

#include <algorithm>
#include <string>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

std::string join(std::string_view section, std::string_view word) {
  return section.empty() ? std::string(word) : std::string(section) + '.' + std::string(word);
}

const Moved* find_moved(std::string_view from) {
  for (const Moved& path : moved()) {
    if (path.from == from) return &path;
  }
  return nullptr;
}

// Whether the reason to refuse a word or a status of retry_on is that it names an overload.
bool is_about_overload(std::string_view refusal_reason) {
  return refusal_reason == refusal(RetryOn::Token::envoy_ratelimited);
}

class Reader {
 public:
  Reader(std::string_view name, std::string_view file, std::vector<config::Note>& notes,
         std::span<const std::string_view> beside)
      : name_(name), file_(file), notes_(notes), beside_(beside) {
    block_.keys.resize(keys().size());
    block_.sections.resize(sections().size());
  }

  // Reads the map that stands at the path `given` and means the section `section`.
  [[nodiscard]] std::optional<config::Error> read_map(const config::Tree& map,
                                                      config::SourceLocation place,
                                                      const std::string& given,
                                                      const std::string& section) {
    const std::vector<std::string_view> words = words_at(given, section);
    if (!map.is_map()) {
      return error(
          place, called(given) + " must be a map of keys (accepted: " + text::joined(words) + ")");
    }
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      const config::Tree& key = map.key(i);
      if (std::find(words.begin(), words.end(), key.text) == words.end()) {
        return unknown(key, given, words);
      }
      if (auto wrong = read_pair(key, map.value(i), join(given, key.text), section)) return wrong;
    }
    return std::nullopt;
  }

  [[nodiscard]] Block take() { return std::move(block_); }

 private:
  [[nodiscard]] config::Error error(config::SourceLocation place, std::string sentence) const {
    return {std::string(file_), place, std::move(sentence)};
  }
  void note(config::SourceLocation place, std::string sentence, bool about_overload = false) {
    notes_.push_back(error(place, std::move(sentence)));
    notes_.back().about_overload = about_overload;
  }
  [[nodiscard]] std::string called(std::string_view given) const {
    return given.empty() ? std::string(name_) : std::string(given);
  }

  [[nodiscard]] config::Error unknown(const config::Tree& key, std::string_view given,
                                      std::vector<std::string_view> words) const {
    if (given.empty()) words.insert(words.begin(), beside_.begin(), beside_.end());
    return error(key.place, "unknown key " + text::in_quotes(key.text) + " in " + called(given) +
                                text::suggestion(key.text, words) +
                                " (accepted: " + text::joined(words) + ")");
  }

  // A section under another system's name has only the words of that system.
  static std::vector<std::string_view> words_at(std::string_view given, std::string_view section) {
    std::vector<std::string_view> words = words_in(given);
    return words.empty() ? words_in(section) : words;
  }

  [[nodiscard]] std::optional<config::Error> read_pair(const config::Tree& word,
                                                       const config::Tree& value,
                                                       const std::string& given,
                                                       const std::string& section) {
    const config::SourceLocation place =
        value.kind == config::Tree::Kind::null ? word.place : value.place;
    const Moved* other = find_moved(given);
    const std::string path = other == nullptr ? join(section, word.text) : std::string(other->to);
    if (other != nullptr && !other->note.empty()) note(word.place, std::string(other->note));
    if (const auto key = find_key(path)) return read_key(*key, value, place);
    return read_section(*find_section(path), value, word.place, given, path);
  }

  [[nodiscard]] std::optional<config::Error> read_key(std::size_t position,
                                                      const config::Tree& value,
                                                      config::SourceLocation place) {
    const Key& key = keys()[position];
    Block::Said said{.place = place};
    if (key.kind == Kind::routes) {
      auto names = read_routes(key, value);
      if (!names) return error(place, names.error());
      said.names = *std::move(names);
    } else if (key.kind == Kind::statuses) {
      const auto statuses = read_statuses(key, value);
      if (!statuses) return error(place, statuses.error());
      said.statuses = *statuses;
      note_statuses(*statuses, place);
    } else {
      const auto raw = read(key, value);
      if (!raw) return error(place, raw.error());
      said.raw = *raw;
      if (key.path == "retry_policy.retry_on") note_tokens(key, *raw, place);
    }
    block_.keys[position] = std::move(said);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<config::Error> read_section(std::size_t position,
                                                          const config::Tree& value,
                                                          config::SourceLocation place,
                                                          const std::string& given,
                                                          const std::string& path) {
    std::optional<Block::Turned>& turned = block_.sections[position];
    if (turned) {
      return error(place,
                   path + " is given twice, first in line " + std::to_string(turned->place.line));
    }
    turned = {.place = place};
    if (sections()[position].turn != nullptr && value.is_scalar()) {
      if (value.text == "on") return std::nullopt;
      if (value.text == "off") {
        turned->on = false;
        return std::nullopt;
      }
      return error(value.place,
                   given + " must be on, off or a map of keys, not " + text::in_quotes(value.text));
    }
    return read_map(value, place, given, path);
  }

  void note_tokens(const Key& key, std::int64_t tokens, config::SourceLocation place) {
    if (tokens == 0) note(place, "retry_on is empty: nothing is retried");
    for (std::size_t i = 0; i < key.names.size(); ++i) {
      const std::string_view why = refusal(static_cast<RetryOn::Token>(i));
      if ((tokens >> i & 1) == 0 || why.empty()) continue;
      note(place, "retry_on has " + std::string(key.names[i]) + ": " + std::string(why),
           is_about_overload(why));
    }
  }

  void note_statuses(const RetryOn::Statuses& statuses, config::SourceLocation place) {
    for (int status = 400; status <= 599; ++status) {
      const std::string_view why = refusal_of_status(status);
      if (!statuses[static_cast<std::size_t>(status)] || why.empty()) continue;
      note(place, "retriable_status_codes has " + std::to_string(status) + ": " + std::string(why),
           is_about_overload(why));
    }
  }

  std::string_view name_;
  std::string_view file_;
  std::vector<config::Note>& notes_;
  std::span<const std::string_view> beside_;
  Block block_;
};

std::size_t at(std::string_view path) { return *find_key(path); }

}  // namespace

Expected<Block, config::Error> read_block(const config::Tree& tree, config::SourceLocation place,
                                          std::string_view name, std::string_view file,
                                          std::vector<config::Note>& notes,
                                          std::span<const std::string_view> beside) {
  Reader reader(name, file, notes, beside);
  if (std::optional<config::Error> wrong = reader.read_map(tree, place, "", "")) {
    return unexpected(*std::move(wrong));
  }
  return reader.take();
}

void apply(const Block& block, Origin origin, Route& route) {
  Settings& settings = route.settings;
  schedule::HedgeOptions& hedge = settings.policy.call.hedge;
  for (std::size_t i = 0; i < sections().size(); ++i) {
    const auto& turned = block.sections[i];
    if (turned && sections()[i].turn != nullptr) sections()[i].turn(settings, turned->on);
  }
  for (std::size_t i = 0; i < keys().size(); ++i) {
    const std::optional<Block::Said>& said = block.keys[i];
    if (!said) continue;
    route.origins[i] = origin;
    route.places[i] = said->place;
    if (keys()[i].kind == Kind::routes) {
      settings.facts->calls = said->names;
    } else if (keys()[i].kind == Kind::statuses) {
      settings.retry_on.set_statuses(said->statuses);
    } else {
      keys()[i].set(settings, said->raw);
    }
  }
  // A chance over 0 is hedging, unless the same block says how many hedges there are.
  const auto& chance = block.keys[at("hedge_policy.additional_request_chance")];
  const auto& most = block.keys[at("hedge_policy.max_hedges")];
  if (chance && chance->raw > 0 && !most) hedge.max_hedges = std::max(hedge.max_hedges, 1);
  if (hedge.max_hedges == 0) hedge.ratio = schedule::HedgeOptions{}.ratio;
  // Envoy's default: max_interval is 10 times base_interval.
  const Key& base = keys()[at("retry_policy.retry_back_off.base_interval")];
  const std::size_t cap = at("retry_policy.retry_back_off.max_interval");
  if (route.origins[cap] == Origin::built_in) {
    keys()[cap].set(settings, std::min(10 * base.get(settings), keys()[cap].high));
  }
  settings.policy.call.retryable = settings.retry_on.outcomes();
}

}  // namespace damper::policy
