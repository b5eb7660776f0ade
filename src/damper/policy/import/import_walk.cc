#include "damper/policy/import/import_walk.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {
namespace {

auto order(const config::Error& error) { return std::tuple(error.place.line, error.place.column); }

// num_retries as numRetries.
std::string camel(std::string_view text) {
  std::string out;
  bool up = false;
  for (const char c : text) {
    if (c == '_') {
      up = true;
      continue;
    }
    out += up && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    up = false;
  }
  return out;
}

constexpr Duration kOver = kLongest + Duration{1};

// One part of 1h30m: a number with a unit.
std::optional<Duration> find_part(std::string_view text) {
  if (const auto exact = parse_duration(text)) return *exact;
  const std::size_t unit = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = text::find_number<double>(text.substr(0, unit));
  const auto one = parse_duration("1" + std::string(text.substr(unit)));
  const double longest = static_cast<double>(kLongest.count());
  if (!number || !one || *number * static_cast<double>(one->count()) < longest) return std::nullopt;
  return kOver;
}

std::optional<Duration> find_duration(std::string_view text) {
  Duration sum{0};
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::size_t unit = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::size_t end = std::min(text.find_first_of("0123456789.", unit), text.size());
    const auto part = find_part(text.substr(0, end));
    if (!part) return std::nullopt;
    sum = std::min(sum + *part, kOver);
    text.remove_prefix(end);
  }
  return sum;
}

}  // namespace

void ImportNotes::note(config::SourceLocation place, std::string sentence) {
  notes_.push_back({file_, place, std::move(sentence)});
}

void ImportNotes::note_once(std::string_view topic, config::SourceLocation place,
                            std::string sentence) {
  if (topics_.emplace(topic).second) note(place, std::move(sentence));
}

void ImportNotes::left_out(config::SourceLocation place, std::string sentence) {
  left_out_ = true;
  note(place, std::move(sentence));
}

void ImportNotes::fail(config::SourceLocation place, std::string sentence) {
  config::Error error{file_, place, std::move(sentence)};
  if (!error_ || order(error) < order(*error_)) error_ = std::move(error);
}

std::vector<config::Note> ImportNotes::take() {
  std::stable_sort(notes_.begin(), notes_.end(), [](const config::Note& a, const config::Note& b) {
    return order(a) < order(b);
  });
  std::vector<config::Note> unique;
  std::size_t first = 0;  // of those at the place of the last one
  for (config::Note& note : notes_) {
    if (!unique.empty() && unique.back().place != note.place) first = unique.size();
    const bool known =
        std::any_of(unique.begin() + static_cast<std::ptrdiff_t>(first), unique.end(),
                    [&](const config::Note& n) { return n.sentence == note.sentence; });
    if (!known) unique.push_back(std::move(note));
  }
  return unique;
}

Fields::Fields(const config::Tree& tree, std::string_view name, ImportNotes& notes)
    : tree_(tree), name_(name), notes_(notes), done_(tree.is_map() ? tree.pairs() : 0) {
  if (tree.is_map() || tree.kind == config::Tree::Kind::null) return;
  notes.fail(tree.place, std::string(name) + " must be a map of fields");
}

std::optional<std::size_t> Fields::find(std::string_view field) const {
  const std::string wanted = camel(field);
  for (std::size_t i = 0; i < done_.size(); ++i) {
    if (camel(tree_.key(i).text) == wanted) return i;
  }
  return std::nullopt;
}

bool Fields::has(std::string_view field) const {
  const auto pair = find(field);
  return pair && tree_.value(*pair).kind != config::Tree::Kind::null;
}

const config::Tree* Fields::take(std::string_view field) {
  const auto pair = find(field);
  if (!pair) return nullptr;
  done_[*pair] = true;
  return tree_.value(*pair).kind == config::Tree::Kind::null ? nullptr : &tree_.value(*pair);
}

config::SourceLocation Fields::place_of(std::string_view field) const {
  const auto pair = find(field);
  return pair ? tree_.key(*pair).place : tree_.place;
}

void Fields::skip(std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields) static_cast<void>(take(field));
}

void Fields::leave(std::string_view field, std::string_view why) {
  if (const auto pair = find(field); pair && !done_[*pair] && take(field) != nullptr) {
    notes_.left_out(tree_.key(*pair).place, text::on_one_line(tree_.key(*pair).text) +
                                                " has no equivalent: " + std::string(why));
  }
}

void Fields::leave_rest() {
  for (std::size_t i = 0; i < done_.size(); ++i) {
    if (done_[i] || tree_.value(i).kind == config::Tree::Kind::null) continue;
    done_[i] = true;
    notes_.left_out(tree_.key(i).place, text::on_one_line(tree_.key(i).text) + " of " +
                                            std::string(name_) +
                                            " has no equivalent and is left out");
  }
}

void Fields::wrong(std::string_view field, std::string_view must_be, const config::Tree& value) {
  notes_.fail(value.place, std::string(field) + " must be " + std::string(must_be) +
                               (value.is_scalar() ? ", not " + text::in_quotes(value.text) : ""));
}

std::optional<Placed<Duration>> Fields::duration(std::string_view field) {
  const config::Tree* value = take(field);
  if (value == nullptr) return std::nullopt;
  const auto duration = find_foreign_duration(*value);
  if (duration) return Placed<Duration>{*duration, value->place};
  wrong(field, "a duration such as 0.25s or 2s", *value);
  return std::nullopt;
}

std::optional<Placed<std::int64_t>> Fields::integer(std::string_view field) {
  const config::Tree* value = take(field);
  if (value == nullptr) return std::nullopt;
  const auto integer = text::find_number<std::int64_t>(value->text);
  if (integer && *integer >= 0) return Placed<std::int64_t>{*integer, value->place};
  wrong(field, "a whole number", *value);
  return std::nullopt;
}

std::optional<Placed<double>> Fields::number(std::string_view field) {
  const config::Tree* value = take(field);
  if (value == nullptr) return std::nullopt;
  const auto number = text::find_number<double>(value->text);
  if (number && std::isfinite(*number) && *number >= 0) {
    return Placed<double>{*number, value->place};
  }
  wrong(field, "a number", *value);
  return std::nullopt;
}

std::optional<Placed<bool>> Fields::boolean(std::string_view field) {
  const config::Tree* value = take(field);
  if (value == nullptr) return std::nullopt;
  const bool is = value->is_scalar() && (value->text == "true" || value->text == "false");
  if (is) return Placed<bool>{value->text == "true", value->place};
  wrong(field, "true or false", *value);
  return std::nullopt;
}

std::string Fields::text(std::string_view field) {
  const config::Tree* value = take(field);
  if (value == nullptr) return {};
  if (!value->is_scalar()) wrong(field, "a word", *value);
  return value->text;
}

std::span<const config::Tree> Fields::list(std::string_view field) {
  const config::Tree* value = take(field);
  if (value == nullptr) return {};
  if (value->kind == config::Tree::Kind::sequence) return value->items;
  wrong(field, "a list", *value);
  return {};
}

std::optional<Duration> find_foreign_duration(const config::Tree& tree) {
  if (tree.is_scalar()) return find_duration(tree.text);
  if (!tree.is_map() || tree.pairs() == 0) return std::nullopt;
  Duration sum{0};
  for (std::size_t i = 0; i < tree.pairs(); ++i) {
    const bool seconds = tree.key(i).text == "seconds";
    if (!seconds && tree.key(i).text != "nanos") return std::nullopt;
    const auto part = find_duration(tree.value(i).text + (seconds ? "s" : "ns"));
    if (!part || !tree.value(i).is_scalar()) return std::nullopt;
    sum = std::min(sum + *part, kOver);
  }
  return sum;
}

std::string as_route_name(std::string_view text) {
  constexpr std::string_view kAccepted =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:";
  std::string name;
  for (const char c : text) {
    const bool is_accepted = kAccepted.find(c) != std::string_view::npos;
    if (is_accepted || !name.ends_with('-')) name += is_accepted ? c : '-';
    if (name.size() == kLongestName) break;
  }
  while (name.size() > 1 && (name.ends_with('/') || name.ends_with('-'))) name.pop_back();
  return name.empty() ? "route" : name;
}

}  // namespace damper::policy
