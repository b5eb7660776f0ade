#pragma once

#include "damper/proxy/config/path_rules.h"
#include "damper/proxy/config/trust.h"

namespace damper::proxy {

// ListenerRules are what a listener decides about a request before its route is known.
struct ListenerRules {
  Trust trust{};
  PathRules paths{};
};

}  // namespace damper::proxy
