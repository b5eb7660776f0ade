#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/config/schema.h"
#include "damper/policy/file/retry_on.h"
#include "damper/policy/import/import.h"
#include "damper/policy/import/import_walk.h"

namespace damper::policy {

// A Draft is one route that is being imported: the values found so far, each with its location in
// the original file.
//
// Why: the parts of one route are in several places of the original (a route, its virtual host, its
// cluster), and each of them is read, and noted, once.
// Model: a Reading of a policy file's block. A value is held within its key's bounds, with a note
// when that changed it. A location of line 0 marks the other system's default. add() joins two
// drafts.
class Draft {
 public:
  explicit Draft(ImportNotes& notes);

  // REQUIRES: there is such a key, and its value is held as an integer.
  void set(std::string_view path, std::int64_t raw, config::SourceLocation place = {});
  void set(std::string_view path, Duration value, config::SourceLocation place = {}) {
    set(path, value.count(), place);
  }
  void set(std::string_view path, const Placed<std::int64_t>& value) {
    set(path, value.value, value.place);
  }
  void set(std::string_view path, const Placed<Duration>& value) {
    set(path, value.value, value.place);
  }
  // A fraction of 1, as a percentage.
  void set_ratio(std::string_view path, const Placed<double>& ratio);
  void set_statuses(const RetryOn::Statuses& statuses, config::SourceLocation place = {});

  [[nodiscard]] bool has(std::string_view path) const { return raw(path).has_value(); }
  [[nodiscard]] std::optional<std::int64_t> raw(std::string_view path) const;
  [[nodiscard]] config::SourceLocation place_of(std::string_view path) const;

  // Adds the values of the other draft that this one does not have.
  void add(const Draft& other);

 private:
  friend class Drafts;

  ImportNotes* notes_;
  config::Reading block_;
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
