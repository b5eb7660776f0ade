#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "damper/run/blocking.h"

namespace damper {

// Updates shared data under optimistic concurrency: reads it, applies the
// change, and writes it back on the condition that it was not written in between. After a conflict
// (409, 412, ABORTED) it reads again, applies the change again and writes with the new version,
// with the same backoff, budget and deadline as any retry: a conflict is never retried blindly.
//
//   read(attempt)          -> Result<V>: the value with its version (etag, resource version)
//   modify(V)              -> V: the change; called again for each attempt, on what was just read
//   write(V, attempt)      -> Result<W>: conditional on the version
//
// A failed read is safe to repeat and a conflict wrote nothing. A write whose fate is unknown (a
// timeout, say) is retried only if options.idempotent is set: applying the change twice does no
// harm.
template <class Read, class Modify, class Write>
[[nodiscard]] auto update(Dependency& dependency, const Options& options, Read&& read,
                          Modify&& modify, Write&& write) {
  using Reading = std::invoke_result_t<Read&, const Attempt&>;
  using Value = run::OperationValue<Read>;
  using Writing = std::invoke_result_t<Write&, Value, const Attempt&>;
  engine::CallOptions engine_options = run::engine_options(options);
  engine_options.request.rereads = true;
  return run::call_with(
      dependency, options, engine_options, [&](const Attempt& attempt) -> Writing {
        Reading current = [&]() -> Reading {
          try {
            return std::invoke(read, attempt);
          } catch (...) {
            return run::failed_by_exception_of<Read>();
          }
        }();
        if (!current) {
          Failure failure = std::move(current).take_error();
          failure.report.harmless = true;
          return unexpected(std::move(failure));
        }
        return std::invoke(write, std::invoke(modify, *std::move(current)), attempt);
      });
}

template <class Read, class Modify, class Write>
[[nodiscard]] auto update(Dependency& dependency, Read&& read, Modify&& modify, Write&& write) {
  return update(dependency, Options{}, read, modify, write);
}

}  // namespace damper
