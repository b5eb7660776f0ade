#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/proxy/control/fleet_watch.h"

namespace damper::proxy {

// The last good copy of what a fleet says, in a file of a folder: FOLDER/fleet.json. It is what a
// proxy starts with while etcd is away.
//
// Invariants:
//   (1) The file is there whole, the old one or the new one, also after a power cut.
//   (2) What print_fleet() makes is read the same.

inline constexpr std::string_view kFleetFile = "fleet.json";

[[nodiscard]] std::string print_fleet(const Fleet& fleet);
[[nodiscard]] Expected<Fleet> parse_fleet(std::string_view text);

// One sentence says why it is not kept. The folder is made if there is none (mode 0750).
[[nodiscard]] std::optional<std::string> save_fleet(const std::string& folder, const Fleet& fleet);
// Nothing: there is no copy. One sentence: there is one, and it cannot be read.
[[nodiscard]] Expected<std::optional<Fleet>> load_fleet(const std::string& folder);

}  // namespace damper::proxy
