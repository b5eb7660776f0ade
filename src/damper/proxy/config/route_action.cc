#include "damper/proxy/config/route_action.h"

#include <algorithm>
#include <array>

#include "damper/base/text/utf8.h"
#include "damper/config/schema.h"
#include "damper/http/codec/chars.h"
#include "damper/http/codec/h1_head.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"
#include "damper/run/outgoing_fields.h"

namespace damper::proxy {
namespace {

using config::Error;
using config::Schema;
using config::Tree;
using config::Value;
namespace form = config::form;
using Texts = std::vector<std::string>;

constexpr std::string_view kOwnPrefix = "damper-";
// Beside run::kReplacedFields.
constexpr std::array<std::string_view, 6> kOwnFields = {schedule::kGrpcTimeoutHeader,
                                                        schedule::kEnvoyTimeoutHeader,
                                                        "grpc-status",
                                                        "grpc-message",
                                                        "grpc-previous-rpc-attempts",
                                                        "expect"};
constexpr std::array<std::int32_t, 5> kRedirects = {301, 302, 303, 307, 308};

Unexpected<std::string> refused(std::string why = {}) { return unexpected(std::move(why)); }

constexpr std::string_view kFieldsForms = "a map from names to values";

// {NAME: VALUE} as "NAME:VALUE".
template <const std::string_view& Key>
Expected<Value, Error> read_fields(const Tree& tree) {
  const config::Form names = form::parsed(read_edited_name, kEditedNameForms);
  const config::Form values = form::parsed(read_edited_value, kEditedValueForms);
  if (!tree.is_map() || tree.pairs() == 0 || tree.pairs() > kMostTexts) {
    return unexpected(Error{{},
                            tree.place,
                            std::string(Key) + " must be " + std::string(kFieldsForms) +
                                ", at most " + std::to_string(kMostTexts)});
  }
  Texts fields;
  for (std::size_t i = 0; i < tree.pairs(); ++i) {
    auto name = config::read_value(Key, names, tree.key(i));
    if (!name) return unexpected(name.error());
    auto value = config::read_value(tree.key(i).text, values, tree.value(i));
    if (!value) return unexpected(value.error());
    fields.push_back(std::get<std::string>(*name) + ':' + std::get<std::string>(*value));
  }
  return Value(std::move(fields));
}

std::string write_fields(const Value& value) {
  std::string text;
  for (const std::string& field : std::get<Texts>(value)) {
    const std::size_t colon = field.find(':');
    text += (text.empty() ? "{ " : ", ") + config::quoted(field.substr(0, colon)) + ": " +
            config::quoted(field.substr(colon + 1));
  }
  return text.empty() ? text : text + " }";
}

Value texts_of(const std::vector<FieldEdits::Field>& fields) {
  Texts texts;
  for (const FieldEdits::Field& field : fields) texts.push_back(field.name + ':' + field.value);
  return texts;
}
void set_fields(std::vector<FieldEdits::Field>& fields, const Value& value) {
  fields.clear();
  for (const std::string& text : std::get<Texts>(value)) {
    const std::size_t colon = text.find(':');
    fields.push_back({.name = text.substr(0, colon), .value = text.substr(colon + 1)});
  }
}

template <auto Fields, const std::string_view& Key>
void add_fields(Schema<RouteConfig>& s, std::string_view doc) {
  s.key<[](const RouteConfig& route) { return texts_of(Fields(route)); },
        [](RouteConfig& route, const Value& value) { set_fields(Fields(route), value); }>(
      Key,
      {.kind = config::Kind::custom,
       .accepted = kFieldsForms,
       .read = read_fields<Key>,
       .write = write_fields},
      doc);
}

constexpr std::string_view kRequestAdd = "request_headers_to_add";
constexpr std::string_view kRequestSet = "request_headers_to_set";
constexpr std::string_view kResponseAdd = "response_headers_to_add";
constexpr std::string_view kResponseSet = "response_headers_to_set";
constexpr std::string_view kRequestRemove = "request_headers_to_remove";
constexpr std::string_view kResponseRemove = "response_headers_to_remove";

constexpr std::string_view kBodyForms = "a text of at most 1000 bytes";
Expected<std::string> read_body(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = text::utf8_length(rest);
    const bool control = static_cast<unsigned char>(rest[0]) < ' ' && rest[0] != '\n';
    if (length == 0 || control) return refused("it must be UTF-8 without control characters");
    rest.remove_prefix(length);
  }
  return std::string(text);
}
std::string write_body(const Value& value) {
  const std::string body = config::quoted(std::get<std::string>(value));
  std::string out;
  for (const char c : body) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out == "\"\"" ? std::string() : out;
}

constexpr std::string_view kSchemeForms = "http or https";
Expected<std::string> read_scheme(std::string_view text) {
  if (text != "http" && text != "https") return refused();
  return std::string(text);
}

std::string who_is(const RouteConfig& route) { return "route " + route.name; }

std::optional<ActionError> check_direct(const RouteConfig& route) {
  const DirectResponse& direct = *route.direct_response;
  if (route.redirect) {
    return ActionError{"redirect.status", who_is(route) + " has direct_response and redirect"};
  }
  if (!direct.body.empty() && (direct.status == 204 || direct.status == 304)) {
    return ActionError{"direct_response.body",
                       who_is(route) + " has a direct_response with status " +
                           std::to_string(direct.status) + ", which has no body"};
  }
  return std::nullopt;
}

// A name that one of the lists has twice; names are in lower case.
std::optional<ActionError> find_name_twice(const RouteConfig& route) {
  const auto check = [&](std::string_view key, Texts names) -> std::optional<ActionError> {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return std::nullopt;
    return ActionError{
        key, who_is(route) + " has the field " + *twice + " twice in " + std::string(key)};
  };
  const auto names_of = [](const std::vector<FieldEdits::Field>& fields) {
    Texts names;
    for (const FieldEdits::Field& field : fields) names.push_back(field.name);
    return names;
  };
  const FieldEdits& request = route.request_fields;
  const FieldEdits& response = route.response_fields;
  std::optional<ActionError> wrong = check(kRequestAdd, names_of(request.add));
  if (!wrong) wrong = check(kRequestSet, names_of(request.set));
  if (!wrong) wrong = check(kRequestRemove, request.remove);
  if (!wrong) wrong = check(kResponseAdd, names_of(response.add));
  if (!wrong) wrong = check(kResponseSet, names_of(response.set));
  if (!wrong) wrong = check(kResponseRemove, response.remove);
  return wrong;
}

}  // namespace

Expected<std::string> read_edited_name(std::string_view text) {
  const std::string name = http::lowered(text);
  if (name == "host") return refused("host_rewrite is for that");
  if (http::is_hop_field(name) || name == "trailer" || name.starts_with(':')) {
    return refused("the codec writes the fields of a connection itself");
  }
  const auto is = [&](std::string_view own) { return own == name; };
  if (name.starts_with(kOwnPrefix) ||
      std::any_of(run::kReplacedFields.begin(), run::kReplacedFields.end(), is) ||
      std::any_of(kOwnFields.begin(), kOwnFields.end(), is)) {
    return refused("the proxy writes this field itself");
  }
  if (name.empty() || name.size() > kLongestText || !http::all(http::kToken, name)) {
    return refused();
  }
  return name;
}

Expected<std::string> read_edited_value(std::string_view text) {
  auto value = read_header_value(text);
  if (!value) return value;
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at)) {
    const std::size_t end = text.find('%', at + 1);
    if (end == std::string_view::npos) return refused("a percent sign is %%");
    const std::string_view name = text.substr(at + 1, end - at - 1);
    if (!name.empty() && !kFieldVariables.find(name)) {
      return refused("there is no variable %" + std::string(name) + "%");
    }
    at = end + 1;
  }
  return value;
}

std::optional<ActionError> find_action_error(const RouteConfig& route) {
  if (auto twice = find_name_twice(route)) return twice;
  if (route.health_page && (route.direct_response || route.redirect)) {
    return ActionError{"health_page.min_healthy",
                       who_is(route) + " has health_page and " +
                           (route.direct_response ? "direct_response" : "redirect")};
  }
  if (route.direct_response) return check_direct(route);
  if (!route.redirect) return std::nullopt;
  const Redirect& to = *route.redirect;
  if (std::find(kRedirects.begin(), kRedirects.end(), to.status) == kRedirects.end()) {
    return ActionError{"redirect.status", who_is(route) + " redirects with status " +
                                              std::to_string(to.status) +
                                              "; it must be 301, 302, 303, 307 or 308"};
  }
  if (!to.path.empty() && !to.prefix.empty()) {
    return ActionError{"redirect.prefix", who_is(route) + " has a redirect with path and prefix"};
  }
  if (!to.prefix.empty() && route.match.prefix.empty()) {
    return ActionError{"redirect.prefix",
                       who_is(route) + " has redirect.prefix but no match.prefix to replace"};
  }
  if (to.scheme.empty() && to.host.empty() && to.path.empty() && to.prefix.empty()) {
    return ActionError{"redirect.status", who_is(route) +
                                              " redirects to the same URL: redirect needs scheme, "
                                              "host, path or prefix"};
  }
  return std::nullopt;
}

void add_action_keys(Schema<RouteConfig>& s) {
  add_fields<[](auto& route) -> auto& { return route.request_fields.add; }, kRequestAdd>(
      s, "Fields that are added to each attempt, beside those of the same name.");
  add_fields<[](auto& route) -> auto& { return route.request_fields.set; }, kRequestSet>(
      s, "Fields of each attempt that replace those of the same name.");
  s.key<DAMPER_FIELD(request_fields.remove)>(
      kRequestRemove, form::parsed_list(read_edited_name, kEditedNameForms, 0, kMostTexts),
      "Fields that are not forwarded to the upstream.");
  add_fields<[](auto& route) -> auto& { return route.response_fields.add; }, kResponseAdd>(
      s, "Fields that are added to each response, the proxy's own included.");
  add_fields<[](auto& route) -> auto& { return route.response_fields.set; }, kResponseSet>(
      s, "Fields of each response, the proxy's own included, that replace those of the same name.");
  s.key<DAMPER_FIELD(response_fields.remove)>(
      kResponseRemove, form::parsed_list(read_edited_name, kEditedNameForms, 0, kMostTexts),
      "Fields of a response that are not forwarded to the client.");
  s.key<DAMPER_FIELD(direct_response->status)>("direct_response.status", form::integer(200, 599),
                                               "Status of the response.");
  config::Form body = form::parsed(read_body, kBodyForms);
  body.write = write_body;
  s.key<DAMPER_FIELD(direct_response->body)>("direct_response.body", body, "Body of the response.");
  s.key<DAMPER_FIELD(direct_response->content_type)>(
      "direct_response.content_type", form::parsed(read_header_value, kHeaderValueForms),
      "Type of the body.");
  s.key<DAMPER_FIELD(redirect->scheme)>("redirect.scheme", form::parsed(read_scheme, kSchemeForms),
                                        "Scheme of the new URL. Default: the request's.");
  s.key<DAMPER_FIELD(redirect->host)>("redirect.host",
                                      form::parsed(read_authority, kAuthorityForms),
                                      "Host and port of the new URL. Default: the request's.");
  s.key<DAMPER_FIELD(redirect->path)>("redirect.path", form::parsed(read_path, kPathForms),
                                      "Path of the new URL. Default: the request's.");
  s.key<DAMPER_FIELD(redirect->prefix)>("redirect.prefix", form::parsed(read_path, kPathForms),
                                        "Replaces match.prefix in the path of the new URL.");
  s.key<DAMPER_FIELD(redirect->status)>("redirect.status", form::integer(301, 308),
                                        "301, 302, 303, 307 or 308.");
  s.key<DAMPER_FIELD(redirect->strip_query)>("redirect.strip_query", form::kBoolean,
                                             "Removes the query.");
  s.key<DAMPER_FIELD(health_page->clusters)>(
      "health_page.clusters",
      form::parsed_list(policy::parse_name, policy::kNameForms, 0, kMostTexts),
      "Clusters without which the proxy cannot serve. Default: none; a load balancer that removes "
      "every proxy because a service is down makes it worse.");
  s.key<DAMPER_FIELD(health_page->min_healthy)>(
      "health_page.min_healthy", form::percent(HealthPage::kMinHealthy),
      "The page fails if less than this percentage of the replicas of a cluster is neither ejected "
      "nor unhealthy.");
  s.optional_section<DAMPER_FIELD(health_page)>(
      "health_page",
      "The proxy answers whether it serves: 200, or 503 while it drains or a cluster of `clusters` "
      "is down. Nothing is forwarded.");
  s.optional_section<DAMPER_FIELD(direct_response)>(
      "direct_response", "The proxy answers with this response; nothing is forwarded.");
  s.optional_section<DAMPER_FIELD(redirect)>(
      "redirect", "The proxy redirects to another URL; nothing is forwarded.");
  s.alias("redirect.scheme_redirect", "redirect.scheme");
  s.alias("redirect.host_redirect", "redirect.host");
  s.alias("redirect.path_redirect", "redirect.path");
  s.alias("redirect.prefix_rewrite", "redirect.prefix");
}

}  // namespace damper::proxy
