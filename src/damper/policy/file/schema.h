#ifndef DAMPER_POLICY_FILE_SCHEMA_H_
#define DAMPER_POLICY_FILE_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/yaml_tree.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {

// The schema: every key that a route's block may have, in one table.
//
// Why: what loads a file, what prints it back, what an error lists and what the reference says are
// four views of the same facts, and drift apart when each is written by hand.
// Model: a Key is a path of words joined by dots, with the kind of its value, its bounds and how to
// read and write it in the Settings. A value of any kind is held as one integer, its raw value:
// nanoseconds, hundredths of a percent, the number, 0 or 1, the index of a name, a set of tokens.
// Who has other things to read than Settings leaves get and set empty, and uses the rest.
// A Section is a path that has keys below it. A Moved path is another place where the same section
// or key is accepted: the names of Envoy's that are not ours, and the two levels where people
// write retry_budget.

enum class Kind : std::uint8_t {
  duration,  // 250ms
  percent,   // 10, 10.5, "10%", {value: 10.0}
  integer,
  bytes,     // 4096, 64KiB, 1MiB, 2GiB
  rate,      // 0.5, 100: a number with at most three decimals, held as thousandths
  boolean,   // true or false
  choice,    // one of names
  chance,    // {numerator: 5, denominator: HUNDRED}, held as hundredths of a percent
  tokens,    // "a,b" or [a, b], each one of names; held as a bit for each
  statuses,  // [502, 503]; it has no raw value: see RetryOn::statuses
  routes,    // [search, billing], names of routes; it has no raw value: see Facts::calls
};

struct Key {
  std::string_view path;
  Kind kind = Kind::integer;
  std::int64_t low = 0;  // of the raw value; both ends are accepted
  std::int64_t high = 0;
  std::string_view doc;                            // one line
  std::int64_t (*get)(const Settings&) = nullptr;  // REQUIRES: the section is on.
  void (*set)(Settings&, std::int64_t) = nullptr;
  std::span<const std::string_view> names{};
  std::optional<std::int64_t> off{};  // what the word `off` stands for, where it is accepted
  std::string_view not_under{};       // the path of a key whose value this one may not be under
  std::string_view off_word = "off";  // the word itself: `unknown` for a fact

  // Whether a value is one integer, its raw value.
  [[nodiscard]] constexpr bool has_raw() const {
    return kind != Kind::statuses && kind != Kind::routes;
  }
};

struct Section {
  std::string_view path;
  std::string_view doc;
  bool (*on)(const Settings&) = nullptr;    // Null: it is always on.
  void (*turn)(Settings&, bool) = nullptr;  // Not null: it may be `on` or `off`.
};

struct Moved {
  std::string_view from;
  std::string_view to;
  std::string_view note{};  // What the reader should know; empty: nothing.
};

[[nodiscard]] std::span<const Key> keys();
[[nodiscard]] std::span<const Section> sections();  // A section comes before those inside it.
[[nodiscard]] std::span<const Moved> moved();

// The position in keys() or sections(); nothing when there is none. No Moved path is found.
[[nodiscard]] std::optional<std::size_t> find_key(std::string_view path);
[[nodiscard]] std::optional<std::size_t> find_section(std::string_view path);

// What stands before the last dot; empty for a path of one word. And what stands after it.
[[nodiscard]] std::string_view parent(std::string_view path);
[[nodiscard]] std::string_view leaf(std::string_view path);

// The words that are accepted in the section, in the table's order, Moved ones last.
[[nodiscard]] std::vector<std::string_view> words_in(std::string_view section);

// The raw value that the tree says, within the key's bounds; else one sentence with what is
// accepted. REQUIRES: key.has_raw().
[[nodiscard]] Expected<std::int64_t> read(const Key& key, const config::Tree& value);

// The same for statuses and for routes. Whether there are such routes is for the file to say.
[[nodiscard]] Expected<RetryOn::Statuses> read_statuses(const Key& key, const config::Tree& value);
[[nodiscard]] Expected<std::vector<std::string>> read_routes(const Key& key,
                                                             const config::Tree& value);

// Whether this can be a route's name: 1 to kLongestName letters, digits or . _ - / :
[[nodiscard]] bool is_route_name(std::string_view text);

// The value in force as YAML that read() reads, on one line. REQUIRES: the section is on.
[[nodiscard]] std::string write(const Key& key, const Settings& settings);

// The same for a raw value, whoever has it. REQUIRES: key.has_raw().
[[nodiscard]] std::string write_raw(const Key& key, std::int64_t raw);

// "a duration from 1ns to 720h, such as 250ms, 2s or 1.5m": what a value of the key must be.
[[nodiscard]] std::string accepted(const Key& key);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_FILE_SCHEMA_H_
