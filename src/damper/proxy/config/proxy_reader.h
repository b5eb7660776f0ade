#ifndef DAMPER_PROXY_CONFIG_PROXY_READER_H_
#define DAMPER_PROXY_CONFIG_PROXY_READER_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/policy/error.h"
#include "damper/policy/yaml_tree.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {

// Where one thing of a file stands: itself, and each value that it says.
struct Said {
  policy::Place place{};
  std::vector<policy::Place> keys{};  // by position in proxy_keys(); line 0: nobody said it

  // Of that key, or of the thing where nobody said it.
  [[nodiscard]] policy::Place at(Thing thing, std::string_view path) const;
};

// Reads what the map says about one thing into the subject: each value within its own bounds. What
// is not said stays as it is. `name` is what errors call it.
[[nodiscard]] std::optional<policy::Error> read_thing(Thing thing, const Subject& subject,
                                                      const policy::Tree& map, policy::Place place,
                                                      std::string_view name, std::string_view file,
                                                      Said& said);

// The pairs of a map whose keys are among the words, and the others. Something else than a map is
// all among the others.
struct Halves {
  policy::Tree among{};
  policy::Tree others{};
};
[[nodiscard]] Halves split(const policy::Tree& map, std::span<const std::string_view> words);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_CONFIG_PROXY_READER_H_
