#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/error.h"
#include "damper/engine/policy.h"
#include "damper/policy/file/facts.h"
#include "damper/policy/file/retry_on.h"

namespace damper::config {
class AnySchema;
struct Reading;
struct Tree;
}  // namespace damper::config

namespace damper::policy {

inline constexpr std::size_t kMostRoutes = 1000;
inline constexpr std::size_t kLongestName = 100;

// The values of all keys of one route.
struct Settings {
  engine::Policy policy;
  RetryOn retry_on;
  std::optional<Facts> facts;  // For the linter; the engine ignores them.
};

// What set a value.
enum class Origin : std::uint8_t { built_in, defaults, route };

struct Route {
  std::string name;  // Empty in a file with a single `route:`.
  config::SourceLocation place;
  Settings settings;
  std::vector<Origin> origins;                 // By position in block_schema().keys().
  std::vector<config::SourceLocation> places;  // The same; line 0 for a value that is not set.
};

// The location of the value of the key at that position; the route's own if the value is not set.
[[nodiscard]] config::SourceLocation place_of(const Route& route, std::size_t key);

// A PolicyFile is a policy file that has been read, checked and completed with the defaults.
//
// Model: the file has one of three shapes, each with an optional `defaults:` block:
//   route: BLOCK                      a single route, as in Envoy's examples
//   routes: {NAME: BLOCK, ...}        several, by name
//   dependencies: {NAME: BLOCK, ...}  the same
// A block has the keys of block_schema(), in any order. A key that a block does not set has the
// value of `defaults`, or else the default of the engine.
// Invariants:
//   (1) Every policy in it is valid: engine::find_error() finds nothing.
//   (2) There is at least one route; names differ; they have 1 to 100 letters, digits or . _ - / :
//   (3) Loading the output of print() gives the same policies.
//   (4) The routes in facts.calls are other routes of the file, and there is no cycle.
struct PolicyFile {
  std::string file;
  std::string shape;  // route, routes or dependencies
  std::vector<Route> routes;
  std::vector<config::Note> notes;

  // Null when there is no route of that name.
  [[nodiscard]] const Route* find(std::string_view name) const;
};

// The policies of the text, or the first error. `file` is the name of the file in errors.
[[nodiscard]] Expected<PolicyFile, config::Error> load(std::string_view text,
                                                       std::string_view file);

// The same from a file or a stream, of which at most kMostBytes + 1 bytes are read (yaml_tree.h).
[[nodiscard]] Expected<PolicyFile, config::Error> load_file(const std::string& path);
[[nodiscard]] Expected<PolicyFile, config::Error> load_stream(std::istream& in,
                                                              std::string_view file);

// The text of a file or a stream, or why it cannot be read. Text that is larger than kMostBytes is
// cut off one byte later, so that the parser refuses it.
[[nodiscard]] Expected<std::string, config::Error> read_file(const std::string& path);
[[nodiscard]] Expected<std::string, config::Error> read_stream(std::istream& in,
                                                               std::string_view file);

// The policies in a part of another file, such as the `policy` of a scenario. `name` is the name of
// that part in errors, `place` where it begins.
[[nodiscard]] Expected<PolicyFile, config::Error> load_part(const config::Tree& tree,
                                                            config::SourceLocation place,
                                                            std::string_view name,
                                                            std::string_view file);

// The same for blocks that have the keys of another schema as well: those of the proxy's routes.
// `readings` receives what `defaults` sets of them, and then what each route does.
[[nodiscard]] Expected<PolicyFile, config::Error> load_part(
    const config::Tree& tree, config::SourceLocation place, std::string_view name,
    std::string_view file, const config::AnySchema* beside, std::vector<config::Reading>* readings);

// Every effective value, including defaults, as a policy file of the same shape. A comment marks
// each value that the file does not set itself.
[[nodiscard]] std::string print(const PolicyFile& file);

}  // namespace damper::policy
