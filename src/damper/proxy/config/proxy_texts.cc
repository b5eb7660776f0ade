#include "damper/proxy/config/proxy_texts.h"

#include <algorithm>

#include "damper/http/client/url.h"
#include "damper/http/codec/chars.h"
#include "damper/http/codec/h1_head.h"
#include "damper/http/dns/dns_server.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

Unexpected<std::string> refused(std::string why = {}) { return unexpected(std::move(why)); }

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
  if (endpoint->port != 80 || host != http::lowered(rest)) return refused();
  if (wild && http::is_address(endpoint->host)) return refused("an address has no subdomains");
  return wild ? "*." + host : host;
}

Expected<std::string> read_path(std::string_view text) {
  if (text.find('?') != std::string_view::npos) return refused();
  return read_target(text);
}

Expected<std::string> read_target(std::string_view text) {
  if (text.size() > kLongestText || !http::valid_target(text)) return refused();
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

Expected<std::string> read_upgrade(std::string_view text) {
  if (text.empty() || text.size() > 32 || !http::all(http::kToken, text)) return refused();
  const std::string protocol = http::lowered(text);
  if (protocol == "h2c") {
    return refused("the requests inside would pass by routes, limits and the log");
  }
  return protocol;
}

Expected<std::string> read_header_name(std::string_view text) {
  const std::string name = http::lowered(text);
  if (name == "host") return refused("hosts is for that");
  if (http::is_hop_field(name) || name == "trailer" || name == ":authority") {
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
  if (http::ServiceName::is_service(text)) {
    const auto service = http::parse_service_name(text);
    if (!service) return refused(service.error());
    return service->text();
  }
  const auto endpoint = http::parse_upstream(text);
  if (!endpoint) return refused(endpoint.error());
  return endpoint->text();
}

Expected<std::string> read_dns_server(std::string_view text) {
  const auto server = http::parse_dns_server(text);
  if (!server) return refused(server.error());
  return server->text();
}

Expected<std::string> read_authority(std::string_view text) {
  const auto endpoint = http::parse_endpoint("http://" + std::string(text));
  if (!endpoint) return refused(endpoint.error());
  if (text.ends_with('/')) return refused();
  return http::lowered(text);
}

Expected<std::string> read_mode(std::string_view text) {
  if (text.size() == 4 && text[0] == '0') text.remove_prefix(1);
  if (text.size() != 3 || text.find_first_not_of("01234567") != std::string_view::npos) {
    return refused();
  }
  return '0' + std::string(text);
}

namespace {

using config::Error;
using config::Tree;

Expected<std::string, Error> read_header(const Tree& name, const Tree& value) {
  const config::Form names = config::form::parsed(read_header_name, kHeaderNameForms);
  const config::Form values = config::form::parsed(read_header_value, kHeaderValueForms);
  auto header = config::read_value("a header", names, name);
  if (!header) return unexpected(header.error());
  std::string text = std::get<std::string>(*header);
  if (value.kind == Tree::Kind::null) return text;
  auto exact = config::read_value(name.text, values, value);
  if (!exact) return unexpected(exact.error());
  return text + ':' + std::get<std::string>(*exact);
}

// {name: x-canary, exact_match: "1"} or {name: x-canary, present_match: true}
Expected<std::string, Error> read_header_item(const Tree& item, const Error& refused) {
  const Tree* name = nullptr;
  const Tree* value = nullptr;
  bool present = false;
  for (std::size_t i = 0; item.is_map() && i < item.pairs(); ++i) {
    const std::string& word = item.key(i).text;
    if (word == "name") name = &item.value(i);
    if (word == "exact_match") value = &item.value(i);
    if (word == "present_match") present = item.value(i).text == "true";
  }
  if (name == nullptr || item.pairs() != 2 || present == (value != nullptr)) {
    return unexpected(Error{{}, item.place, refused.sentence});
  }
  return read_header(*name, present ? Tree{} : *value);
}

}  // namespace

Expected<config::Value, Error> read_headers(const Tree& tree) {
  const Error refused{{}, tree.place, "headers must be " + std::string(kHeadersForms)};
  const bool is_list = tree.kind == Tree::Kind::sequence;
  const std::size_t count = is_list ? tree.items.size() : tree.pairs();
  if ((!is_list && !tree.is_map()) || count == 0 || count > kMostTexts) return unexpected(refused);
  std::vector<std::string> headers;
  for (std::size_t i = 0; i < count; ++i) {
    auto header = is_list ? read_header_item(tree.items[i], refused)
                          : read_header(tree.key(i), tree.value(i));
    if (!header) return unexpected(header.error());
    headers.push_back(*std::move(header));
  }
  return config::Value(std::move(headers));
}

}  // namespace damper::proxy
