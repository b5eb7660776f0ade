#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/base/text/chart_text.h"
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
// called ten times a second, with the act so far. When `stop` turns true the act ends early, and
// the record has the results until then.
// Thread safety: blocks the caller, and calls `watch` on its thread. Or one sentence: it cannot
// start.
[[nodiscard]] Expected<DemoRecord> run_demo(const DemoOptions& options,
                                            const std::function<void(const ActRecord&)>& watch,
                                            const std::atomic<bool>& stop);

// ---- What `damper demo` prints: a function of the records. --------------------------------------

// What is going to happen, before it does.
void print_demo_plot(std::ostream& out, Duration act);

// The act so far, for a terminal of 80 columns: always the same number of lines, each without its
// end. Both sides are drawn to the same scale, so that they can be compared.
[[nodiscard]] std::vector<std::string> demo_frame(const ActRecord& act, text::ReportStyle style);

// The last second of it, in one line.
[[nodiscard]] std::string demo_line(const ActRecord& act);

// The table, what held, and what the switch did.
void print_demo_summary(std::ostream& out, const DemoRecord& record, text::ReportStyle style);

// The rows of the summary's table, its header first.
[[nodiscard]] std::vector<std::vector<std::string>> demo_rows(const DemoRecord& record);

// What the kill switch did on each side; empty: it was not flipped.
[[nodiscard]] std::string switch_sentence(const ActRecord& act);

// One line: whether it held, and its sentence.
void print_promise(std::ostream& out, const Promise& promise, const text::Painter& paint);

// How long something took, for people: 31 ms, 1.3 s.
[[nodiscard]] std::string spent_text(Duration spent);

// The same as one page: see html_page.h. `version` is the program's.
void print_demo_html(std::ostream& out, const DemoRecord& record, const std::string& command,
                     const std::string& version);

}  // namespace damper::demo
