#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "damper/http/codec/head.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// A RouteMatcher finds the route of a request.
//
// Model: the first route, in the file's order, whose every word fits. A host fits whatever its case
// and port, and with or without a dot at its end; "*.x" is every name under x, at any depth, and
// not x itself. A path is compared up to the query. A prefix fits the path that is it, or that goes
// on with a '/' after it. A header fits when one of the fields of its name has the whole value.
//
// What an operator must know: paths match as they are written, and are passed on as they are
// written, unless the listener has made them normal (PathRules). Nothing is unescaped here and no
// dot segment is resolved: "/a/../admin" and "/%61dmin" do not match the prefix "/admin", though
// the service behind may take both for it. So a route decides how a request is treated (time,
// retries, limits, where it goes), never whether somebody may make it: the service checks that
// itself. For the same reason put what a narrow route protects (a rate limit, say) on the wide one
// as well. "*" (of OPTIONS) and the host:port of a CONNECT are no paths: only routes with neither
// path nor prefix take them.
// Invariants:
//   (1) A route that is found matches(), and none before it does.
// Thread safety: immutable.
// Cost: no allocation; one comparison for most routes that do not fit.
class RouteMatcher {
 public:
  explicit RouteMatcher(std::span<const RouteConfig> routes);
  // The route's position; nothing: 404.
  [[nodiscard]] std::optional<std::size_t> find(const http::Head& request) const noexcept;

 private:
  std::vector<RouteMatch> matches_;
};

// Whether a route matches the request, regardless of the routes before it.
[[nodiscard]] bool matches(const RouteMatch& match, const http::Head& request) noexcept;

// An authority's host: without the port, and the dot at its end; an IPv6 address in brackets.
[[nodiscard]] std::string_view host_of(std::string_view authority) noexcept;
// A target without its query.
[[nodiscard]] std::string_view path_of(std::string_view target) noexcept;
// `pattern` is in lower case: "shop.example", "*.shop.example".
[[nodiscard]] bool matches_host(std::string_view pattern, std::string_view host) noexcept;
[[nodiscard]] bool has_prefix(std::string_view path, std::string_view prefix) noexcept;

}  // namespace damper::proxy
