#pragma once

#include <atomic>
#include <functional>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/demo/demo_record.h"

namespace damper::demo {

struct DemoOptions {
  Duration act = std::chrono::seconds(12);  // each; 1 s to 10 min
};

// The demo: four acts, each with the same traffic twice, side by side and for real: through a Proxy
// to three backends, and from naive clients straight to three others of the same kind. All of it in
// this process, on loopback: two loops of backends, two of clients and the proxy's.
//
// Model: an act begins with everything new, so that none inherits another's trouble. `watch` is
// told ten times a second, with the act so far. When `stop` turns true the act ends early, and what
// was seen until then is the record.
// Thread safety: blocks the caller, who also is who watches. Or one sentence: it cannot start.
[[nodiscard]] Expected<DemoRecord> run_demo(const DemoOptions& options,
                                            const std::function<void(const ActRecord&)>& watch,
                                            const std::atomic<bool>& stop);

}  // namespace damper::demo
