#include "damper/proxy/config/match_schema.h"

#include <string>
#include <vector>

#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Schema;
using config::Value;
namespace form = config::form;

constexpr config::Form kPath = form::parsed(read_path, kPathForms);

std::string write_headers(const Value& value) {
  std::string text;
  for (const std::string& header : std::get<std::vector<std::string>>(value)) {
    const std::size_t colon = header.find(':');
    text += (text.empty() ? "[{ name: " : ", { name: ") + config::quoted(header.substr(0, colon)) +
            (colon == std::string::npos
                 ? ", present_match: true }"
                 : ", exact_match: " + config::quoted(header.substr(colon + 1)) + " }");
  }
  return text.empty() ? text : text + ']';
}

Value headers_of(const RouteConfig& route) {
  std::vector<std::string> headers;
  headers.reserve(route.match.headers.size());
  for (const RouteMatch::Header& header : route.match.headers) {
    headers.push_back(header.name + (header.value ? ':' + *header.value : ""));
  }
  return headers;
}
void set_headers(RouteConfig& route, const Value& value) {
  route.match.headers.clear();
  for (const std::string& header : std::get<std::vector<std::string>>(value)) {
    const std::size_t colon = header.find(':');
    route.match.headers.push_back({.name = header.substr(0, colon)});
    if (colon != std::string::npos) route.match.headers.back().value = header.substr(colon + 1);
  }
}

}  // namespace

void add_match(Schema<RouteConfig>& schema) {
  schema.key<DAMPER_FIELD(match.hosts)>(
      "match.hosts", form::parsed_list(read_host, kHostForms, 1, kMostTexts),
      "Host of the request, without port and case-insensitive; *.x matches every subdomain of x.");
  schema.key<DAMPER_FIELD(match.path)>(
      "match.path", kPath,
      "The whole path, compared as written: nothing is unescaped, unless the "
      "listener has normalize_path.");
  schema.key<DAMPER_FIELD(match.prefix)>(
      "match.prefix", kPath,
      "Leading segments of the path: /api matches /api and /api/x, but not /apis.");
  schema.key<DAMPER_FIELD(match.methods)>(
      "match.methods", form::parsed_list(read_method, kMethodForms, 1, kMostTexts),
      "Method of the request.");
  schema.key<headers_of, set_headers>(
      "match.headers",
      {.kind = config::Kind::custom,
       .accepted = kHeadersForms,
       .read = read_headers,
       .write = write_headers},
      "Fields of the request; all of them must match, by whole values.");
}

}  // namespace damper::proxy
