#include "damper/proxy/process/proxy_choices.h"

#include <ostream>
#include <utility>

#include "damper/proxy/control/fleet_control.h"

namespace damper::proxy {

Expected<std::vector<ProxyChoice>> find_choices(const ProxySettings& settings,
                                                FleetControl* control, Duration within,
                                                std::ostream& err) {
  auto text = read_proxy_file(settings);
  if (!text) return unexpected(text.error());
  const std::string name = settings.file.empty() ? "the command line" : settings.file;
  std::vector<ProxyChoice> out;
  if (control != nullptr) {
    if (const auto why = control->load()) err << "damper: " << *why << '\n';
    const std::optional<std::string> copy = control->good_policy();
    if (const auto why = control->read_first(within)) {
      err << "damper: " << settings.control << " does not answer (" << *why << "): starting with "
          << (copy ? "the copy in " + settings.state_dir : name) << '\n';
    }
    const std::optional<std::string>& policy = control->fleet().policy;
    if (policy) out.push_back({*policy, settings.control, true});
    if (copy && copy != policy) out.push_back({*copy, settings.state_dir, true});
  }
  out.push_back({*std::move(text), name});
  return out;
}

}  // namespace damper::proxy
