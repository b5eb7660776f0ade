#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "damper/http/server/handler.h"
#include "damper/observe/trace/tracer.h"

namespace damper::http {

struct TracedOptions {
  // Whether callers are trusted: the trace of a stranger is linked, not continued (design 0043).
  bool trusted = true;
  // http.route of the spans, such as /invoices/{id}, and a part of their names: for a handler of
  // one route. Empty: none.
  std::string route{};
  // Instead of the two above, for a handler of several routes, or of callers who show by each
  // request who they are. The text is constant.
  std::function<std::string_view(const Request&)> find_route{};
  std::function<bool(const Request&)> is_trusted{};
};

// The middleware that makes a server's span for each request. It is the outermost one, so that the
// refusals of a guard are exported as well:
//   Server server(loop, traced(guarded(handler, door.guard()), *tracer), ...);
//
// Model: a trusted caller's trace is continued, and its sampled flag obeyed; for a stranger, and
// for a caller without a trace, a new one begins. Exchange::inherited() has the context of the
// span: calls of the handler are below it, if their GuardedClient has a tracer. The span begins
// with the request's first byte, and ends with the answer, or when the handler releases the
// exchange. It is exported if the trace is sampled, or the answer is 500 or above, or there was
// none.
// Thread safety: none; all on the loop's thread, and the tracer is of this loop. It outlives the
// exchanges.
// Cost: two allocations a request, and copies of its path, authority and user agent.
[[nodiscard]] Handler traced(Handler inner, observe::Tracer& tracer, TracedOptions options = {});

}  // namespace damper::http
