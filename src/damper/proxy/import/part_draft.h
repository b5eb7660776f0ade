#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/config/schema.h"
#include "damper/policy/import/import_walk.h"

namespace damper::proxy {

// A PartDraft is one part of a proxy's file that is being imported (the top, a listener, a cluster
// or a route): the values found so far, each with its location in the original.
//
// Why: whether a value fits is what the schema says, so that an imported file loads.
// Model: a Reading of the part's schema. A number is held within its key's bounds, with a note when
// that changed it. A text that the key refuses is left out, with a note. The first value of a key
// holds; another one for it is noted. A key that the schema does not have is noted as not
// translated. A location of line 0 marks a default of the other system.
class PartDraft {
 public:
  // The schema and the notes outlive it.
  PartDraft(const config::AnySchema& schema, std::string name, config::SourceLocation place,
            policy::ImportNotes& notes);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] config::SourceLocation place() const { return reading_.place; }
  [[nodiscard]] const config::Reading& reading() const { return reading_; }

  [[nodiscard]] bool has(std::string_view path) const;
  // Whether this version of the proxy has such a key.
  [[nodiscard]] bool knows(std::string_view path) const;
  // REQUIRES: has(path), and its value is held as an integer.
  [[nodiscard]] std::int64_t raw(std::string_view path) const;

  // In the unit in which the key holds it.
  void set(std::string_view path, std::int64_t raw, config::SourceLocation place = {});
  void set(std::string_view path, const policy::Placed<std::int64_t>& value) {
    set(path, value.value, value.place);
  }
  void set(std::string_view path, const policy::Placed<Duration>& value) {
    set(path, value.value.count(), value.place);
  }
  // A time for which zero means no limit: off, or the longest one.
  void set_limit(std::string_view path, const policy::Placed<Duration>& value);
  // As the file would have it.
  void set(std::string_view path, const config::Tree& value);
  void set(std::string_view path, std::string_view text, config::SourceLocation place = {});

  // Removes the keys of a section, or one key.
  void drop(std::string_view section);
  void remove(std::string_view path);

  // Adds the values of the other draft, of the same schema, that this one does not have.
  void add(const PartDraft& other);

 private:
  void put(std::size_t key, config::Value value, config::SourceLocation place);

  const config::AnySchema* schema_;
  std::string name_;
  policy::ImportNotes* notes_;
  config::Reading reading_;
};

// ---- Values as a file has them
[[nodiscard]] config::Tree make_scalar(std::string_view text, config::SourceLocation place = {});
[[nodiscard]] config::Tree make_list(const std::vector<std::string>& texts,
                                     config::SourceLocation place = {});
// Texts by name.
using Pairs = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] config::Tree make_map(const Pairs& pairs, config::SourceLocation place = {});

// Whether two trees have the same content, wherever they are.
[[nodiscard]] bool same_content(const config::Tree& one, const config::Tree& other);

// The comment on a line of the result.
[[nodiscard]] std::string origin_of(config::SourceLocation place);

// The values of the draft as YAML, each with its origin.
template <class T>
[[nodiscard]] std::string print_part(const config::Schema<T>& schema, const PartDraft& part,
                                     std::size_t indent) {
  T thing{};
  schema.apply(part.reading(), thing);
  return schema.print(thing, indent, false, [&](std::size_t key) -> std::optional<std::string> {
    const auto& entry = part.reading().keys[key];
    return entry ? std::optional(origin_of(entry->place)) : std::nullopt;
  });
}

}  // namespace damper::proxy
