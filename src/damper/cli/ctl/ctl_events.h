#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/text/chart_text.h"
#include "damper/cli/program.h"
#include "damper/proxy/admin/admin_client.h"

namespace damper::cli {

struct EventsOptions {
  bool follow = false;                                 // goes on until ^C
  bool json = false;                                   // the lines as the proxy wrote them
  Duration interval = std::chrono::milliseconds(500);  // of asking again
};

// `damper ctl events`: prints the events that the proxy has kept, a line each, and with `follow`
// new ones. Returns the exit status.
[[nodiscard]] int run_events(proxy::AdminClient& client, const EventsOptions& options,
                             const text::Stdio& streams);

// Prints a text of server-sent events; what is not understood is left out. Returns the number of
// the last one, empty when there was none.
[[nodiscard]] std::string print_events(std::ostream& out, std::string_view text, bool json,
                                       text::ReportStyle style);

}  // namespace damper::cli
