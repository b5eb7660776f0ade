#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/config/yaml_tree.h"

namespace damper::policy {

// What an importer found in the file: notes, and why it cannot be imported.
//
// Invariants:
//   (1) take() is in the order of the file, and no two of its notes are equal: an alias, or a block
//       that several routes share, is noted once.
//   (2) The error is the first one in the file, whatever was read first.
class ImportNotes {
 public:
  explicit ImportNotes(std::string_view file) : file_(file) {}

  void note(config::SourceLocation place, std::string sentence);
  // Notes a topic of the whole file the first time only.
  void note_once(std::string_view topic, config::SourceLocation place, std::string sentence);
  // Notes something of the file that the result does not have.
  void left_out(config::SourceLocation place, std::string sentence);
  void fail(config::SourceLocation place, std::string sentence);

  [[nodiscard]] bool has_left_out() const { return left_out_; }
  [[nodiscard]] const std::optional<config::Error>& error() const { return error_; }
  [[nodiscard]] std::vector<config::Note> take();

 private:
  std::string file_;
  std::vector<config::Note> notes_;
  std::set<std::string, std::less<>> topics_;
  std::optional<config::Error> error_;
  bool left_out_ = false;
};

// A value and where it stands; line 0 when the file does not say it.
template <class T>
struct Placed {
  T value{};
  config::SourceLocation place{};
};

// The Fields of a foreign map: each is taken by name, and leave_rest() notes those that were not
// taken.
//
// Why: an importer that ignores unknown fields loses half of a file silently. Here a field is only
// ignored by skip().
// Model: proto3's JSON accepts a field as num_retries and as numRetries; so does take(). A field
// that is null is not there.
// Invariants:
//   (1) After leave_rest() every field has been taken, skipped or noted, each exactly once; a field
//       that is left out as a whole is one note, however much is below it.
class Fields {
 public:
  // `name` is what notes and errors call the map. A null tree has no fields; any other that is not
  // a map is an error.
  Fields(const config::Tree& tree, std::string_view name, ImportNotes& notes);

  [[nodiscard]] bool has(std::string_view field) const;
  // The field's value; null when it is not there.
  [[nodiscard]] const config::Tree* take(std::string_view field);
  // Where the field's name stands; where the map is when there is no such field.
  [[nodiscard]] config::SourceLocation place_of(std::string_view field) const;

  // Fields that identify something and do not concern its calls.
  void skip(std::initializer_list<std::string_view> fields);
  // A field that has no equivalent, and why: "FIELD has no equivalent: WHY"; nothing if it was
  // taken.
  void leave(std::string_view field, std::string_view why);
  void leave_rest();

  // Takes a field and reads its value. Nothing, or `otherwise`, when it is not there; a value of
  // another kind, or a negative one, is an error.
  [[nodiscard]] std::optional<Placed<Duration>> duration(std::string_view field);
  [[nodiscard]] std::optional<Placed<std::int64_t>> integer(std::string_view field);
  [[nodiscard]] std::optional<Placed<double>> number(std::string_view field);
  [[nodiscard]] std::optional<Placed<bool>> boolean(std::string_view field);
  [[nodiscard]] Placed<Duration> duration(std::string_view field, Duration otherwise) {
    return duration(field).value_or(Placed<Duration>{.value = otherwise});
  }
  [[nodiscard]] Placed<std::int64_t> integer(std::string_view field, std::int64_t otherwise) {
    return integer(field).value_or(Placed<std::int64_t>{.value = otherwise});
  }
  [[nodiscard]] Placed<double> number(std::string_view field, double otherwise) {
    return number(field).value_or(Placed<double>{.value = otherwise});
  }
  // Whether it is there and true.
  [[nodiscard]] bool is_true(std::string_view field) {
    return boolean(field).value_or(Placed<bool>{}).value;
  }
  [[nodiscard]] std::string text(std::string_view field);  // Empty when it is not there.
  [[nodiscard]] std::span<const config::Tree> list(std::string_view field);

 private:
  [[nodiscard]] std::optional<std::size_t> find(std::string_view field) const;
  void wrong(std::string_view field, std::string_view must_be, const config::Tree& value);

  const config::Tree& tree_;
  std::string_view name_;
  ImportNotes& notes_;
  std::vector<bool> done_;
};

// A duration of other systems: 0.25s as proto's JSON has it, 1h30m as Go has it, {seconds: 1,
// nanos: 5} as proto's text has it. What is over kLongest is kLongest and a nanosecond. Nothing
// when it is none of these.
[[nodiscard]] std::optional<Duration> find_foreign_duration(const config::Tree& tree);

// The text as a name of a route: what may not be in it becomes "-", and no more than kLongestName.
[[nodiscard]] std::string as_route_name(std::string_view text);

}  // namespace damper::policy
