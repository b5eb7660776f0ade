#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/codec/head.h"
#include "damper/http/codec/stream.h"
#include "damper/proxy/config/route_action.h"
#include "damper/proxy/request/field_editor.h"

namespace damper::proxy {

struct LoopRoute;
struct RouteConfig;

// The URL that a redirect leads to; empty: the request's host is not valid.
//
// Why strict: a Location that a client can shape is an open redirect, or a forged field.
// Model: scheme, host and path are the configured ones, else the request's. The URL is absolute, so
// that a path of "//evil.example" cannot be taken for a host; only a request without a host gets a
// path, with one slash at its start. The port of the request's host is dropped if it is the default
// of a scheme that is replaced. Every byte that has no place in a path or query (RFC 3986) is
// percent-encoded, a backslash too.
// Invariants:
//   (1) The host is the configured one, or one that parse_endpoint() accepts.
//   (2) The URL has only visible ASCII characters, none of them a quote, bracket or backslash.
[[nodiscard]] std::string redirect_location(const http::Head& request, const RouteConfig& route,
                                            bool secure);

// The health page of a route: its status, and a line of text.
struct HealthAnswer {
  int status = 200;
  std::string text{};
};
// REQUIRES: the route has one.
[[nodiscard]] HealthAnswer find_health(const LoopRoute& route, bool draining, Instant now);

// What was sent. In answer to HEAD the body is not.
struct DirectAnswer {
  int status = 200;
  std::size_t body_bytes = 0;
};
// Sends the page.
DirectAnswer send_health(http::Stream& stream, const HealthAnswer& health, const RouteConfig& route,
                         ResponseFields& fields, const FieldContext& context);
// Sends the direct response or the redirect of a route. REQUIRES: the route has one.
DirectAnswer send_direct(http::Stream& stream, const http::Head& request, const RouteConfig& route,
                         ResponseFields& fields, const FieldContext& context);

}  // namespace damper::proxy
