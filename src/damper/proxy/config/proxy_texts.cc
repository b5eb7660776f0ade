#include "damper/proxy/config/proxy_texts.h"

#include <algorithm>
#include <array>

#include "damper/http/client/url.h"
#include "damper/http/codec/chars.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

constexpr std::array<std::string_view, 10> kNeverFields = {
    "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te",
    "upgrade",        "http2-settings",    "trailer",    ":authority"};

Unexpected<std::string> refused(std::string why = {}) { return unexpected(std::move(why)); }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

bool is_printable(std::string_view text) {
  return !text.empty() && text.size() <= kLongestText &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

Expected<std::string> read_host(std::string_view text) {
  if (text == "*") return refused("leave hosts out to take every host");
  const bool wild = text.starts_with("*.");
  const std::string_view rest = wild ? text.substr(2) : text;
  if (rest.find('*') != std::string_view::npos)
    return refused("a * stands only before the first dot");
  const auto endpoint = http::parse_endpoint("http://" + std::string(rest));
  if (!endpoint) return refused(endpoint.error());
  const std::string host = endpoint->authority();
  if (endpoint->port != 80 || host != lower(rest)) return refused();
  if (wild && http::is_address(endpoint->host)) return refused("an address has no subdomains");
  return wild ? "*." + host : host;
}

Expected<std::string> read_path(std::string_view text) {
  if (text.size() > kLongestText || text.find('?') != std::string_view::npos ||
      !http::valid_target(text)) {
    return refused();
  }
  return std::string(text);
}

Expected<std::string> read_method(std::string_view text) {
  const bool capitals =
      std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (text.empty() || text.size() > 32 || !capitals || !http::all(http::kToken, text)) {
    return refused();
  }
  return std::string(text);
}

Expected<std::string> read_header_name(std::string_view text) {
  const std::string name = lower(text);
  if (name == "host") return refused("hosts is for that");
  if (std::find(kNeverFields.begin(), kNeverFields.end(), name) != kNeverFields.end()) {
    return refused("this one is about one hop and never passed on");
  }
  if (name.empty() || name.size() > kLongestText || !http::all(http::kToken, name)) {
    return refused();
  }
  return name;
}

Expected<std::string> read_header_value(std::string_view text) {
  if (!is_printable(text) || text.front() == ' ' || text.back() == ' ') return refused();
  return std::string(text);
}

Expected<std::string> read_endpoint(std::string_view text) {
  const auto endpoint = http::parse_endpoint(text);
  if (!endpoint) return refused(endpoint.error());
  return endpoint->text();
}

Expected<std::string> read_authority(std::string_view text) {
  const auto endpoint = http::parse_endpoint("http://" + std::string(text));
  if (!endpoint) return refused(endpoint.error());
  if (text.ends_with('/')) return refused();
  return lower(text);
}

Expected<std::string> read_file_name(std::string_view text) {
  if (!is_printable(text)) return refused();
  return std::string(text);
}

Expected<std::string> read_name(std::string_view text) {
  if (!policy::is_route_name(text)) return refused();
  return std::string(text);
}

}  // namespace damper::proxy
