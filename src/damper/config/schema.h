#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/config/error.h"
#include "damper/config/form.h"
#include "damper/config/yaml_tree.h"

namespace damper::config {

class AnySchema;
class Reader;

// A Key is a row of a schema: a path of words joined by dots, the form of its value, and how the
// value is read from and written to the struct.
struct Key {
  std::string_view path;
  Form form;
  std::string_view doc;                              // one line
  Value (*get)(const Form&, const void*) = nullptr;  // REQUIRES: its section is on.
  void (*set)(const Form&, void*, Value&&) = nullptr;
  bool required = false;
  bool unset_at_zero = false;    // zero or empty: it is not set, and has no default
  std::string_view not_under{};  // the path of a key whose value this one may not be under
};

// A Section is a path with keys below it, or with elements that have a schema of their own.
struct Section {
  enum class Items : std::uint8_t { none, one, list, named };
  using Schemas = std::vector<const AnySchema*>;

  std::string_view path;
  std::string_view doc;
  bool (*on)(const void*) = nullptr;    // Null: it is always on.
  void (*turn)(void*, bool) = nullptr;  // Not null: it may be `on` or `off`.
  std::string_view word{};              // the key that is meant by a single word; empty: none
  std::string_view accepted{};          // what it must be, if not a map of keys
  bool required = false;
  Items items = Items::none;
  Schemas (*element)() = nullptr;  // of an item; null: for the JSON Schema it may be anything
  // Reads an item or the items. Null: the section is a map of keys.
  std::optional<Error> (*read)(Reader&, const Section&, const Tree& word, const Tree& value,
                               void* owner) = nullptr;
};

// An Alias is another path under which a key or a section is accepted: Envoy's names, or another
// level. An empty `to` is the struct itself.
struct Alias {
  std::string_view from;
  std::string_view to;
  std::string_view note{};  // printed when it is used; empty: none
};

// A Reading is what one map of a file sets: each value within its bounds, none applied yet.
//
// Why: the meaning of a key must not depend on its position in the map, so that nothing is applied
// before everything is read.
struct Reading {
  struct Entry {
    SourceLocation place;
    Value value;
  };
  struct Toggle {
    SourceLocation place;
    bool on = true;
  };
  Reading() = default;
  explicit Reading(const AnySchema& schema, SourceLocation location = {});

  SourceLocation place{};                         // of the map
  std::vector<std::optional<Entry>> keys{};       // by position in AnySchema::keys()
  std::vector<std::optional<Toggle>> sections{};  // by position in AnySchema::sections()
};

inline constexpr std::size_t kCommentColumn = 56;  // of print()

// What stands before the last dot of a path, and what stands after it.
[[nodiscard]] std::string_view parent(std::string_view path);
[[nodiscard]] std::string_view leaf(std::string_view path);

// An AnySchema is the table of all keys that a map of a file may have, in the order of the
// reference, without the type of the struct that they fill (see Schema).
class AnySchema {
 public:
  // `title` names it in the JSON Schema: a word.
  explicit AnySchema(std::string_view title) : title_(title) {}

  [[nodiscard]] std::string_view title() const { return title_; }
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  [[nodiscard]] const std::vector<Alias>& aliases() const { return aliases_; }
  // The key that is meant when a single word has the place of the map; empty: none.
  [[nodiscard]] std::string_view word() const { return word_; }
  // Whether no value at all is an empty map.
  [[nodiscard]] bool may_be_null() const { return may_be_null_; }

  [[nodiscard]] std::optional<std::size_t> find_key(std::string_view path) const;
  [[nodiscard]] std::optional<std::size_t> find_section(std::string_view path) const;
  // REQUIRES: there is such a key.
  [[nodiscard]] std::size_t position(std::string_view path) const;
  [[nodiscard]] const Key& key_at(std::string_view path) const { return keys_[position(path)]; }
  // The words of a map at the path `given` that means `section`, in the order of the table, aliases
  // last. A section under another system's name has only the words of that system.
  [[nodiscard]] std::vector<std::string_view> words_in(std::string_view given,
                                                       std::string_view section) const;
  [[nodiscard]] std::vector<std::string_view> words() const { return words_in("", ""); }
  // Where the reading has the value of the key, or else the map.
  [[nodiscard]] SourceLocation place_of(const Reading& reading, std::string_view path) const;

 protected:
  [[nodiscard]] bool is_on(const Key& key, const void* thing) const;
  [[nodiscard]] static Value value(const Key& key, const void* thing);
  void turn_all_on(void* thing) const;
  void apply(const Reading& reading, void* thing) const;
  [[nodiscard]] std::optional<std::string> find_error(const void* thing) const;
  [[nodiscard]] std::string reference(const void* defaults, const void* all_on,
                                      std::string_view heading, std::string_view of) const;

  // The effective values as YAML. `comment` returns the comment on a line of the key at that
  // position, or nothing when it is left out; a section without lines is left out too.
  using Comment = std::function<std::optional<std::string>(std::size_t)>;
  [[nodiscard]] std::string print(const void* thing, std::size_t indent, bool with_off,
                                  const Comment& comment) const;

  std::vector<Key> keys_;
  std::vector<Section> sections_;
  std::vector<Alias> aliases_;
  std::string_view word_;
  bool may_be_null_ = false;

 private:
  std::string_view title_;

  void print_section(std::string& out, std::string_view path, const void* thing, std::size_t indent,
                     bool with_off, const Comment& comment) const;
  [[nodiscard]] std::string rows(std::string_view path, const void* all_on) const;
};

// A field of a struct as a Value, and back.
template <class F>
[[nodiscard]] Value to_value(const Form& form, const F& field) {
  if constexpr (std::is_same_v<F, Duration>) {
    return std::int64_t{field.count()} - form.offset;
  } else if constexpr (std::is_same_v<F, Percent>) {
    return std::int64_t{field.hundredths()};
  } else if constexpr (std::is_floating_point_v<F>) {
    if (form.kind == Kind::rate) return std::int64_t{std::llround(field * 1000)};
    if (form.kind == Kind::integer) return static_cast<std::int64_t>(field);
    return field;
  } else if constexpr (std::is_enum_v<F> || std::is_integral_v<F>) {
    return static_cast<std::int64_t>(field) - form.offset;
  } else if constexpr (std::is_same_v<F, std::vector<std::int32_t>>) {
    return std::vector<double>(field.begin(), field.end());
  } else if constexpr (std::is_same_v<F, std::optional<double>>) {
    return field ? Value(*field) : Value();
  } else {
    return field;
  }
}

template <class F>
void from_value(const Form& form, Value&& value, F& field) {
  if constexpr (std::is_same_v<F, Percent>) {
    field = Percent::from_hundredths(static_cast<std::int32_t>(std::get<std::int64_t>(value)));
  } else if constexpr (std::is_floating_point_v<F>) {
    if (const auto* raw = std::get_if<std::int64_t>(&value)) {
      field = static_cast<F>(*raw) / (form.kind == Kind::rate ? 1000 : 1);
    } else {
      field = std::get<double>(value);
    }
  } else if constexpr (std::is_same_v<F, Duration> || std::is_enum_v<F> || std::is_integral_v<F>) {
    field = static_cast<F>(std::get<std::int64_t>(value) + form.offset);
  } else if constexpr (std::is_same_v<F, std::vector<std::int32_t>>) {
    field.clear();
    for (const double number : std::get<std::vector<double>>(value)) {
      field.push_back(static_cast<std::int32_t>(number));
    }
  } else if constexpr (std::is_same_v<F, std::optional<double>>) {
    field = std::get<double>(value);
  } else {
    field = std::get<F>(std::move(value));
  }
}

// A Schema<T> is the table of all keys that a map may have which fills a T.
//
// Why: the loader, the printer, errors, the reference, the JSON Schema and the bounds of
// find_error() follow from one row, so that a bound is written once.
// Model: rows are added once, when the schema is built, each with an accessor of T; DAMPER_FIELD
// makes one of a member's path. Everything else has no types and is AnySchema's.
// Thread safety: immutable once built.
template <class T>
class Schema : public AnySchema {
 public:
  using AnySchema::AnySchema;

  template <auto Field>
  Key& key(std::string_view path, const Form& form, std::string_view doc) {
    return key(
        path, form, doc,
        [](const Form& f, const void* t) { return to_value(f, Field(*static_cast<const T*>(t))); },
        [](const Form& f, void* t, Value&& value) {
          from_value(f, std::move(value), Field(*static_cast<T*>(t)));
        });
  }
  // A key whose value is not one field.
  template <auto Get, auto Set>
  Key& key(std::string_view path, const Form& form, std::string_view doc) {
    return key(
        path, form, doc,
        [](const Form&, const void* t) -> Value { return Get(*static_cast<const T*>(t)); },
        [](const Form&, void* t, Value&& value) { Set(*static_cast<T*>(t), std::move(value)); });
  }
  // A key that other systems have, and that has one value here.
  Key& constant(std::string_view path, const Form& form, std::string_view doc) {
    return key(
        path, form, doc,
        [](const Form& f, const void*) -> Value { return static_cast<std::int64_t>(f.low); },
        [](const Form&, void*, Value&&) {});
  }

  Section& section(std::string_view path, std::string_view doc) {
    return sections_.emplace_back(Section{.path = path, .doc = doc});
  }
  // A section that is a std::optional: it may be `on` or `off`.
  template <auto Part>
  Section& optional_section(std::string_view path, std::string_view doc) {
    return sections_.emplace_back(
        Section{.path = path,
                .doc = doc,
                .on = [](const void* t) { return Part(*static_cast<const T*>(t)).has_value(); },
                .turn =
                    [](void* t, bool on) {
                      auto& part = Part(*static_cast<T*>(t));
                      if (!on) part.reset();
                      if (on && !part) part.emplace();
                    }});
  }
  Section& section(Section row) { return sections_.emplace_back(row); }
  void alias(std::string_view from, std::string_view to, std::string_view note = {}) {
    aliases_.push_back({from, to, note});
  }
  void set_word(std::string_view path) { word_ = path; }
  void set_may_be_null() { may_be_null_ = true; }

  // Whether the section of the key is on.
  [[nodiscard]] bool is_on(const Key& key, const T& thing) const {
    return AnySchema::is_on(key, &thing);
  }
  // REQUIRES: the section of the key is on.
  [[nodiscard]] static Value value(const Key& key, const T& thing) {
    return AnySchema::value(key, &thing);
  }
  // The effective value as YAML; empty when it is not set. REQUIRES: the section is on.
  [[nodiscard]] static std::string write(const Key& key, const T& thing) {
    return write_value(key.form, value(key, thing));
  }
  void set(const Key& key, T& thing, Value value) const {
    key.set(key.form, &thing, std::move(value));
  }
  void turn_all_on(T& thing) const { AnySchema::turn_all_on(&thing); }
  // Overwrites the values of `thing` with those of the reading.
  void apply(const Reading& reading, T& thing) const { AnySchema::apply(reading, &thing); }
  // The first value that is out of its bounds, in one sentence.
  [[nodiscard]] std::optional<std::string> find_error(const T& thing) const {
    return AnySchema::find_error(&thing);
  }
  [[nodiscard]] std::string print(const T& thing, std::size_t indent) const {
    return AnySchema::print(&thing, indent, true, [](std::size_t) { return std::string(); });
  }
  [[nodiscard]] std::string print(const T& thing, std::size_t indent, bool with_off,
                                  const Comment& comment) const {
    return AnySchema::print(&thing, indent, with_off, comment);
  }
  // The tables of the reference in Markdown, after the title of the first: a section is titled
  // "HEADING PATH OF".
  [[nodiscard]] std::string reference(std::string_view heading, std::string_view of = {}) const {
    T all_on{};
    turn_all_on(all_on);
    const T defaults{};
    return AnySchema::reference(&defaults, &all_on, heading, of);
  }

 private:
  Key& key(std::string_view path, const Form& form, std::string_view doc,
           Value (*getter)(const Form&, const void*), void (*setter)(const Form&, void*, Value&&)) {
    return keys_.emplace_back(
        Key{.path = path, .form = form, .doc = doc, .get = getter, .set = setter});
  }
};

// NOLINTNEXTLINE(bugprone-macro-parentheses): the path of a member takes none.
#define DAMPER_FIELD(expression) [](auto& t) -> auto& { return t.expression; }

// A Reader reads maps of one file as their schemas say.
//
// Invariants:
//   (1) An error is one sentence with its place and what is accepted, the first in the file.
//   (2) A key, or a section, that is given twice under two names is an error.
class Reader {
 public:
  // A schema of the map that is read; `owner` is the struct that sections with items add to.
  struct Target {
    const AnySchema* schema;
    Reading* reading;
    void* owner = nullptr;
  };

  // `notes` receives the notes of aliases. `context` is for the read functions of sections.
  explicit Reader(std::string_view file, std::vector<Note>* notes = nullptr,
                  void* context = nullptr)
      : file_(file), notes_(notes), context_(context) {}

  [[nodiscard]] std::string_view file() const { return file_; }
  template <class C>
  [[nodiscard]] C& context() const {
    return *static_cast<C*>(context_);
  }
  [[nodiscard]] Error error(SourceLocation place, std::string sentence) const {
    return {std::string(file_), place, std::move(sentence)};
  }

  // Reads a map that has the keys of all targets; `name` is what errors call it.
  [[nodiscard]] std::optional<Error> read(std::span<const Target> targets, const Tree& map,
                                          SourceLocation place, std::string_view name);
  // Reads a map into a struct.
  template <class T>
  [[nodiscard]] std::optional<Error> read(const Schema<T>& schema, const Tree& map,
                                          SourceLocation place, std::string_view name, T& thing,
                                          Reading* kept = nullptr) {
    Reading reading(schema, place);
    const Target target{&schema, &reading, &thing};
    if (auto wrong = read({&target, 1}, map, place, name)) return wrong;
    schema.apply(reading, thing);
    if (kept != nullptr) *kept = std::move(reading);
    return std::nullopt;
  }

  // Calls read_one(name, body) for each pair of a map from names, and read_one(item) for each item
  // of a list; `name` is the form of a name.
  using Named = std::function<std::optional<Error>(const Tree& name, const Tree& body)>;
  [[nodiscard]] std::optional<Error> read_named(const Section& section, const Tree& word,
                                                const Tree& value, std::size_t most,
                                                const Form& name, const Named& read_one) const;
  using Item = std::function<std::optional<Error>(const Tree& item)>;
  [[nodiscard]] std::optional<Error> read_list(const Section& section, const Tree& word,
                                               const Tree& value, std::size_t most,
                                               const Item& read_one) const;

 private:
  [[nodiscard]] std::optional<Error> read_map(const Target& target, const Tree& map,
                                              SourceLocation place, const std::string& given,
                                              const std::string& section);
  [[nodiscard]] std::optional<Error> read_pair(const Target& target, const Tree& word,
                                               const Tree& value, const std::string& given,
                                               const std::string& section);
  [[nodiscard]] std::optional<Error> read_key(const Target& target, std::size_t position,
                                              const Tree& word, const Tree& value,
                                              const std::string& given);
  [[nodiscard]] std::optional<Error> read_section(const Target& target, std::size_t position,
                                                  const Tree& word, const Tree& value,
                                                  const std::string& given);
  [[nodiscard]] std::optional<Error> find_missing(const Target& target, const Tree& map,
                                                  SourceLocation place,
                                                  std::string_view name) const;

  std::string_view file_;
  std::vector<Note>* notes_;
  void* context_;
};

// The JSON Schema (draft 2020-12) of a file whose top has these schemas.
[[nodiscard]] std::string json_schema(std::string_view title, const Section::Schemas& top);

}  // namespace damper::config
