#include "damper/proxy/request/direct_answer.h"

#include <array>

#include "damper/http/client/url.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/route_matcher.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/request/forward_fields.h"

namespace damper::proxy {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";
// Of a path or query, beside letters, digits and '/'. '%' stands: it begins an escape.
constexpr std::string_view kPlain = "-._~!$&'()*+,;=:@?%/";

bool is_plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPlain.find(c) != std::string_view::npos;
}

void append_encoded(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
}

// Without the default port of the request's own scheme, if that is replaced.
std::string_view host_for(std::string_view authority, bool secure, std::string_view scheme) {
  const std::string_view port = secure ? ":443" : ":80";
  const bool replaced = scheme != (secure ? "https" : "http");
  if (replaced && authority.ends_with(port)) authority.remove_suffix(port.size());
  return authority;
}

DirectAnswer send(http::Stream& stream, int status, std::string_view body,
                  std::span<const http::Field> fields) {
  http::Head head{.status = status, .fields = fields};
  if (status != 204 && status != 304) head.content_length = body.size();
  stream.send_head(head, body.empty());
  if (!body.empty()) (void)stream.send_data(body, true);  // A new stream accepts more than this.
  return {.status = status, .body_bytes = body.size()};
}

}  // namespace

std::string redirect_location(const http::Head& request, const RouteConfig& route, bool secure) {
  const Redirect& to = *route.redirect;
  const std::string_view scheme = !to.scheme.empty() ? std::string_view(to.scheme)
                                  : secure           ? "https"
                                                     : "http";
  const std::string_view host =
      !to.host.empty() ? std::string_view(to.host) : host_for(request.authority, secure, scheme);
  std::string url;
  if (!host.empty()) {
    if (!http::parse_endpoint("http://" + std::string(host))) return {};
    url.append(scheme).append("://").append(host);
  }
  const std::string_view target = request.target.starts_with('/') ? request.target : "/";
  const std::string_view path = path_of(target);
  const std::string_view query = target.substr(path.size());
  std::string made(path);
  if (!to.path.empty()) made = to.path;
  if (!to.prefix.empty()) rewrite_prefix(path, route.match.prefix, to.prefix, made);
  std::string_view rest = made;
  while (url.empty() && rest.size() > 1 && (rest[1] == '/' || rest[1] == '\\')) {
    rest.remove_prefix(1);
  }
  if (!rest.starts_with('/')) url += '/';
  append_encoded(url, rest);
  if (!to.strip_query) append_encoded(url, query);
  return url;
}

DirectAnswer send_direct(http::Stream& stream, const http::Head& request, const RouteConfig& route,
                         ResponseFields& fields, const FieldContext& context) {
  std::array<http::Field, 1> own;
  std::size_t count = 0;
  std::string location;
  std::string_view body;
  int status = 0;
  if (route.direct_response) {
    const DirectResponse& direct = *route.direct_response;
    status = direct.status;
    body = direct.body;
    if (!body.empty()) own[count++] = {"content-type", direct.content_type};
  } else {
    location = redirect_location(request, route, stream.peer().secure);
    status = location.empty() ? 400 : route.redirect->status;
    if (!location.empty()) own[count++] = {"location", location};
  }
  return send(stream, status, body,
              fields.edit(std::span(own).first(count), route.response_fields, context));
}

HealthAnswer find_health(const LoopRoute& route, bool draining, Instant now) {
  if (draining) return {.status = 503, .text = "draining\n"};
  const HealthPage& page = *route.config->health_page;
  for (std::size_t i = 0; i < page.clusters.size(); ++i) {
    const Upstream::Usable usable = route.watched[i]->usable(now);
    if (usable.replicas > 0 &&
        page.min_healthy.reached_by(static_cast<std::int64_t>(usable.usable),
                                    static_cast<std::int64_t>(usable.replicas))) {
      continue;
    }
    return {.status = 503,
            .text = "cluster " + page.clusters[i] + ": " + std::to_string(usable.usable) + " of " +
                    std::to_string(usable.replicas) + " replicas can be used\n"};
  }
  return {.status = 200, .text = "ok\n"};
}

DirectAnswer send_health(http::Stream& stream, const HealthAnswer& health, const RouteConfig& route,
                         ResponseFields& fields, const FieldContext& context) {
  const std::array<http::Field, 2> own = {
      {{"content-type", "text/plain"}, {"cache-control", "no-store"}}};
  return send(stream, health.status, health.text, fields.edit(own, route.response_fields, context));
}

}  // namespace damper::proxy
