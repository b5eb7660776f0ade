#pragma once

#include <cstddef>
#include <iosfwd>

#include "damper/base/instant.h"
#include "damper/base/text/chart_text.h"
#include "damper/cli/program.h"
#include "damper/proxy/admin/admin_client.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::cli {

// What happened between two looks at a proxy, `apart` from each other: requests and tries in a
// second, and what is under way now; the busiest route first. In `rows` lines or so.
//
// Model: the difference of the counts. A route that is new counts from 0, and a proxy that was
// started again in between shows nothing that is negative.
void print_top(std::ostream& out, const proxy::ProxyState& before, const proxy::ProxyState& after,
               Duration apart, text::ReportStyle style, std::size_t rows);

struct TopOptions {
  Duration interval = std::chrono::seconds(1);
  bool once = false;  // print one interval and exit; implied if stdout is not a terminal
};

// `damper ctl top`: until q or ^C. While the proxy does not answer, it retries. Returns the exit
// status.
[[nodiscard]] int run_top(proxy::AdminClient& client, const TopOptions& options,
                          const text::Stdio& streams);

}  // namespace damper::cli
