#include "damper/proxy/config/route_matcher.h"

#include <algorithm>

namespace damper::proxy {
namespace {

// Whether the host, in any case, ends with `end`, which is in lower case.
bool ends_with(std::string_view host, std::string_view end) noexcept {
  if (host.size() < end.size()) return false;
  host.remove_prefix(host.size() - end.size());
  for (std::size_t i = 0; i < end.size(); ++i) {
    if (http::lower(host[i]) != end[i]) return false;
  }
  return true;
}

bool has_header(const http::Head& request, const RouteMatch::Header& header) noexcept {
  return std::any_of(request.fields.begin(), request.fields.end(), [&](const http::Field& field) {
    return http::same_name(field.name, header.name) &&
           (!header.value || field.value == *header.value);
  });
}

// What tells most routes apart is asked first.
bool fits(const RouteMatch& match, const http::Head& request, std::string_view host,
          std::string_view path) noexcept {
  if (!match.path.empty() && path != match.path) return false;
  if (!match.prefix.empty() && !has_prefix(path, match.prefix)) return false;
  const auto is_host = [&](const std::string& pattern) { return matches_host(pattern, host); };
  const auto& hosts = match.hosts;
  if (!hosts.empty() && std::none_of(hosts.begin(), hosts.end(), is_host)) return false;
  const auto& methods = match.methods;
  if (!methods.empty() &&
      std::find(methods.begin(), methods.end(), request.method) == methods.end()) {
    return false;
  }
  return std::all_of(match.headers.begin(), match.headers.end(),
                     [&](const auto& header) { return has_header(request, header); });
}

}  // namespace

std::string_view host_of(std::string_view authority) noexcept {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  std::string_view host = authority.substr(0, authority.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

std::string_view path_of(std::string_view target) noexcept {
  return target.substr(0, target.find('?'));
}

bool matches_host(std::string_view pattern, std::string_view host) noexcept {
  if (!pattern.starts_with("*.")) {
    return host.size() == pattern.size() && ends_with(host, pattern);
  }
  pattern.remove_prefix(1);
  return host.size() > pattern.size() && ends_with(host, pattern);
}

bool has_prefix(std::string_view path, std::string_view prefix) noexcept {
  return path.starts_with(prefix) &&
         (path.size() == prefix.size() || prefix.ends_with('/') || path[prefix.size()] == '/');
}

bool matches(const RouteMatch& match, const http::Head& request) noexcept {
  return fits(match, request, host_of(request.authority), path_of(request.target));
}

RouteMatcher::RouteMatcher(std::span<const RouteConfig> routes) {
  matches_.reserve(routes.size());
  for (const RouteConfig& route : routes) matches_.push_back(route.match);
}

std::optional<std::size_t> RouteMatcher::find(const http::Head& request) const noexcept {
  const std::string_view host = host_of(request.authority);
  const std::string_view path = path_of(request.target);
  for (std::size_t i = 0; i < matches_.size(); ++i) {
    if (fits(matches_[i], request, host, path)) return i;
  }
  return std::nullopt;
}

}  // namespace damper::proxy
