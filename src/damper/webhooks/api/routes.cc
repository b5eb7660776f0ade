#include "damper/webhooks/api/routes.h"

#include <array>
#include <cstddef>

namespace damper::webhooks {
namespace {

using enum Operation;

constexpr std::array<std::string_view, 2> kPaging = {"limit", "before"};
constexpr std::array<std::string_view, 2> kNamePaging = {"limit", "after"};
constexpr std::array<std::string_view, 4> kMessagePaging = {"limit", "before", "type", "endpoint"};

#define DAMPER_APPLICATION "/v1/applications/{application}"
#define DAMPER_ENDPOINT DAMPER_APPLICATION "/endpoints/{endpoint}"
#define DAMPER_MESSAGE DAMPER_APPLICATION "/messages/{message}"

constexpr std::array kRoutes = std::to_array<Route>({
    {list_applications, "listApplications", "GET", "/v1/applications", "The applications by name.",
     ApiScope::read, nullptr, &kApplicationList, 200, kNamePaging},
    {create_application, "createApplication", "POST", "/v1/applications", "Creates an application.",
     ApiScope::manage, &kNewApplication, &kApplication, 201},
    {remove_application, "removeApplication", "DELETE", DAMPER_APPLICATION,
     "Removes it with its endpoints, messages and deliveries.", ApiScope::manage, nullptr, nullptr,
     204},
    {list_endpoints, "listEndpoints", "GET", DAMPER_APPLICATION "/endpoints",
     "Its endpoints, newest first.", ApiScope::read, nullptr, &kEndpointList, 200, kPaging},
    {create_endpoint, "createEndpoint", "POST", DAMPER_APPLICATION "/endpoints",
     "Creates an endpoint. The answer has its secret.", ApiScope::manage, &kNewEndpoint, &kEndpoint,
     201},
    {get_endpoint, "getEndpoint", "GET", DAMPER_ENDPOINT, "An endpoint and its status.",
     ApiScope::read, nullptr, &kEndpoint},
    {change_endpoint, "changeEndpoint", "PATCH", DAMPER_ENDPOINT,
     "Changes the fields that the body has.", ApiScope::manage, &kEndpointChange, &kEndpoint},
    {remove_endpoint, "removeEndpoint", "DELETE", DAMPER_ENDPOINT,
     "Removes it with its deliveries and dead letters.", ApiScope::manage, nullptr, nullptr, 204},
    {get_secret, "getSecret", "GET", DAMPER_ENDPOINT "/secret", "The newest secret.",
     ApiScope::manage, nullptr, &kSecretAnswer},
    {rotate_secret, "rotateSecret", "POST", DAMPER_ENDPOINT "/secret/rotate",
     "A new secret. The old one signs as well until the grace ends.", ApiScope::manage, &kRotation,
     &kSecretAnswer},
    {test_endpoint, "testEndpoint", "POST", DAMPER_ENDPOINT "/test",
     "Sends a message of the type damper.test to this endpoint alone.", ApiScope::manage, nullptr,
     &kAcceptedMessage, 202},
    {list_endpoint_attempts, "listEndpointAttempts", "GET", DAMPER_ENDPOINT "/attempts",
     "Its attempts, newest first.", ApiScope::read, nullptr, &kAttemptList, 200, kPaging},
    {list_dead, "listDead", "GET", DAMPER_ENDPOINT "/dead", "Its dead letters.", ApiScope::read,
     nullptr, &kDeadLetterList, 200, kPaging},
    {redrive, "redrive", "POST", DAMPER_ENDPOINT "/redrive",
     "Delivers dead letters again, at most 10,000 a request.", ApiScope::manage, &kRedrive,
     &kRedriven},
    {create_redrive, "createRedrive", "POST", DAMPER_APPLICATION "/redrives",
     "Delivers dead letters of its endpoints again, or deletes them, in the background.",
     ApiScope::manage, &kNewRedrive, &kRedriveJob, 202},
    {list_redrives, "listRedrives", "GET", DAMPER_APPLICATION "/redrives",
     "Redrives of this process and their progress, newest first.", ApiScope::read, nullptr,
     &kRedriveJobList},
    {get_redrive, "getRedrive", "GET", DAMPER_APPLICATION "/redrives/{redrive}",
     "The progress of a redrive.", ApiScope::read, nullptr, &kRedriveJob},
    {stop_redrive, "stopRedrive", "DELETE", DAMPER_APPLICATION "/redrives/{redrive}",
     "Stops a redrive after its batch; what is due again stays so.", ApiScope::manage, nullptr,
     &kRedriveJob},
    {revoke_secrets, "revokeSecrets", "POST", DAMPER_ENDPOINT "/secret/revoke",
     "Only the newest secret signs from now on: ends the grace of a rotation.", ApiScope::manage,
     nullptr, &kSecretAnswer},
    {send_message, "sendMessage", "POST", DAMPER_APPLICATION "/messages",
     "Accepts a message. It is durable when the answer is sent.", ApiScope::send, &kNewMessage,
     &kAcceptedMessage, 202},
    {list_messages, "listMessages", "GET", DAMPER_APPLICATION "/messages",
     "Its messages, newest first.", ApiScope::read, nullptr, &kMessageList, 200, kMessagePaging},
    {get_message, "getMessage", "GET", DAMPER_MESSAGE,
     "A message with its waiting deliveries, attempts and dead letters.", ApiScope::read, nullptr,
     &kMessageDetails},
    {list_message_attempts, "listMessageAttempts", "GET", DAMPER_MESSAGE "/attempts",
     "Its attempts, newest first.", ApiScope::read, nullptr, &kAttemptList, 200, kPaging},
    {get_stats, "getStats", "GET", "/v1/stats", "Counts of the store and of the dispatcher.",
     ApiScope::read, nullptr, &kStats},
    {list_switches, "listSwitches", "GET", "/v1/switches", "What is held, why and for how long.",
     ApiScope::read, nullptr, &kSwitchList},
    {set_switch, "setSwitch", "PUT", "/v1/switches/{switch}",
     "Holds all deliveries or all retries, or continues them.", ApiScope::manage, &kSwitchOrder,
     &kSwitchList},
    {list_application_switches, "listApplicationSwitches", "GET", DAMPER_APPLICATION "/switches",
     "What is held of an application and of its endpoints.", ApiScope::read, nullptr, &kSwitchList},
    {set_application_switch, "setApplicationSwitch", "PUT", DAMPER_APPLICATION "/switches/{switch}",
     "Holds the deliveries or the retries of an application, or continues them.", ApiScope::manage,
     &kSwitchOrder, &kSwitchList},
    {list_endpoint_switches, "listEndpointSwitches", "GET", DAMPER_ENDPOINT "/switches",
     "What is held of an endpoint.", ApiScope::read, nullptr, &kSwitchList},
    {set_endpoint_switch, "setEndpointSwitch", "PUT", DAMPER_ENDPOINT "/switches/{switch}",
     "Holds the deliveries or the retries of an endpoint, or continues them.", ApiScope::manage,
     &kSwitchOrder, &kSwitchList},
    {get_health, "getHealth", "GET", "/healthz", "200 while the process runs.", std::nullopt,
     nullptr, &kHealth},
    {get_openapi, "getOpenapi", "GET", "/openapi.json", "This document.", std::nullopt},
});

#undef DAMPER_APPLICATION
#undef DAMPER_ENDPOINT
#undef DAMPER_MESSAGE

// The next segment of "/a/b", without its slash.
[[nodiscard]] std::string_view cut_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

[[nodiscard]] bool matches_path(std::string_view pattern, std::string_view path,
                                RouteArguments& arguments) {
  while (pattern.starts_with('/') && path.starts_with('/')) {
    const std::string_view expected = cut_segment(pattern);
    const std::string_view segment = cut_segment(path);
    if (!expected.starts_with('{')) {
      if (expected != segment) return false;
    } else if (segment.empty()) {
      return false;
    } else {
      (expected == "{application}" ? arguments.application
       : expected == "{switch}"    ? arguments.name
                                   : arguments.id) = segment;
    }
  }
  return pattern.empty() && path.empty();
}

}  // namespace

std::span<const Route> all_routes() noexcept { return kRoutes; }

RouteMatch find_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  RouteMatch match;
  for (const Route& route : kRoutes) {
    RouteArguments arguments;
    if (!matches_path(route.path, path, arguments)) continue;
    if (route.method == method) {
      match.route = &route;
      match.arguments = arguments;
      return match;
    }
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += route.method == "GET" ? "GET, HEAD" : route.method;
  }
  return match;
}

}  // namespace damper::webhooks
