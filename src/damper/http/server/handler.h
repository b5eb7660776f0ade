#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "damper/base/instant.h"
#include "damper/http/codec/message.h"
#include "damper/run/scope.h"

namespace damper::http {

// An Exchange is one complete request and its answer.
//
// Lifetime: shared by the server and the handler. If the handler releases its last ExchangePtr
// without an answer, the answer is 500.
// Thread safety: none; all on the loop's thread. A handler that works on another thread posts back
// to the loop. An ExchangePtr may be released, and is_here() and post() called, on any thread.
class Exchange {
 public:
  virtual ~Exchange() = default;

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  [[nodiscard]] Request& request() noexcept { return request_; }
  // The time of the request's first byte: its deadline counts from there (trap D1).
  [[nodiscard]] Instant arrived() const noexcept { return arrived_; }
  // The context that calls of the handler inherit: a guard sets it from the headers.
  [[nodiscard]] run::RequestContext& inherited() noexcept { return inherited_; }

  // Sends the answer. A second one, and one to a client that has disconnected, is dropped.
  virtual void respond(Response response) = 0;
  // Whether the client has disconnected, or an answer was sent.
  [[nodiscard]] virtual bool is_over() const noexcept = 0;
  // `give_up` is called once, if the client disconnects before the answer, or a guard has answered
  // at the deadline.
  virtual void on_cancel(std::function<void()> give_up) = 0;

  // Whether this is the loop's thread.
  [[nodiscard]] virtual bool is_here() const noexcept { return true; }
  // Calls it on the loop's thread, later. Destroyed without a call if the loop is destroyed first.
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

// The exchange that a middleware passes on: it takes the request of the server's own, `outer_`.
class WrappedExchange : public Exchange {
 public:
  [[nodiscard]] bool is_here() const noexcept override { return outer_->is_here(); }
  void post(std::function<void()> work) override { outer_->post(std::move(work)); }

 protected:
  WrappedExchange(ExchangePtr outer, run::RequestContext inherited) : outer_(std::move(outer)) {
    request_ = std::move(outer_->request());
    outer_->request().method = request_.method;  // A server answers HEAD without a body.
    arrived_ = outer_->arrived();
    inherited_ = std::move(inherited);
  }
  const ExchangePtr outer_;
};

// The deleter of an exchange that wraps another one: its destructor runs on the loop's thread, on
// whichever thread the last pointer is released.
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
