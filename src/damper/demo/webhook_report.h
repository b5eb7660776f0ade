#pragma once

#include <iosfwd>
#include <string>

#include "damper/base/text/chart_text.h"
#include "damper/demo/webhook_demo.h"

namespace damper::demo {

// What `damper webhooks demo` prints. All of it is a function of the record.

// What is going to happen, before it does.
void print_webhook_plot(std::ostream& out, const WebhookDemoOptions& options);

// One line, without its end: how far the demo is.
[[nodiscard]] std::string webhook_line(const WebhookDemoRecord& record);

// Arrivals per second at each endpoint, and the counts: accepted, delivered, waiting, dead, lost,
// duplicates.
void print_webhook_report(std::ostream& out, const WebhookDemoOptions& options,
                          const WebhookDemoRecord& record, text::ReportStyle style);

}  // namespace damper::demo
