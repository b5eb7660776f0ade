#ifndef DAMPER_HTTP_SERVER_HANDLER_H_
#define DAMPER_HTTP_SERVER_HANDLER_H_

#include <functional>
#include <memory>

#include "damper/base/instant.h"
#include "damper/http/codec/message.h"
#include "damper/run/inherited.h"

namespace damper::http {

// An Exchange is one request, whole, and the place for its answer.
//
// Lifetime: shared by the server and whoever will answer. One that nobody answers any more is
// answered 500 when the last handler lets go of it.
// Thread safety: none; all on the loop's thread. Who works elsewhere posts back to the loop; an
// ExchangePtr may be let go of anywhere.
class Exchange {
 public:
  virtual ~Exchange() = default;

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  [[nodiscard]] Request& request() noexcept { return request_; }
  // When the first byte of the request came: its deadline counts from there (trap D1).
  [[nodiscard]] Instant arrived() const noexcept { return arrived_; }
  // What calls inside inherit: a guard sets it from the headers, a coroutine runs under it.
  [[nodiscard]] run::Inherited& inherited() noexcept { return inherited_; }

  // Answers. Once: what comes later is dropped, and so is an answer to a caller who went away.
  virtual void respond(Response response) = 0;
  // Whether the caller has gone away, or an answer has been given.
  [[nodiscard]] virtual bool is_over() const noexcept = 0;
  // Called once, if the caller goes away before the answer: give up the work.
  virtual void on_cancel(std::function<void()> give_up) = 0;

 protected:
  Request request_;
  Instant arrived_{};
  run::Inherited inherited_;
};
using ExchangePtr = std::shared_ptr<Exchange>;

// A Handler answers requests: now, or later through the exchange that it keeps. Middleware is a
// function from handler to handler.
using Handler = std::function<void(ExchangePtr)>;

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_HANDLER_H_
