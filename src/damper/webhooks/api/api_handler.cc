#include "damper/webhooks/api/api_handler.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/text/words.h"
#include "damper/webhooks/api/api_handler_back.h"
#include "damper/webhooks/api/api_json.h"
#include "damper/webhooks/api/bodies.h"

namespace damper::webhooks {
namespace {

[[nodiscard]] http::Response json_response(int status, std::string json) {
  http::Response response;
  response.status = status;
  if (status != 204) response.fields.add("content-type", "application/json");
  response.fields.add("cache-control", "no-store");
  response.fields.add("x-content-type-options", "nosniff");
  response.body = std::move(json);
  return response;
}

[[nodiscard]] http::Response error_response(const ApiError& error) {
  http::Response response = json_response(error.status, error_json(error.sentence, error.code));
  if (error.status == 401) response.fields.add("www-authenticate", "Bearer");
  if (error.status == 503) response.fields.add("retry-after", "1");
  return response;
}

[[nodiscard]] ApiError no_such_application(std::string_view name) {
  return {.status = 404,
          .code = "not_found",
          .sentence = "there is no application " + text::in_quotes(name)};
}

[[nodiscard]] http::Response unknown_route(const RouteMatch& match, std::string_view method,
                                           std::string_view path) {
  if (match.allow.empty()) {
    return error_response({.status = 404,
                           .code = "not_found",
                           .sentence = "there is no " + text::in_quotes(path) +
                                       " here; GET /openapi.json lists what there is"});
  }
  http::Response response = error_response(
      {.status = 405,
       .code = "method",
       .sentence = text::in_quotes(method) + " is not accepted; " + match.allow + " is"});
  response.fields.add("allow", match.allow);
  return response;
}

[[nodiscard]] bool belongs_to_an_application(const Route& route) {
  return route.path.find("{application}") != std::string_view::npos;
}

}  // namespace

std::optional<std::string> find_error(const ApiOptions& options) {
  if (!options.loopback && !options.tokens) {
    return "the address is not loopback: the API needs a token file";
  }
  if (options.max_payload < 1024 || options.max_payload > std::size_t{16} << 20) {
    return "max_payload must be 1 KiB to 16 MiB";
  }
  if (options.max_waiting < 1 || options.max_waiting > 1'000'000) {
    return "max_waiting must be 1 to 1000000";
  }
  return std::nullopt;
}

std::size_t max_request_body(const ApiOptions& options) noexcept {
  // More than what is accepted: a body that is a little too large gets a sentence.
  return std::max(2 * options.max_payload, kMostBodyBytes) + std::size_t{64} * 1024;
}

ApiHandler::ApiHandler(Store& store, Directory& directory, Deliveries& deliveries, IdMaker ids,
                       WallClock now, ApiOptions options)
    : store_(store),
      directory_(directory),
      deliveries_(deliveries),
      ids_(ids),
      now_(std::move(now)),
      options_(std::move(options)),
      access_({.loopback = options_.loopback, .names = options_.names}) {
  DAMPER_CHECK_VALID(find_error(options_));
}

void ApiHandler::answer(const http::ExchangePtr& exchange) {
  const http::Request& request = exchange->request();
  if (const auto refusal = access_.check_visit(request.head())) {
    return exchange->respond(
        error_response({.status = 403, .code = "host", .sentence = refusal->sentence}));
  }
  const std::string_view target = request.target;
  const std::string_view path = target.substr(0, target.find('?'));
  const RouteMatch match = find_route(request.method, path);
  if (match.route == nullptr) {
    return exchange->respond(unknown_route(match, request.method, path));
  }
  Call call{.exchange = exchange,
            .route = match.route,
            .application = std::string(match.arguments.application),
            .id = std::string(match.arguments.id),
            .name = std::string(match.arguments.name)};
  if (const auto error = check_access(request, *match.route, call)) return refuse(call, *error);
  if (path.size() < target.size()) {
    if (const auto error = read_query(target.substr(path.size() + 1), call)) {
      return refuse(call, *error);
    }
  }
  if (match.route->body == nullptr && !request.body.empty()) {
    return refuse(call, invalid("this request has no body"));
  }
  if (waiting_ + changes_.size() + counting_.size() >= options_.max_waiting &&
      match.route->scope) {  // (4)
    return refuse(call, ApiError{.status = 503,
                                 .code = "overloaded",
                                 .sentence = "too many requests wait for the store"});
  }
  dispatch(call);
}

bool ApiHandler::is_known(const http::Request& request) const {
  if (!options_.tokens) return true;
  const auto token = http::find_bearer(request.head());
  return token && options_.tokens->find(*token) != nullptr;
}

std::optional<ApiError> ApiHandler::check_access(const http::Request& request, const Route& route,
                                                 Call& call) const {
  if (!route.scope) return std::nullopt;
  if (route.method != "GET") {
    if (const auto refusal = http::LocalAccess::check_page(request.head())) {
      const bool origin = refusal->reason == http::AccessReason::origin;
      return ApiError{.status = refusal->status,
                      .code = origin ? "origin" : "content_type",
                      .sentence = refusal->sentence};
    }
    if (!request.body.empty() && !request.fields.find("content-type")) {
      return ApiError{.status = 415,
                      .code = "content_type",
                      .sentence = "Content-Type must be application/json"};
    }
  }
  if (options_.tokens) {
    const auto token = http::find_bearer(request.head());
    const ApiTokens::Grant* const grant = token ? options_.tokens->find(*token) : nullptr;
    if (grant == nullptr) {
      return ApiError{.status = 401,
                      .code = "token",
                      .sentence = token ? "this token is not known"
                                        : "a token is needed: Authorization: Bearer TOKEN"};
    }
    if (belongs_to_an_application(route) && !grant->is_for(call.application)) {  // (2)
      return no_such_application(call.application);
    }
    if (!grant->has(*route.scope)) {
      return ApiError{.status = 403,
                      .code = "scope",
                      .sentence = "this needs a token with the scope " +
                                  std::string(kApiScopeNames[*route.scope])};
    }
    const bool of_all =
        !belongs_to_an_application(route) || route.operation == Operation::remove_application;
    if (of_all && !grant->is_for_all() && route.operation != Operation::list_applications) {
      return ApiError{
          .status = 403, .code = "scope", .sentence = "this needs a token for all applications"};
    }
    if (!grant->is_for_all()) call.tenant = grant->application;
  }
  return std::nullopt;
}

std::optional<ApiError> ApiHandler::read_query(std::string_view query, Call& call) const {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::string_view name = pair.substr(0, pair.find('='));
    const std::string_view value =
        name.size() < pair.size() ? pair.substr(name.size() + 1) : std::string_view();
    if (std::ranges::find(call.route->query, name) == call.route->query.end()) {
      return ApiError{.code = "unknown_field",
                      .sentence = "unknown parameter " + text::in_quotes(name)};
    }
    const auto wrong = [&](const std::string& what) {
      return invalid(std::string(name) + " is " + text::in_quotes(value) + "; it must be " + what);
    };
    if (name == "limit") {
      const auto limit = text::find_number<std::size_t>(value);
      if (!limit || *limit < 1 || *limit > Page::kMost) {
        return wrong("1 to " + std::to_string(Page::kMost));
      }
      call.page.limit = *limit;
    } else if (name == "after") {
      if (!is_application_name(value)) return wrong("the name of an application");
      call.after = value;
    } else if (name == "type") {
      if (!is_event_type(value)) return wrong("an event type");
      call.type = value;
    } else if (name == "endpoint") {
      call.endpoint = parse_id(kEndpointPrefix, value);
      if (!call.endpoint) return wrong("the id of an endpoint");
    } else if (call.route->answer == &kAttemptList) {  // before
      call.page.before = text::find_number<std::int64_t>(value);
      if (!call.page.before) return wrong("the number of an attempt");
    } else {
      const bool endpoints = call.route->operation == Operation::list_endpoints;
      const auto id = parse_id(endpoints ? kEndpointPrefix : kMessagePrefix, value);
      if (!id) return wrong(endpoints ? "the id of an endpoint" : "the id of a message");
      call.page.before = number(*id);
    }
  }
  return std::nullopt;
}

void ApiHandler::dispatch(const Call& call) {
  if (belongs_to_an_application(*call.route) && !directory_.has_application(call.application)) {
    return refuse_missing(call, no_such_application(call.application));
  }
  switch (call.route->operation) {
    case Operation::list_applications: return list_applications(call);
    case Operation::create_application: return create_application(call);
    case Operation::remove_application: return remove_application(call);
    case Operation::list_endpoints: return list_endpoints(call);
    case Operation::create_endpoint: return create_endpoint(call);
    case Operation::send_message: return send_message(call);
    case Operation::list_messages: return list_messages(call);
    case Operation::get_message: return get_message(call);
    case Operation::list_message_attempts: return list_message_attempts(call);
    case Operation::create_redrive: return create_redrive(call);
    case Operation::list_redrives: return list_redrives(call);
    case Operation::get_redrive: return get_redrive(call);
    case Operation::stop_redrive: return stop_redrive(call);
    case Operation::get_stats: return get_stats(call);
    case Operation::list_switches: return respond(call, switches_json(deliveries_, {}));
    case Operation::set_switch: return set_switch(call, {});
    case Operation::list_application_switches:
      return respond(call, switches_json(deliveries_, {.application = call.application}));
    case Operation::set_application_switch:
      return set_switch(call, {.application = call.application});
    case Operation::get_health: return respond(call, "{\"status\":\"ok\"}\n");
    case Operation::get_openapi: return respond(call, openapi_document(options_.version));
    default: return dispatch_endpoint(call);
  }
}

void ApiHandler::dispatch_endpoint(const Call& call) {
  const Endpoint* const endpoint = find_endpoint(call);
  if (endpoint == nullptr) return refuse_missing(call, unknown(call, "endpoint"));
  const HoldScope scope{.application = call.application, .endpoint = endpoint->id};
  switch (call.route->operation) {
    case Operation::get_endpoint:
      return respond(call, endpoint_json(*endpoint, deliveries_.status(endpoint->id), false));
    case Operation::change_endpoint: return change_endpoint(call);
    case Operation::remove_endpoint: return remove_endpoint(call);
    case Operation::get_secret: return respond(call, secret_json(endpoint->config));
    case Operation::rotate_secret: return rotate_secret(call);
    case Operation::revoke_secrets: return revoke_secrets(call);
    case Operation::test_endpoint: return test_endpoint(call);
    case Operation::list_endpoint_attempts: return list_attempts(call, {.endpoint = endpoint->id});
    case Operation::list_dead: return list_dead(call);
    case Operation::redrive: return redrive(call);
    case Operation::list_endpoint_switches: return respond(call, switches_json(deliveries_, scope));
    case Operation::set_endpoint_switch: return set_switch(call, scope);
    default: DAMPER_CHECK(false);
  }
}

void ApiHandler::respond(const Call& call, std::string json) {
  call.exchange->respond(json_response(call.route->status, std::move(json)));
}

void ApiHandler::refuse(const Call& call, const ApiError& error) {
  call.exchange->respond(error_response(error));
}

void ApiHandler::refuse(const Call& call, const StoreError& error) {
  const bool unavailable = error.kind == StoreError::Kind::unavailable;
  ApiError answer{.sentence = unavailable ? report_unavailable(error) : error.sentence};
  switch (error.kind) {
    case StoreError::Kind::unavailable:
    case StoreError::Kind::stale:
      answer.status = 503;
      answer.code = "unavailable";
      break;
    case StoreError::Kind::conflict:
      answer.status = 409;
      answer.code = "conflict";
      break;
    case StoreError::Kind::not_found:
      answer.status = 404;
      answer.code = "not_found";
      break;
    case StoreError::Kind::exists:
      answer.status = 409;
      answer.code = "exists";
      break;
  }
  refuse(call, answer);
}

std::string ApiHandler::report_unavailable(const StoreError& error) {
  const std::string reference = id_text("err_", ids_.next(now_()));
  if (options_.on_store_error) options_.on_store_error(reference, error.sentence);
  return "the store is not available, repeat the request later; the dispatcher's log has " +
         reference;
}

void ApiHandler::refuse_unknown(const Call& call, std::string_view what) {
  refuse(call, unknown(call, what));
}

ApiError ApiHandler::unknown(const Call& call, std::string_view what) {
  return {.status = 404,
          .code = "not_found",
          .sentence = "there is no " + std::string(what) + " " + text::in_quotes(call.id) + " in " +
                      text::in_quotes(call.application)};
}

void ApiHandler::refuse_missing(const Call& call, const ApiError& error) {
  if (call.refreshed || !store_.is_shared()) return refuse(call, error);
  Call again = call;
  again.refreshed = true;
  store_.refresh(back_if_good<Store::Nothing>(
      again, [this, again](const Store::Nothing& /*done*/) { dispatch(again); }));
}

void ApiHandler::change(std::function<void()> begin) {
  if (changing_) {
    changes_.push_back(std::move(begin));
    return;
  }
  changing_ = true;
  begin();
}

void ApiHandler::end_change() {
  changing_ = false;
  if (changes_.empty()) return;
  const std::function<void()> begin = std::move(changes_.front());
  changes_.pop_front();
  changing_ = true;
  begin();
}

}  // namespace damper::webhooks
