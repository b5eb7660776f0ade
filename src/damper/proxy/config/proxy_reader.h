#ifndef DAMPER_PROXY_CONFIG_PROXY_READER_H_
#define DAMPER_PROXY_CONFIG_PROXY_READER_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/config/error.h"
#include "damper/config/yaml_tree.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {

// Where one thing of a file stands: itself, and each value that it says.
struct Said {
  config::SourceLocation place{};
  std::vector<config::SourceLocation>
      keys{};  // by position in proxy_keys(); line 0: nobody said it

  // Of that key, or of the thing where nobody said it.
  [[nodiscard]] config::SourceLocation at(Thing thing, std::string_view path) const;
};

// Reads what the map says about one thing into the subject: each value within its own bounds. What
// is not said stays as it is. `name` is what errors call it.
[[nodiscard]] std::optional<config::Error> read_thing(Thing thing, const Subject& subject,
                                                      const config::Tree& map,
                                                      config::SourceLocation place,
                                                      std::string_view name, std::string_view file,
                                                      Said& said);

// The pairs of a map whose keys are among the words, and the others. Something else than a map is
// all among the others.
struct Halves {
  config::Tree among{};
  config::Tree others{};
};
[[nodiscard]] Halves split(const config::Tree& map, std::span<const std::string_view> words);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_CONFIG_PROXY_READER_H_
