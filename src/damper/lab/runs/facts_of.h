#pragma once

#include <vector>

#include "damper/lab/scenario/scenario.h"
#include "damper/policy/file/policy_file.h"

namespace damper::lab {

// A scenario as the linter (policy/lint) sees it: a route for each called service, with the policy
// of its callers and facts computed from the scenario.
//
// Why: the linter's algebra needs numbers that authors of a policy seldom have. A scenario has them
// all, so `damper check` and the lab can be compared.
// Model: without faults.
//   capacity  by the mean time that a worker is busy with a request (capacity.h); where that is not
//             known, an upper bound and the reason
//   load      first tries a second: of the clients, and through the calls of services; not known
//             if a group that leads there has a closed loop or runs once
//   clients   processes that call it; a service is one for each of its replicas
//   latency   service time, both ways over the network, and the slowest of its calls, each at the
//             same quantile; a call that is made n times at its q^(1/n); not known where requests
//             may have to wait for a worker, since that depends on the load
// Facts in the policy file itself are ignored.
// REQUIRES: !find_error(scenario).
[[nodiscard]] std::vector<policy::Route> facts_of(const Scenario& scenario);

}  // namespace damper::lab
