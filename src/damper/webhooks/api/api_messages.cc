#include <array>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/spans/caller_trace.h"
#include "damper/webhooks/api/api_handler.h"
#include "damper/webhooks/api/api_handler_back.h"
#include "damper/webhooks/api/api_json.h"
#include "damper/webhooks/api/bodies.h"
#include "damper/webhooks/api/time_text.h"
#include "damper/webhooks/dispatch/delivery_span.h"
#include "damper/webhooks/dispatch/holds.h"

namespace damper::webhooks {
namespace {

// Of the request's own span, if it has one, or of the caller's. A traceparent that is not valid is
// none: it is not the message that is wrong.
[[nodiscard]] std::string traceparent_of(http::Exchange& exchange) {
  if (const observe::SpanContext& own = exchange.inherited().trace) return traceparent_text(own);
  http::CallerTrace caller;
  caller.read(exchange.request().fields.view(), true);
  return caller.parent ? traceparent_text(caller.parent) : std::string();
}

}  // namespace

void ApiHandler::send_message(const Call& call) {
  const http::Request& request = call.exchange->request();
  auto body = parse_message(request.body, options_.max_payload);
  if (!body) return refuse(call, body.error());
  if (body->type.starts_with("damper.")) {
    return refuse(call, invalid("type: those that begin with damper. are the dispatcher's own"));
  }
  if (const auto key = request.fields.find("idempotency-key")) {
    if (const auto error = find_key_error(*key)) return refuse(call, *error);
    if (!body->idempotency_key.empty() && body->idempotency_key != *key) {
      return refuse(call, invalid("idempotency_key is not that of the header Idempotency-Key"));
    }
    body->idempotency_key = *key;
  }
  NewMessage message{
      .message = {.application = call.application,
                  .type = std::move(body->type),
                  .channel = std::move(body->channel),
                  .ordering_key = std::move(body->ordering_key),
                  .idempotency_key = std::move(body->idempotency_key),
                  .payload = std::string(body->payload)},
      .endpoints = {},
  };
  message.endpoints = directory_.match(call.application, message.message.type,
                                       message.message.channel, message.message.payload);
  message.configuration = directory_.version();
  accept(call, std::move(message));
}

void ApiHandler::test_endpoint(const Call& call) {
  const Endpoint& endpoint = *find_endpoint(call);
  if (endpoint.config.disabled) {
    return refuse(
        call, ApiError{.status = 409,
                       .code = "disabled",
                       .sentence = "the endpoint is disabled: " + endpoint.config.disabled_reason});
  }
  const std::string payload = "{\"type\":\"damper.test\",\"timestamp\":\"" + time_text(now_()) +
                              "\",\"data\":{\"endpoint\":\"" + call.id + "\"}}";
  accept(call,
         {.message = {.application = call.application, .type = "damper.test", .payload = payload},
          .endpoints = {endpoint.id}});
}

void ApiHandler::accept(const Call& call, NewMessage message) {
  const UnixTime now = now_();
  message.message.id = ids_.next(now);
  message.message.created = now;
  message.message.traceparent = traceparent_of(*call.exchange);
  auto done = [this, call, endpoints = message.endpoints,
               now](const Expected<Accepted, StoreError>& result) {
    if (result) {
      if (!result->repeated) deliveries_.on_due(endpoints, now);
      return respond(call, accepted_json(*result, endpoints.size()));  // (1)
    }
    const StoreError::Kind why = result.error().kind;
    const bool repeats = why == StoreError::Kind::exists || why == StoreError::Kind::stale;
    if (repeats && call.repetitions > 0) {
      Call again = call;
      --again.repetitions;
      return dispatch(again);
    }
    refuse(call, result.error());
  };
  store_.accept(std::move(message), back<Accepted>(call, std::move(done)));
}

void ApiHandler::list_messages(const Call& call) {
  store_.list_messages(
      {.application = call.application, .type = call.type, .endpoint = call.endpoint}, call.page,
      back_if_good<std::vector<Message>>(call, [call](const std::vector<Message>& messages) {
        respond(call, messages_json(messages, call.page.limit));
      }));
}

void ApiHandler::get_message(const Call& call) {
  const auto id = parse_id(kMessagePrefix, call.id);
  if (!id) return refuse_unknown(call, "message");
  const auto found = [this, call, id](Expected<MessageStatus, StoreError>& status) {
    if (!status) {
      if (status.error().kind != StoreError::Kind::not_found) return refuse(call, status.error());
      return refuse_unknown(call, "message");
    }
    store_.list_attempts(
        {.message = id}, Page{},
        back_if_good<std::vector<Attempt>>(
            call, [call, status = *std::move(status)](const std::vector<Attempt>& attempts) {
              respond(call, message_json(status, attempts));
            }));
  };
  store_.find_message(call.application, *id, back<MessageStatus>(call, found));
}

void ApiHandler::list_attempts(const Call& call, const AttemptFilter& filter) {
  store_.list_attempts(
      filter, call.page,
      back_if_good<std::vector<Attempt>>(call, [call](const std::vector<Attempt>& attempts) {
        respond(call, attempts_json(attempts, call.page.limit));
      }));
}

// Its application is checked first: attempts have none.
void ApiHandler::list_message_attempts(const Call& call) {
  const auto id = parse_id(kMessagePrefix, call.id);
  if (!id) return refuse_unknown(call, "message");
  const auto found = [this, call, id](const Expected<MessageStatus, StoreError>& status) {
    if (status) return list_attempts(call, {.message = id});
    if (status.error().kind != StoreError::Kind::not_found) return refuse(call, status.error());
    refuse_unknown(call, "message");
  };
  store_.find_message(call.application, *id, back<MessageStatus>(call, found));
}

void ApiHandler::list_dead(const Call& call) {
  store_.list_dead(
      find_endpoint(call)->id, call.page,
      back_if_good<std::vector<DeadLetter>>(call, [call](const std::vector<DeadLetter>& letters) {
        respond(call, dead_json(letters, call.page.limit));
      }));
}

void ApiHandler::redrive(const Call& call) {
  const auto filter = parse_redrive(call.exchange->request().body, find_endpoint(call)->id);
  if (!filter) return refuse(call, filter.error());
  const UnixTime now = now_();
  store_.redrive(
      *filter, now,
      back_if_good<Redriven>(call, [this, call, filter = *filter, now](const Redriven& redriven) {
        if (!filter.dry_run && !filter.discard && redriven.count > 0) {
          deliveries_.on_due(std::array{filter.endpoint}, now);
        }
        respond(call, redriven_json(redriven));
      }));
}

void ApiHandler::respond_stats(const Call& call) {
  respond(call,
          stats_json(counts_, deliveries_, directory_.applications().size(), directory_.size()));
}

// A count reads every row of an index.
void ApiHandler::get_stats(const Call& call) {
  const UnixTime now = now_();
  if (counted_ && now >= *counted_ && now < *counted_ + kCountAge) return respond_stats(call);
  counting_.push_back(call);
  if (counting_.size() > 1) return;
  store_.count(back<StoreCounts>(call, [this, now](Expected<StoreCounts, StoreError>& counts) {
    const std::vector<Call> calls = std::exchange(counting_, {});
    if (counts) {
      counts_ = *counts;
      counted_ = now;
    }
    for (const Call& one : calls) {
      if (counts) {
        respond_stats(one);
      } else {
        refuse(one, counts.error());
      }
    }
  }));
}

// A switch acts at once, and then is stored: it has to work while the store does not.
void ApiHandler::set_switch(const Call& call, const HoldScope& scope) {
  const auto which = kHoldNames.find(call.name);
  if (!which) {
    return refuse(call, ApiError{.status = 404,
                                 .code = "not_found",
                                 .sentence = "there is no switch " + text::in_quotes(call.name) +
                                             "; there are " + text::joined(kHoldNames)});
  }
  const auto order = parse_switch(call.exchange->request().body);
  if (!order) return refuse(call, order.error());
  if (!deliveries_.hold(scope, *which, *order)) {
    return refuse(call, ApiError{.status = 409,
                                 .code = "limit",
                                 .sentence = "too many applications and endpoints are held"});
  }
  const auto stored = [this, call, scope](const Expected<Store::Nothing, StoreError>& done) {
    if (done) return respond(call, switches_json(deliveries_, scope));
    refuse(call, ApiError{.status = 503,
                          .code = "unavailable",
                          .sentence = "the switch is set, but only until a restart: " +
                                      report_unavailable(done.error())});
  };
  // The end of a hold is stored, too: the age of what it held counts from then. Also if this
  // dispatcher does not know of the hold: another one may have set it.
  store_.put_setting(hold_setting(scope, *which), hold_text(scope, *order, now_()),
                     back<Store::Nothing>(call, stored));
}

void ApiHandler::forget_holds(const HoldScope& scope, bool of_others) {
  for (std::size_t i = 0; i < kHoldNames.size(); ++i) {
    const Hold which{static_cast<std::uint8_t>(i)};
    const bool is_off = deliveries_.holding(scope, which).off;
    if (!is_off && !of_others) continue;
    if (is_off) (void)deliveries_.hold(scope, which, {});
    store_.put_setting(hold_setting(scope, which), {},
                       [](const Expected<Store::Nothing, StoreError>& /*done*/) {});
  }
}

}  // namespace damper::webhooks
