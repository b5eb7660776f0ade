#include <utility>

#include "damper/base/text/words.h"
#include "damper/run/clock.h"
#include "damper/run/scope.h"
#include "damper/webhooks/dispatch/delivery_span.h"
#include "damper/webhooks/process/webhook_server.h"

namespace damper::webhooks {
namespace {

constexpr int kMostRepetitions = 3;  // after a collision of ids, or a change by another process

[[nodiscard]] ApiError api_error(const StoreError& error) {
  using Kind = StoreError::Kind;
  switch (error.kind) {
    case Kind::unavailable:
    case Kind::stale: return {.status = 503, .code = "unavailable", .sentence = error.sentence};
    case Kind::not_found: return {.status = 404, .code = "not_found", .sentence = error.sentence};
    case Kind::conflict: return {.status = 409, .code = "conflict", .sentence = error.sentence};
    case Kind::exists:  // An id of another process; it is made again.
      return {.status = 503, .code = "unavailable", .sentence = error.sentence};
  }
  return {.status = 503, .code = "unavailable", .sentence = error.sentence};
}

}  // namespace

void WebhookServer::send(Message message, Sent done) {
  if (!is_event_type(message.type)) {
    return done(unexpected(invalid("type is " + text::in_quotes(message.type) +
                                   "; it must be a name such as invoice.paid")));
  }
  if (message.payload.size() > options_.max_payload) {
    return done(unexpected(ApiError{.status = 413,
                                    .code = "too_large",
                                    .sentence = "a payload must have at most " +
                                                std::to_string(options_.max_payload) + " bytes"}));
  }
  const run::RequestContext* const above = run::Scope::context();
  if (message.traceparent.empty() && above != nullptr && above->trace) {
    message.traceparent = traceparent_text(above->trace);
  }
  if (directory_.has_application(message.application)) {
    return accept(std::move(message), std::move(done), kMostRepetitions);
  }
  // Another dispatcher may have created it just now; the store knows.
  store_->refresh([this, alive = alive_, &loop = loop_, message = std::move(message),
                   done = std::move(done)](const Expected<Store::Nothing, StoreError>& result) {
    loop.post([this, alive, message, done, result] {
      if (!*alive) return;
      if (!result) return done(unexpected(api_error(result.error())));
      accept(message, done, kMostRepetitions);
    });
  });
}

void WebhookServer::accept(Message message, Sent done, int repetitions) {
  if (!directory_.has_application(message.application)) {
    return done(unexpected(
        ApiError{.status = 404,
                 .code = "not_found",
                 .sentence = "there is no application " + text::in_quotes(message.application)}));
  }
  const UnixTime now = run::wall_time();
  message.id = ids_.next(now);
  message.created = now;
  std::vector<Id> endpoints =
      directory_.match(message.application, message.type, message.channel, message.payload);
  NewMessage accepted{
      .message = message, .endpoints = endpoints, .configuration = directory_.version()};
  store_->accept(std::move(accepted), [this, alive = alive_, &loop = loop_,
                                       message = std::move(message), done = std::move(done),
                                       endpoints = std::move(endpoints), now, repetitions](
                                          const Expected<Accepted, StoreError>& result) mutable {
    loop.post([this, alive = std::move(alive), message = std::move(message), done = std::move(done),
               endpoints = std::move(endpoints), now, repetitions, result]() mutable {
      if (!*alive) return;
      if (result) {
        if (!result->repeated) dispatcher_->on_due(endpoints, now);
        return done(*result);
      }
      const StoreError::Kind why = result.error().kind;
      if ((why == StoreError::Kind::exists || why == StoreError::Kind::stale) && repetitions > 0) {
        return accept(std::move(message), std::move(done), repetitions - 1);
      }
      done(unexpected(api_error(result.error())));
    });
  });
}

}  // namespace damper::webhooks
