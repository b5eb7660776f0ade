#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/config/form.h"
#include "damper/http/file/file_name.h"

namespace damper::proxy {

// Parsers of the texts in the proxy's file. Each returns the text in its canonical form, or why it
// is refused; the reason is empty when the list of accepted forms says it all.

// "shop.example", "*.shop.example", an address; in lower case, without a port.
inline constexpr std::string_view kHostForms =
    "a host such as shop.example or *.shop.example, without a port";
[[nodiscard]] Expected<std::string> read_host(std::string_view text);

// A path from '/' on, as requests have it: escaped, without a query.
inline constexpr std::string_view kPathForms = "a path from / on, without a query";
[[nodiscard]] Expected<std::string> read_path(std::string_view text);

// The same with a query or without.
inline constexpr std::string_view kTargetForms = "a path from / on, with a query or without";
[[nodiscard]] Expected<std::string> read_target(std::string_view text);

// A method in capitals: methods are case-sensitive, and no known one has small letters.
inline constexpr std::string_view kMethodForms = "a method in capitals, such as GET";
[[nodiscard]] Expected<std::string> read_method(std::string_view text);

// A field's name, in lower case. Refused are hop-by-hop fields, and host, which is not among the
// fields of a request.
inline constexpr std::string_view kHeaderNameForms = "the name of a header field, such as x-canary";
[[nodiscard]] Expected<std::string> read_header_name(std::string_view text);
inline constexpr std::string_view kHeaderValueForms =
    "a field's value: printable characters, no space at its ends";
[[nodiscard]] Expected<std::string> read_header_value(std::string_view text);

// A protocol of the Upgrade field, in lower case and without a version; or *.
inline constexpr std::string_view kUpgradeForms = "a protocol such as websocket, or *";
[[nodiscard]] Expected<std::string> read_upgrade(std::string_view text);

// "http://10.0.0.1:9000", in its shortest form; or a Unix socket, or the name of SRV records.
inline constexpr std::string_view kEndpointForms =
    "a URL such as http://10.0.0.1:9000, or unix:/run/app.sock, or "
    "http+srv://_http._tcp.shop.example";
[[nodiscard]] Expected<std::string> read_endpoint(std::string_view text);

// "10.0.0.53:53"; without a port: 53.
[[nodiscard]] Expected<std::string> read_dns_server(std::string_view text);

// The value of Host or :authority: a name or an address, optionally with a port.
inline constexpr std::string_view kAuthorityForms = "a host such as shop.example or 10.0.0.1:8080";
[[nodiscard]] Expected<std::string> read_authority(std::string_view text);

// Permissions in octal, of 3 digits or of 4 with a leading 0; as four digits.
inline constexpr std::string_view kModeForms = "permissions in octal, such as 0660";
[[nodiscard]] Expected<std::string> read_mode(std::string_view text);

using http::kFileForms;
using http::read_file_name;

// {NAME: VALUE}, or Envoy's [{name: NAME, exact_match: VALUE}], as "NAME:VALUE"; "NAME" matches any
// value. An error without a file.
inline constexpr std::string_view kHeadersForms =
    "a map from names to values, without a value for any, or a list of {name: NAME, exact_match: "
    "VALUE} or {name: NAME, present_match: true}";
[[nodiscard]] Expected<config::Value, config::Error> read_headers(const config::Tree& tree);

}  // namespace damper::proxy
