#ifndef DAMPER_PROXY_CONFIG_PROXY_TEXTS_H_
#define DAMPER_PROXY_CONFIG_PROXY_TEXTS_H_

#include <string>
#include <string_view>

#include "damper/base/expected.h"

namespace damper::proxy {

// What the texts of the proxy's file may be. Each gives the text as it is kept, or in a sentence,
// which may be empty when there is nothing to add to what is accepted, why it is none.

// "shop.example", "*.shop.example", an address; in lower case, without a port.
inline constexpr std::string_view kHostForms =
    "a host such as shop.example or *.shop.example, without a port";
[[nodiscard]] Expected<std::string> read_host(std::string_view text);

// A path from '/' on, as requests have it: escaped, without a query.
inline constexpr std::string_view kPathForms = "a path from / on, without a query";
[[nodiscard]] Expected<std::string> read_path(std::string_view text);

// A method in capitals: methods are told apart by case, and no known one is in small letters.
inline constexpr std::string_view kMethodForms = "a method in capitals, such as GET";
[[nodiscard]] Expected<std::string> read_method(std::string_view text);

// A field's name, in lower case; none of those that are about one hop, nor host, which nobody
// would ever find among a request's fields.
inline constexpr std::string_view kHeaderNameForms = "the name of a header field, such as x-canary";
[[nodiscard]] Expected<std::string> read_header_name(std::string_view text);
inline constexpr std::string_view kHeaderValueForms =
    "a field's value: printable characters, no space at its ends";
[[nodiscard]] Expected<std::string> read_header_value(std::string_view text);

// "http://10.0.0.1:9000", in its shortest form.
inline constexpr std::string_view kEndpointForms = "a URL such as http://10.0.0.1:9000";
[[nodiscard]] Expected<std::string> read_endpoint(std::string_view text);

// What Host and :authority carry: a name or an address, perhaps with a port.
inline constexpr std::string_view kAuthorityForms = "a host such as shop.example or 10.0.0.1:8080";
[[nodiscard]] Expected<std::string> read_authority(std::string_view text);

inline constexpr std::string_view kFileForms = "the name of a file";
[[nodiscard]] Expected<std::string> read_file_name(std::string_view text);

// The name of a thing: that of policy::is_route_name().
inline constexpr std::string_view kNameForms = "1 to 100 letters, digits or . _ - / :";
[[nodiscard]] Expected<std::string> read_name(std::string_view text);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_CONFIG_PROXY_TEXTS_H_
