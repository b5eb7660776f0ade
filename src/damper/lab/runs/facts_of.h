#ifndef DAMPER_LAB_RUNS_FACTS_OF_H_
#define DAMPER_LAB_RUNS_FACTS_OF_H_

#include <vector>

#include "damper/lab/scenario/scenario.h"
#include "damper/policy/file/policy_file.h"

namespace damper::lab {

// What the linter (policy/lint.h) should know about a scenario: a route for each service that
// somebody calls, with the policy that its callers have and the facts that the world says.
//
// Why: the linter's algebra needs numbers that nobody has at hand when he writes a policy. A
// scenario has them all, so that `damper check` and the lab can be held against each other.
// Model: without faults.
//   capacity  replicas * workers / the mean time that a worker is busy with a request, the calls
//             that it waits for included; not known when there is a worker for every request
//   load      first tries a second: of the clients, and through the calls of services; not known
//             when a group that leads there is a closed loop or comes once
//   clients   processes that call it; a service is one for each of its replicas
//   latency   service time, both ways over the network, and the slowest of its calls, each at the
//             same quantile; a call that is made n times at its q^(1/n); not known where requests
//             may have to wait for a worker, since that depends on the load
// A fact that the policy file itself says about the route is not looked at.
// REQUIRES: !find_error(scenario).
[[nodiscard]] std::vector<policy::Route> facts_of(const Scenario& scenario);

}  // namespace damper::lab

#endif  // DAMPER_LAB_RUNS_FACTS_OF_H_
