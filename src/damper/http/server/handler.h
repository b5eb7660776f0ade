#ifndef DAMPER_HTTP_SERVER_HANDLER_H_
#define DAMPER_HTTP_SERVER_HANDLER_H_

#include <functional>
#include <memory>
#include <utility>

#include "damper/base/instant.h"
#include "damper/http/codec/message.h"
#include "damper/run/scope.h"

namespace damper::http {

// An Exchange is one request, whole, and the place for its answer.
//
// Lifetime: shared by the server and whoever will answer. One that nobody answers any more is
// answered 500 when the last handler lets go of it.
// Thread safety: none; all on the loop's thread. Who works elsewhere posts back to the loop; an
// ExchangePtr may be let go of anywhere, and so is_here() and post() may be called anywhere.
class Exchange {
 public:
  virtual ~Exchange() = default;

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  [[nodiscard]] Request& request() noexcept { return request_; }
  // When the first byte of the request came: its deadline counts from there (trap D1).
  [[nodiscard]] Instant arrived() const noexcept { return arrived_; }
  // What calls inside inherit: a guard sets it from the headers, a coroutine runs under it.
  [[nodiscard]] run::RequestContext& inherited() noexcept { return inherited_; }

  // Answers. Once: what comes later is dropped, and so is an answer to a caller who went away.
  virtual void respond(Response response) = 0;
  // Whether the caller has gone away, or an answer has been given.
  [[nodiscard]] virtual bool is_over() const noexcept = 0;
  // Called once, if the caller goes away before the answer, or a guard has answered for it at its
  // deadline: give up the work.
  virtual void on_cancel(std::function<void()> give_up) = 0;

  // Whether this is the loop's thread.
  [[nodiscard]] virtual bool is_here() const noexcept { return true; }
  // Has it done on the loop's thread, later. If the loop goes first, it is destroyed undone.
  virtual void post(std::function<void()> work) {
    const std::function<void()> now = std::move(work);
    now();
  }

 protected:
  Request request_;
  Instant arrived_{};
  run::RequestContext inherited_;
};
using ExchangePtr = std::shared_ptr<Exchange>;

// The deleter of an exchange around another one: wherever the last pointer to it is let go of, its
// destructor runs on the loop's thread.
struct EndsOnTheLoop {
  void operator()(Exchange* exchange) const {
    if (exchange->is_here()) {
      delete exchange;
      return;
    }
    // Of void: nothing may find the exchange again through enable_shared_from_this.
    std::shared_ptr<void> last(static_cast<void*>(exchange),
                               [](void* gone) { delete static_cast<Exchange*>(gone); });
    exchange->post([last = std::move(last)] {});
  }
};

// A Handler answers requests: now, or later through the exchange that it keeps. Middleware is a
// function from handler to handler.
using Handler = std::function<void(ExchangePtr)>;

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_HANDLER_H_
