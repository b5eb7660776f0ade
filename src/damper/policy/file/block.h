#ifndef DAMPER_POLICY_FILE_BLOCK_H_
#define DAMPER_POLICY_FILE_BLOCK_H_

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

// A Block is what one route's block, or the `defaults` block, says: each value read and within its
// own bounds, none applied yet.
//
// Why: a key's meaning must not depend on where it stands in its block, so that nothing is applied
// before all has been read; errors come in the order of the file.
struct Block {
  struct Said {
    config::SourceLocation place;  // of the value
    std::int64_t raw = 0;
    RetryOn::Statuses statuses{};
    std::vector<std::string> names{};
  };
  struct Turned {
    config::SourceLocation place;
    bool on = true;
  };
  std::vector<std::optional<Said>> keys;        // by position in schema.h's keys()
  std::vector<std::optional<Turned>> sections;  // by position in sections(); those that stand here
};

// Reads the block; appends to `notes` what its reader should know. `name` is what errors call it.
// `beside` are words that the block may have as well, for errors to list: whoever calls reads them,
// and has left them out of the tree.
[[nodiscard]] Expected<Block, config::Error> read_block(
    const config::Tree& tree, config::SourceLocation place, std::string_view name,
    std::string_view file, std::vector<config::Note>& notes,
    std::span<const std::string_view> beside = {});

// Puts what the block says over what the route has.
void apply(const Block& block, Origin origin, Route& route);

}  // namespace damper::policy

#endif  // DAMPER_POLICY_FILE_BLOCK_H_
