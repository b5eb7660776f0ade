#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/webhooks/api/api_tokens.h"
#include "damper/webhooks/api/schema.h"

namespace damper::webhooks {

enum class Operation : std::uint8_t {
  list_applications,
  create_application,
  remove_application,
  list_endpoints,
  create_endpoint,
  get_endpoint,
  change_endpoint,
  remove_endpoint,
  get_secret,
  rotate_secret,
  test_endpoint,
  list_endpoint_attempts,
  list_dead,
  redrive,
  create_redrive,
  list_redrives,
  get_redrive,
  stop_redrive,
  revoke_secrets,
  send_message,
  list_messages,
  get_message,
  list_message_attempts,
  get_stats,
  list_switches,
  set_switch,
  list_application_switches,
  set_application_switch,
  list_endpoint_switches,
  set_endpoint_switch,
  get_health,
  get_openapi,
};

// A Route is a method and a path of the API. The server and the OpenAPI document follow one table.
struct Route {
  Operation operation;
  std::string_view name;  // operationId
  std::string_view method;
  std::string_view path;  // "/v1/applications/{application}"; no segment is a prefix of another
  std::string_view summary;
  std::optional<ApiScope> scope{};            // none: no token is needed
  const Schema* body = nullptr;               // nullptr: none is accepted
  const Schema* answer = nullptr;             // nullptr: 204, or the document itself
  int status = 200;                           // of success
  std::span<const std::string_view> query{};  // names of accepted parameters
};

[[nodiscard]] std::span<const Route> all_routes() noexcept;

// The parameters of a path: views of the target.
struct RouteArguments {
  std::string_view application{};
  std::string_view id{};    // of an endpoint, a message or a redrive
  std::string_view name{};  // of a switch
};

struct RouteMatch {
  const Route* route = nullptr;  // nullptr: there is no such path, or no such method
  std::string allow{};           // the methods of the path; empty: there is no such path
  RouteArguments arguments{};
};
// HEAD is GET. `path` is without a query.
[[nodiscard]] RouteMatch find_route(std::string_view method, std::string_view path);

// The document, as JSON. `version` is the program's.
[[nodiscard]] std::string openapi_document(std::string_view version);

}  // namespace damper::webhooks
