#ifndef DAMPER_PROXY_PROCESS_PROXY_CHOICES_H_
#define DAMPER_PROXY_PROCESS_PROXY_CHOICES_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/proxy/process/proxy_settings.h"

namespace damper::proxy {

class FleetControl;

// A text that a proxy may start with, and what errors call it.
struct ProxyChoice {
  std::string text;
  std::string name;
  bool of_fleet = false;

  friend bool operator==(const ProxyChoice&, const ProxyChoice&) = default;
};

// What a proxy may start with, the best first: the fleet's policy as etcd has it; as the copy on
// disk has it; the file and the flags. Or one sentence: the file cannot be read.
//
// Why several: a policy of the fleet's can be good elsewhere and wrong here (a port that is taken,
// a certificate that is not there), and a process that does not start serves nobody. Model: without
// a control only the last. The copy is read, then etcd is asked, for `within` at most; what is not
// to be had is said on `err`, and passed over.
[[nodiscard]] Expected<std::vector<ProxyChoice>> find_choices(const ProxySettings& settings,
                                                              FleetControl* control,
                                                              Duration within, std::ostream& err);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_PROXY_CHOICES_H_
