#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/proxy/process/proxy_settings.h"

namespace damper::proxy {

class FleetControl;

// A configuration text that a proxy may start with, and its name in errors.
struct ProxyChoice {
  std::string text;
  std::string name;
  bool of_fleet = false;

  friend bool operator==(const ProxyChoice&, const ProxyChoice&) = default;
};

// The candidates for a start, in order of preference: the fleet's policy from etcd, its copy on
// disk, the file with the flags. One sentence: the file cannot be read.
//
// Why several: the fleet's policy may be invalid on this machine only (a taken port, a missing
// certificate), and the process has to start all the same.
// Model: without a control only the last. The copy is read, then etcd, for `within` at most; a
// failure is printed on `err` and skipped.
[[nodiscard]] Expected<std::vector<ProxyChoice>> find_choices(const ProxySettings& settings,
                                                              FleetControl* control,
                                                              Duration within, std::ostream& err);

}  // namespace damper::proxy
