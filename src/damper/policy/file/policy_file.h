#ifndef DAMPER_POLICY_FILE_POLICY_FILE_H_
#define DAMPER_POLICY_FILE_POLICY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/error.h"
#include "damper/engine/policy.h"
#include "damper/policy/file/facts.h"
#include "damper/policy/file/retry_on.h"

namespace damper::config {
struct Tree;
}

namespace damper::policy {

inline constexpr std::size_t kMostRoutes = 1000;
inline constexpr std::size_t kLongestName = 100;

// Everything that the keys of one route say.
struct Settings {
  engine::Policy policy;
  RetryOn retry_on;
  std::optional<Facts> facts;  // For the linter; the engine does not look at them.
};

// Who said a value.
enum class Origin : std::uint8_t { built_in, defaults, route };

struct Route {
  std::string name;  // Empty in a file with a single `route:`.
  config::SourceLocation place;
  Settings settings;
  std::vector<Origin> origins;  // One for each of keys().
  std::vector<config::SourceLocation>
      places;  // The same: where the value stands, line 0 where nobody said it.
};

// Where the value of the key at that position in keys() stands: the route's own place when nobody
// said it, or when nobody knows.
[[nodiscard]] config::SourceLocation place_of(const Route& route, std::size_t key);

// A PolicyFile is a policy file that has been read, checked and completed with the defaults.
//
// Model: the file has one of three shapes, each with an optional `defaults:`, a block under all:
//   route: BLOCK                      a single route, as in Envoy's examples
//   routes: {NAME: BLOCK, ...}        several, by name
//   dependencies: {NAME: BLOCK, ...}  the same
// The keys of a block are those of schema.h, in any order. What a block does not say is what
// `defaults` says, or else the default of the engine.
// Invariants:
//   (1) Every policy in it is valid: engine::find_error() finds nothing.
//   (2) There is at least one route; names differ; they have 1 to 100 letters, digits or . _ - / :
//   (3) Loading what print() makes of it gives the same policies.
//   (4) What a route's facts call are other routes of the file, and there is no cycle.
struct PolicyFile {
  std::string file;
  std::string shape;  // route, routes or dependencies
  std::vector<Route> routes;
  std::vector<config::Note> notes;

  // Null when there is none of that name.
  [[nodiscard]] const Route* find(std::string_view name) const;
};

// The text's policies, or the first error. `file` is what errors call it.
[[nodiscard]] Expected<PolicyFile, config::Error> load(std::string_view text,
                                                       std::string_view file);

// The same from a file or a stream, of which at most kMostBytes + 1 bytes are read (yaml_tree.h).
[[nodiscard]] Expected<PolicyFile, config::Error> load_file(const std::string& path);
[[nodiscard]] Expected<PolicyFile, config::Error> load_stream(std::istream& in,
                                                              std::string_view file);

// The text of a file or a stream, or why it cannot be read. One that is larger than kMostBytes is
// cut off one byte later, so that whoever parses the text refuses it.
[[nodiscard]] Expected<std::string, config::Error> read_file(const std::string& path);
[[nodiscard]] Expected<std::string, config::Error> read_stream(std::istream& in,
                                                               std::string_view file);

// The policies in a part of another file, such as the `policy` of a scenario. `name` is what errors
// call that part, `place` where it begins.
// `beside` are words that its blocks may have as well, for errors to list: whoever calls reads
// them, and has left them out of the tree.
[[nodiscard]] Expected<PolicyFile, config::Error> load_part(
    const config::Tree& tree, config::SourceLocation place, std::string_view name,
    std::string_view file, std::span<const std::string_view> beside = {});

// Every value in force, the defaults included, as a policy file of the same shape. A comment marks
// what the file did not say itself.
[[nodiscard]] std::string print(const PolicyFile& file);

// The same for the keys of one block, each line after so many spaces, without comments.
[[nodiscard]] std::string print_block(const Settings& settings, std::size_t indent);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_FILE_POLICY_FILE_H_
