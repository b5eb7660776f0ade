#pragma once

#include <string>

#include "damper/base/expected.h"
#include "damper/observe/transition_log.h"

namespace damper::observe {

// Writers for a TransitionLog:
//   TransitionLog log(write_to(STDERR_FILENO));
//
// Why: the reader of our standard error can stop reading. A log that blocks then stops the calls of
// the process that it reports on; one that writes into a pipe without a reader ends the process
// (SIGPIPE). These writers poll before they write, and drop the line instead.
// Invariants:
//   (1) A line is written whole: a pipe takes up to 4 KiB at once, and a line is shorter.
//   (2) A pipe, socket or terminal that is full or without a reader is not written to; the line is
//       lost, and the log counts it. Only when others write to the same pipe may a write wait.

// To a descriptor, which stays open as long as the log, and is not closed by it.
[[nodiscard]] TransitionLog::Writer write_to(int descriptor);

// To the end of a file, which is made if there is none (mode 0640) and closed with the log. It is
// not opened again: rotate by copying and truncating. Or one sentence on why it cannot be opened.
[[nodiscard]] Expected<TransitionLog::Writer> append_to(const std::string& path);

}  // namespace damper::observe
