#ifndef DAMPER_POLICY_IMPORT_IMPORT_DRAFT_H_
#define DAMPER_POLICY_IMPORT_IMPORT_DRAFT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/policy/file/block.h"
#include "damper/policy/file/retry_on.h"
#include "damper/policy/import/import.h"
#include "damper/policy/import/import_walk.h"

namespace damper::policy {

// A Draft is one route in the making: what has been said of it so far, each value with its place in
// the original.
//
// Why: what makes one route here stands in several places there (a route, its virtual host, its
// cluster), and each of them is to be read, and noted, once.
// Model: a Block of the policy file. A value is held within its key's bounds, with a note when that
// changed it. A place of line 0 marks the other system's default. add() joins two drafts.
class Draft {
 public:
  explicit Draft(ImportNotes& notes);

  // REQUIRES: there is such a key, not of the kind statuses.
  void say(std::string_view path, std::int64_t raw, config::SourceLocation place = {});
  void say(std::string_view path, Duration value, config::SourceLocation place = {}) {
    say(path, value.count(), place);
  }
  void say(std::string_view path, const Placed<std::int64_t>& said) {
    say(path, said.value, said.place);
  }
  void say(std::string_view path, const Placed<Duration>& said) {
    say(path, said.value, said.place);
  }
  // A fraction of 1, as a percentage.
  void say_ratio(std::string_view path, const Placed<double>& said);
  void say_statuses(const RetryOn::Statuses& statuses, config::SourceLocation place = {});

  [[nodiscard]] bool says(std::string_view path) const { return raw(path).has_value(); }
  [[nodiscard]] std::optional<std::int64_t> raw(std::string_view path) const;
  [[nodiscard]] config::SourceLocation place_of(std::string_view path) const;

  // Takes over what the other draft says and this one does not.
  void add(const Draft& other);

 private:
  friend class Drafts;

  ImportNotes* notes_;
  Block block_;
};

// The routes of a file in the making.
//
// Invariants:
//   (1) Every route of file() is valid and has a name of its own.
class Drafts {
 public:
  explicit Drafts(ImportNotes& notes) : notes_(notes) {}

  // Whether there is room for one more route of anything; an error says when there is not.
  [[nodiscard]] bool has_room(std::size_t taken, config::SourceLocation place);
  void add(std::string_view name, config::SourceLocation place, const Draft& draft);

  [[nodiscard]] std::size_t size() const { return result_.file.routes.size(); }
  [[nodiscard]] Imported take(std::string_view file);

 private:
  [[nodiscard]] std::string unique_name(std::string_view name);
  void settle_order(Route& route);

  ImportNotes& notes_;
  Imported result_;
  std::map<std::string, std::size_t> named_;  // how often a name was asked for
};

}  // namespace damper::policy

#endif  // DAMPER_POLICY_IMPORT_IMPORT_DRAFT_H_
